"""The pure loop on a board: events go in by hand, effects come out one by one, and a kill may fall between any two.

No driver and no wire: whoever plays decides what the model says, what the tools answer, in which order they finish and
when the process dies. What is stored is the stored form, JSON text, so that a resume reads what a real one would. The
board records the one trace format and judges nothing.
"""

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from harness.contract.loop_moves import CANCELLED, Killed, Move, Stored, run_started, shape_of
from harness.loop import persist
from harness.loop.events import (
    ApprovalResolved,
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
    Started,
    ToolFinished,
    Wait,
    WaitOver,
    WriteCheckpoint,
)
from harness.loop.machine import advance
from harness.loop.state import LoopState, SlotState, new_state
from harness.loop.task import Task
from harness.vocabulary.content import Item
from harness.vocabulary.outcome import RunOutcome, Status
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.tools import ToolOutcome
from harness.vocabulary.trace import (
    ApprovalAsked,
    CheckpointWritten,
    EffectMarked,
    EventEmitted,
    Intervened,
    Record,
    ReplySent,
    RequestSent,
    RunEnded,
    ToolEnded,
    ToolStarted,
    Waited,
)
from harness.vocabulary.turn import ModelFault, ModelTurn


class Board:
    """One run. `fuse` is the number of effects before the process dies (None: it lives)."""

    def __init__(self, task: Task) -> None:
        self.task, self.state = task, new_state(task)
        self.now = 0.0
        self.cancelled: str | None = None
        self.fuse: int | None = None
        self.stored: Stored | None = None
        self.marked: set[str] = set()
        self.asked: ModelRequest | None = None
        self.running: dict[str, RunTool] = {}
        self.waiting: float | None = None
        self.finished: list[RunOutcome] = []
        self.requests: list[tuple[ModelRequest, tuple[Item, ...]]] = []
        self.dispatched: list[RunTool] = []
        self.play: list[Move] = []
        self.kills: list[tuple[str, int]] = []
        self.lost = False
        self.legal_through = 0
        self.last_effect = ""
        self.performed: Counter[str] = Counter()
        self.impure: str | None = None
        self.trace: list[Record] = [run_started(task)]

    @property
    def outcome(self) -> RunOutcome | None:
        """The terminal outcome, if the run has come to one."""
        ends = [one for one in self.finished if one.status is not Status.SUSPENDED]
        return ends[0] if ends else None

    @property
    def suspended(self) -> tuple[str, ...]:
        """The calls that the run waits for, where it is suspended."""
        still = self.finished and self.outcome is None and not self.busy
        return self.finished[-1].waiting_for if still else ()

    @property
    def busy(self) -> bool:
        """Whether the run waits for a model, a tool or a wait."""
        return bool(self.asked or self.running or self.waiting is not None)

    def start(self) -> None:
        """Begin the run."""
        self.feed(Started(self.now))

    def reply(self, reply: ModelTurn | ModelFault) -> None:
        """The model answers the request that was asked."""
        self.asked = None
        self.trace.append(ReplySent(n=len(self.requests), reply=reply))
        self.play.append(Move("model", str(len(self.requests)), reply))
        self._performed("call_model")
        if isinstance(reply, ModelFault):
            self.feed(ModelFailed(reply, self.now))
        else:
            self.feed(ModelReplied(reply, self.now, self.cancelled))

    def finish(self, call_id: str, outcome: ToolOutcome) -> None:
        """A running call returns."""
        call = self.running.pop(call_id).call
        self.trace.append(ToolEnded(call_id=call_id, tool=call.name, outcome=outcome, at=self.now))
        self.play.append(Move("tool", call_id, outcome))
        self._performed("run_tool")
        self.feed(ToolFinished(call_id, outcome, self.now, 0.0, self.cancelled))

    def wait_over(self) -> None:
        """The wait that was asked for is over."""
        assert self.waiting is not None
        self.now, self.waiting = self.now + self.waiting, None
        self._performed("wait")
        self.feed(WaitOver(self.now))

    def decide(self, rulings: Mapping[str, bool]) -> None:
        """People decide about calls of a suspended run, which a new process reads from its store."""
        events: list[Event] = []
        for place, (call_id, approve) in enumerate(rulings.items(), start=1):
            self.trace.append(Intervened(do="approve" if approve else "deny", call_id=call_id))
            self.play.append(Move("ruling", call_id, approve))
            more = place < len(rulings)
            events.append(ApprovalResolved(call_id, approve, "denied_by_person", self.now, followed=more))
        self.trace.append(Intervened(do="resume"))
        self.feed(self._resumed(followed=True), *events)

    def cancel(self, reason: str = CANCELLED) -> None:
        """Somebody cancels: at once where the run is suspended, else at its next cancellation point."""
        self.cancelled = reason
        self.trace.append(Intervened(do="cancel", details={"reason": reason}))
        if not self.busy:
            self.feed(self._resumed(cancelled=reason))

    def pass_time(self, seconds: float) -> None:
        """The clock moves while the model or a tool is at work."""
        self.now += seconds
        if seconds:
            self.trace.append(Intervened(do="advance_clock", details={"seconds": seconds}))

    def crash(self) -> None:
        """The process dies; another one goes on from the store, or from the start where nothing was stored."""
        self.trace.append(Intervened(do="crash"))
        self.kills.append(self._killed_after())
        self.asked, self.waiting, self.fuse = None, None, None
        self.running.clear()
        kept = self.stored.played if self.stored else 0
        self.lost = self.lost or any(move.kind == "model" for move in self.play[kept:])
        del self.play[kept:]
        if self.stored is None:
            self.state = new_state(self.task)
            self.feed(Started(self.now))
        else:
            self.feed(self._resumed())

    def feed(self, *events: Event) -> None:
        """Feed events and perform what comes of them, until the run waits or rests. A kill resumes at once."""
        queue = deque(events)
        try:
            while queue:
                event = queue.popleft()
                before = self.state
                self.state, effects = advance(before, event)
                self._compare(effects, advance(before, event)[1])
                for effect in effects:
                    interrupt = self._perform(effect)
                    if interrupt is not None:
                        queue.append(interrupt)
                        break
        except Killed:
            self.crash()

    def loaded(self) -> LoopState:
        """The state that the newest checkpoint holds, read from its text."""
        assert self.stored is not None
        items = [persist.load_item(text) for text in self.stored.items]
        records = [persist.load_record(text) for text in self.stored.records]
        return persist.load_state(self.task, self.stored.head, items, records)

    def _resumed(self, *, followed: bool = False, cancelled: str | None = None) -> Resumed:
        assert self.stored is not None
        self.state = new_state(self.task)
        marks = frozenset(self.marked)
        return Resumed(self.loaded(), marks, self.stored.version, self.now, followed=followed, cancelled=cancelled)

    def _performed(self, effect: str) -> None:
        self.performed[effect] += 1
        self.last_effect = effect

    def _killed_after(self) -> tuple[str, int]:
        """The effect after which a scenario has to kill the run. One under way counts as done: its answer is lost."""
        under_way = {"call_model": self.asked, "run_tool": self.running, "wait": self.waiting is not None}
        for effect, here in under_way.items():
            if here:
                return effect, self.performed[effect] + 1
        return self.last_effect, self.performed[self.last_effect]

    def _compare(self, effects: tuple[Effect, ...], again: tuple[Effect, ...]) -> None:
        if [shape_of(one) for one in effects] != [shape_of(one) for one in again]:
            self.impure = f"{effects} is not {again}"

    def _perform(self, effect: Effect) -> Event | None:
        if isinstance(effect, CheckInterrupts):
            return self._interrupt()
        if self.fuse is not None:
            if self.fuse == 0:
                raise Killed
            self.fuse -= 1
        _PERFORM[type(effect)](self, effect)
        return None

    def _interrupt(self) -> Event | None:
        if self.cancelled is not None:
            return CancelRequested(self.cancelled, self.now)
        deadline = self.task.limits.deadline
        return DeadlinePassed(self.now) if deadline is not None and self.now >= deadline else None

    def _call_model(self, effect: CallModel) -> None:
        self.asked = effect.request
        shown = replace(effect.request, items=tuple(effect.request.items))
        self.requests.append((effect.request, tuple(effect.request.items)))
        self.trace.append(RequestSent(n=len(self.requests), request=shown, built=shown, at=self.now))

    def _run_tool(self, effect: RunTool) -> None:
        call = effect.call
        self.running[call.call_id] = effect
        self.dispatched.append(effect)
        self.trace.append(ToolStarted(call_id=call.call_id, tool=call.name, arguments=call.arguments, at=self.now))

    def _wait(self, effect: Wait) -> None:
        self.waiting = effect.seconds
        self.trace.append(Waited(seconds=effect.seconds))

    def _emit(self, effect: Emit) -> None:
        self._performed("emit")
        self.performed[str(effect.name)] += 1
        self.trace.append(EventEmitted(name=str(effect.name), fields=effect.fields))

    def _write(self, effect: WriteCheckpoint) -> None:
        self._performed("write_checkpoint")
        state = effect.state
        version = self.stored.version + 1 if self.stored else 1
        items = tuple(persist.dump_item(item) for item in state.history.whole)
        records = tuple(persist.dump_record(record) for record in state.ledger)
        self.stored = Stored(persist.dump_head(state), items, records, version, len(self.play))
        pending = tuple(slot.call.call_id for slot in state.slots if slot.state is not SlotState.ANSWERED)
        self.trace.append(
            CheckpointWritten(
                trigger=effect.trigger, version=version, conversation=tuple(state.conversation), pending=pending
            )
        )

    def _mark(self, effect: MarkEffectSent) -> None:
        self._performed("mark_effect_sent")
        self.marked.add(effect.call_id)
        self.trace.append(EffectMarked(call_id=effect.call_id))

    def _ask(self, effect: AskApproval) -> None:
        self._performed("ask_approval")
        self.trace.append(ApprovalAsked(call_id=effect.call.call_id, tool=effect.call.name))

    def _finish(self, effect: Finish) -> None:
        self._performed("finish")
        self.finished.append(effect.outcome)
        self.trace.append(RunEnded(outcome=effect.outcome, at=self.now))


_PERFORM: dict[type, Any] = {
    CallModel: Board._call_model,
    RunTool: Board._run_tool,
    Wait: Board._wait,
    Emit: Board._emit,
    WriteCheckpoint: Board._write,
    MarkEffectSent: Board._mark,
    AskApproval: Board._ask,
    Finish: Board._finish,
}
