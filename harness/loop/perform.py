"""Performing the machine's effects in order, as a generator that yields only what may take time.

What it yields (an attempt, a group of tool runs, a wait) is answered by a trampoline in drive. It knows no event
loop, so both depths share one order of effects.
"""

from collections import deque
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from harness.loop.ending import fail, salvaged
from harness.loop.events import (
    AskApproval,
    CallModel,
    CancelRequested,
    CheckInterrupts,
    DeadlinePassed,
    Effect,
    Emit,
    Event,
    Finish,
    MarkEffectSent,
    ModelFailed,
    ModelReplied,
    Resumed,
    RunTool,
    ToolFinished,
    Wait,
    WaitOver,
    WriteCheckpoint,
)
from harness.loop.machine import advance
from harness.loop.ports import Ports
from harness.loop.state import SlotState, new_state
from harness.loop.task import Task
from harness.loop.telemetry import CallTeller
from harness.vocabulary.outcome import ErrorClass, Reason, RunOutcome
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.tools import ToolOutcome
from harness.vocabulary.trace import ApprovalAsked, CheckpointWritten, EffectMarked, EventEmitted, RunEnded, Waited
from harness.vocabulary.turn import ModelFault, ModelTurn


@dataclass(frozen=True, slots=True)
class Attempt:
    request: ModelRequest


@dataclass(frozen=True, slots=True)
class Runs:
    calls: tuple[RunTool, ...]


@dataclass(frozen=True, slots=True)
class Pause:
    seconds: float


_QUICK = frozenset({Emit, WriteCheckpoint, MarkEffectSent, AskApproval})
"""Effects that are done at once: most of all effects."""
Slow: TypeAlias = Attempt | Runs | Pause
Timed: TypeAlias = tuple[ToolOutcome, float, float]
"""What a call gave, how many milliseconds it took, and when it ended (seconds of the run's clock)."""


class Driver:
    """One life of one run: from a start or a resume to an outcome."""

    def __init__(self, task: Task, ports: Ports[Any, Any]) -> None:
        self._task = task
        self._ports = ports
        self._state = new_state(task)
        self._version = 0
        self._events: deque[Event] = deque()
        self._teller: CallTeller | None = None

    def run(self, first: Sequence[Event], version: int = 0) -> Generator[Slow, Any, RunOutcome]:
        """Feed `first`, then whatever comes back, until the run ends or suspends."""
        self._version = version
        self._events.extend(first)
        if self._ports.told_call is not None:
            # What a checkpoint holds was told by the life that wrote it.
            told = sum(len(event.state.ledger) for event in first if isinstance(event, Resumed))
            self._teller = CallTeller(self._ports.told_call, self._task.run_id, told)
        outcome: RunOutcome | None = None
        while self._events:
            effects = self._advance(self._events.popleft())
            outcome = (yield from self._perform(effects)) or outcome
        if outcome is None:
            outcome = yield from self._perform(self._broken("the machine asked for nothing more and did not finish"))
        assert outcome is not None
        self._ports.observe(RunEnded(outcome=outcome, at=self._ports.now()))
        return outcome

    def _advance(self, event: Event) -> tuple[Effect, ...]:
        # The machine is pure: whatever it raises is its own defect, and the run still ends with what it gathered.
        try:
            self._state, effects = advance(self._state, event)
        except Exception as error:
            self._state = salvaged(self._state, event)
            return self._broken(f"{type(error).__name__}: {error}")
        return effects

    def _broken(self, message: str) -> tuple[Effect, ...]:
        details = {"message": message[:300]}
        self._state, effects = fail(self._state, (), Reason.INTERNAL_ERROR, ErrorClass.LOOP_INVARIANT_ERROR, details)
        return effects

    def _perform(self, effects: tuple[Effect, ...]) -> Generator[Slow, Any, RunOutcome | None]:
        outcome: RunOutcome | None = None
        place = 0
        while place < len(effects):
            effect = effects[place]
            place += 1
            if type(effect) in _QUICK:
                self._quick(effect)
                continue
            match effect:
                case CheckInterrupts():
                    interrupt = self._interrupt()
                    if interrupt:
                        self._events.append(interrupt)
                        return None
                case CallModel(request):
                    result = yield Attempt(request)
                    self._events.append(self._reply(result))
                    self._performed("call_model", None)
                case RunTool():
                    group = _neighbours(effects, place - 1)
                    place += len(group) - 1
                    timed: Sequence[Timed] = yield Runs(group)
                    self._finished(group, timed)
                case Wait(seconds):
                    self._ports.observe(Waited(seconds=seconds))
                    yield Pause(seconds)
                    self._events.append(WaitOver(self._ports.now()))
                    self._performed("wait", None)
                case Finish(ended):
                    outcome = ended
                    self._performed("finish", ended.status.value)
        return outcome

    def _quick(self, effect: Effect) -> None:
        ports = self._ports
        match effect:
            case Emit(name, fields):
                said = str(name)
                ports.observe(EventEmitted(name=said, fields=fields))
                ports.performed("emit", said)
            case WriteCheckpoint(trigger, state):
                self._version = ports.store.write(self._task.run_id, self._version, trigger, state)
                pending = tuple([slot.call.call_id for slot in state.slots if slot.state is not SlotState.ANSWERED])
                ports.observe(
                    CheckpointWritten(
                        trigger=trigger, version=self._version, conversation=state.conversation, pending=pending
                    )
                )
                if self._teller is not None:
                    self._teller.tell(state.ledger, ports.now())
                ports.performed("write_checkpoint", trigger)
            case MarkEffectSent(call_id):
                ports.store.mark_effect(self._task.run_id, self._version, call_id)
                ports.observe(EffectMarked(call_id=call_id))
                ports.performed("mark_effect_sent", call_id)
            case AskApproval(call):
                ports.observe(ApprovalAsked(call_id=call.call_id, tool=call.name))
                ports.performed("ask_approval", call.call_id)

    def _performed(self, effect: str, about: str | None) -> None:
        self._ports.performed(effect, about)

    def _interrupt(self) -> Event | None:
        reason, now = self._ports.cancelled(), self._ports.now()
        if reason is not None:
            return CancelRequested(reason, now)
        deadline = self._task.limits.deadline
        return DeadlinePassed(now) if deadline is not None and now >= deadline else None

    def _reply(self, result: ModelTurn | ModelFault) -> Event:
        now = self._ports.now()
        if isinstance(result, ModelFault):
            return ModelFailed(result, now)
        return ModelReplied(result, now, self._ports.cancelled())

    def _finished(self, group: tuple[RunTool, ...], timed: Sequence[Timed]) -> None:
        reason = self._ports.cancelled()
        for run, (outcome, latency_ms, ended) in zip(group, timed, strict=True):
            if self._teller is not None:
                self._teller.finished(run.call.call_id, ended)
            self._events.append(ToolFinished(run.call.call_id, outcome, self._ports.now(), latency_ms, reason))
            self._performed("run_tool", run.call.call_id)


def _neighbours(effects: tuple[Effect, ...], place: int) -> tuple[RunTool, ...]:
    group: list[RunTool] = []
    for effect in effects[place:]:
        if not isinstance(effect, RunTool):
            break
        group.append(effect)
    return tuple(group)
