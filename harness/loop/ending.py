"""Endings: one terminal outcome, once, with everything that was gathered.

Before a run ends each open call is answered, the turn in progress joins the conversation, and the terminal checkpoint
is written (loop.tools.every-call-answered, loop.crash.checkpoints).
"""

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from typing import Any

from harness.loop.detect import classify
from harness.loop.events import Effect, Emit, Event, Finish, ModelReplied, Step, ToolFinished, WriteCheckpoint
from harness.loop.instructions import outcome_result, platform_result
from harness.loop.settle import record_outcome, settle
from harness.loop.state import LoopState, Phase, SlotState
from harness.vocabulary.control import ReasonCode
from harness.vocabulary.events import EventName
from harness.vocabulary.outcome import Counters, ErrorClass, Reason, RunOutcome, Status
from harness.vocabulary.tools import OutcomeClass, ToolOutcome

_CHECKPOINT = {Status.COMPLETED: "final", Status.FAILED: "failed", Status.CANCELLED: "cancelled"}
_LAST_WORD: dict[Status, tuple[EventName, tuple[str, ...]]] = {
    Status.COMPLETED: (EventName.RUN_COMPLETED, ("truncated", "refused")),
    Status.FAILED: (EventName.RUN_FAILED, ("reason", "error_class")),
    Status.CANCELLED: (EventName.RUN_CANCELLED, ("reason",)),
    Status.SUSPENDED: (EventName.RUN_SUSPENDED, ("waiting_for",)),
}
"""The event of each outcome, and which of its fields it tells."""


def complete(state: LoopState, effects: tuple[Effect, ...], message: str, *, truncated: bool, refused: bool) -> Step:
    """End with an answer."""
    details = {"synthesis": state.mode.name} if state.mode else {}
    outcome = RunOutcome(
        status=Status.COMPLETED, message=message, truncated=truncated, refused=refused, details=details
    )
    return _end(_charged_step(state), effects, outcome)


def fail(
    state: LoopState,
    effects: tuple[Effect, ...],
    reason: Reason,
    error_class: ErrorClass,
    details: Mapping[str, Any] | None = None,
) -> Step:
    """End with a typed failure; open calls are answered as not run."""
    state = answer_open(state, ReasonCode.NOT_RUN)
    outcome = RunOutcome(status=Status.FAILED, reason=reason, error_class=error_class, details=details or {})
    return _end(_with_turn(state), effects, outcome)


def cancel(state: LoopState, effects: tuple[Effect, ...], reason: str) -> Step:
    """End because somebody cancelled; open calls are answered as cancelled."""
    state = answer_open(state, ReasonCode.CANCELLED)
    outcome = RunOutcome(status=Status.CANCELLED, reason=reason)
    return _end(_with_turn(state), effects, outcome)


def suspended(state: LoopState) -> RunOutcome:
    """The outcome of a run that waits for decisions."""
    waiting = tuple(slot.call.call_id for slot in state.slots if slot.state is SlotState.ASKED)
    return _filled(state, RunOutcome(status=Status.SUSPENDED, waiting_for=waiting))


def rest(state: LoopState) -> tuple[Effect, ...]:
    """What a run that stands still says: how it ended or what it waits for, then its outcome. Said behind the
    checkpoint, and again to whoever resumes it, since a kill between the two must not swallow it."""
    outcome = state.outcome or suspended(state)
    name, fields = _LAST_WORD[outcome.status]
    said = {field: _plain(getattr(outcome, field)) for field in fields}
    repeated = _repetitions(state) if outcome.status is not Status.SUSPENDED else {}
    return Emit(name, said | ({"verdicts": repeated} if repeated else {})), Finish(outcome)


def _repetitions(state: LoopState) -> dict[str, str]:
    """What the repeated calls of each tool came to (loop.progress.verdict)."""
    if not state.breaker.stuck and len(state.breaker.lines) == len(state.ledger):
        return {}
    declared = {tool.name: tool for tool in state.task.tools}
    threshold = state.task.settings.identical_call_threshold
    found = classify(state.ledger, declared, threshold=threshold)
    return {tool: verdict.value for tool, verdict in found.items()}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value.value if isinstance(value, Enum) else value


def violation(state: LoopState, effects: tuple[Effect, ...]) -> Step:
    """A tool call came back although the request was synthesis-only (loop.turn.order: classified by its mode)."""
    assert state.mode is not None
    name = state.mode.name
    if name == "repeated_tool_calls":
        details = {"synthesis": name, "threshold": state.task.settings.identical_call_threshold}
        return fail(state, effects, Reason.TOOL_LOOP_DETECTED, ErrorClass.TOOL_LOOP_DETECTED, details)
    details = {"synthesis_reserve": name}
    return fail(state, effects, Reason.BUDGET_EXCEEDED, ErrorClass.SYNTHESIS_RESERVE_VIOLATION, details)


def answer_open(state: LoopState, code: ReasonCode) -> LoopState:
    """The state with every call of its turn that has no result answered by `code`. One that a kill cut off, and that
    is not run again now, may have had its effect: its outcome is unknown."""
    for place, slot in enumerate(state.slots):
        if slot.result is None and slot.marked:
            state = record_outcome(state, place, ToolOutcome(outcome=OutcomeClass.UNCERTAIN), None)
    slots = tuple(
        slot
        if slot.result is not None
        else slot._replace(state=SlotState.ANSWERED, result=platform_result(slot.call, code))
        for slot in state.slots
    )
    return state._replace(slots=slots)


def _with_turn(state: LoopState) -> LoopState:
    return settle(_charged_step(state))[0] if state.slots else state


def _charged_step(state: LoopState) -> LoopState:
    return state._replace(spent=state.spent._replace(steps=state.spent.steps + 1))


def _end(state: LoopState, effects: tuple[Effect, ...], outcome: RunOutcome) -> Step:
    if state.paused:
        state = state._replace(history=state.history.append([state.paused]), paused=None)
    outcome = _filled(state, outcome)
    state = state._replace(phase=Phase.DONE, outcome=outcome)
    return state, (*effects, WriteCheckpoint(_CHECKPOINT[outcome.status], state), *rest(state))


def _filled(state: LoopState, outcome: RunOutcome) -> RunOutcome:
    details = dict(outcome.details)
    if state.breaker.reset_withheld:
        details["reset_cap"] = state.task.settings.evidence_reset_cap
    return replace(
        outcome,
        details=details,
        conversation=state.conversation,
        usage=state.spent.usage,
        counters=counters(state),
        effects=dict(state.effects),
    )


def counters(state: LoopState) -> Counters:
    """What the run has used so far."""
    spent = state.spent
    return Counters(
        steps=spent.steps,
        model_calls=spent.model_calls,
        tool_calls=spent.tool_calls,
        refused_calls=spent.refused_calls,
        resets=state.breaker.resets,
        cost=spent.cost,
    )


def salvaged(state: LoopState, event: Event) -> LoopState:
    """The state with what `event` brought, when the machine itself broke on it: nothing gathered is thrown away."""
    if isinstance(event, ModelReplied):
        message = event.turn.message
        results = [platform_result(call, ReasonCode.NOT_RUN) for call in message.calls]
        return state._replace(history=state.history.append([message, *results]))
    if isinstance(event, ToolFinished):
        place = state.slot_of(event.call_id)
        if place is not None and state.slots[place].result is None:
            slot = state.slots[place]
            done = slot._replace(state=SlotState.ANSWERED, result=outcome_result(slot.call, event.outcome))
            return state.with_slot(place, done)
    return state
