"""The pure machine: `advance(state, event) -> (state, effects)`, a literal table of phases and events.

Theory of this room. A run is a value (`LoopState`). Whatever happens to it is an event; whatever it wants done is an
effect. The machine has no clock, no ids, no I/O and no randomness; a driver performs effects in order and feeds
events back. The same machine runs under real transports, under the simulator and under the crash explorer.

An event that no phase expects is the driver's fault or ours: it raises LoopInvariantError, and the driver ends the run
as `internal_error`. Late answers (a second decision, an event after the end) are no fault and change nothing.
"""

from collections.abc import Callable
from typing import Any

from harness.loop import batch, ending
from harness.loop.attempts import after_pause, fail_spent, next_attempt, next_step, on_failure
from harness.loop.events import (
    ApprovalResolved,
    CancelRequested,
    DeadlinePassed,
    Emit,
    Event,
    Finish,
    ModelFailed,
    ModelReplied,
    Resumed,
    Started,
    Step,
    ToolFinished,
    WaitOver,
    WriteCheckpoint,
)
from harness.loop.settle import record_outcome
from harness.loop.state import LoopState, Phase, Slot, SlotState
from harness.loop.text import well_formed
from harness.loop.turns import on_reply
from harness.vocabulary import tools
from harness.vocabulary.content import AssistantMessage, Text, UserMessage
from harness.vocabulary.events import EventName
from harness.vocabulary.tools import OutcomeClass, ToolOutcome


class LoopInvariantError(Exception):
    """The machine was fed an event that its phase cannot take, or broke a promise of its own."""


def advance(state: LoopState, event: Event) -> Step:
    """The next state and what the driver has to do, in order. Pure."""
    handler = _TABLE.get((state.phase, type(event)))
    if handler is None:
        raise LoopInvariantError(f"phase {state.phase} takes no {type(event).__name__}")
    return handler(state, event)


def _on_started(state: LoopState, event: Started) -> Step:
    task = state.task
    user = UserMessage((Text(well_formed(task.user)),))
    ids = {call.call_id: True for item in task.history if isinstance(item, AssistantMessage) for call in item.calls}
    history = state.history.append([*task.history, user])
    # What was stored before the run counts as seen: the model had it in the run that made it.
    state = state._replace(history=history, used_ids=state.used_ids.update(ids), seen=len(task.history))
    fields = {
        "identical_call_threshold": task.settings.identical_call_threshold,
        "max_steps": task.limits.max_steps,
        "max_model_calls": task.limits.max_model_calls,
        "max_tool_calls": task.limits.max_tool_calls,
    }
    return next_step(state, event.at, (Emit(EventName.RUN_STARTED, fields),))


def _on_wait_over(state: LoopState, event: WaitOver) -> Step:
    return next_attempt(state, event.at)


def _on_cancel(state: LoopState, event: CancelRequested) -> Step:
    return ending.cancel(state, (), event.reason)


def _on_deadline(state: LoopState, event: DeadlinePassed) -> Step:
    return fail_spent(state, (), "deadline")


def _on_approval(state: LoopState, event: ApprovalResolved) -> Step:
    place = state.slot_of(event.call_id)
    if place is None or state.slots[place].state is not SlotState.ASKED:
        return state, (Finish(ending.suspended(state)),) if state.phase is Phase.SUSPENDED else ()
    slot = state.slots[place]
    decided = slot._replace(state=SlotState.OPEN) if event.approve else batch.deny(slot, event.reason)
    state = state.with_slot(place, decided)
    fields = {
        "call_id": slot.call.call_id,
        "tool": slot.call.name,
        "decision": "approved" if event.approve else "denied",
    }
    told = (Emit(EventName.APPROVAL_RESOLVED, fields),)
    if state.phase is Phase.TOOLS:
        # Killed before its suspension was stored, the run is still at its other calls: they go first.
        return state, (*told, WriteCheckpoint("tool_pending", state))
    if any(other.state is SlotState.ASKED for other in state.slots):
        waits = () if event.followed else ending.rest(state)
        return state, (*told, WriteCheckpoint("suspended", state), *waits)
    state = state._replace(phase=Phase.TOOLS)
    return batch.dispatch(state, event.at, (*told, WriteCheckpoint("tool_pending", state)))


def _on_resumed(state: LoopState, event: Resumed) -> Step:
    stored = event.state
    told = (Emit(EventName.RUN_RESUMED, {"version": event.version}),)
    deadline = stored.task.limits.deadline
    if stored.phase is not Phase.DONE and deadline is not None and event.at >= deadline:
        return fail_spent(_reopened(stored, event.effects_sent), told, "deadline")
    if stored.phase is not Phase.DONE and event.cancelled is not None:
        return ending.cancel(_reopened(stored, event.effects_sent), told, event.cancelled)
    return _RESUME[stored.phase](stored, event, told)


def _resume_turn(state: LoopState, event: Resumed, told: tuple[Emit, ...]) -> Step:
    return batch.dispose(state, event.at, told)


def _resume_tools(state: LoopState, event: Resumed, told: tuple[Emit, ...]) -> Step:
    return batch.dispatch(_reopened(state, event.effects_sent), event.at, told)


def _resume_between(state: LoopState, event: Resumed, told: tuple[Emit, ...]) -> Step:
    return batch.after_batch(state, event.at, told)


def _resume_attempt(state: LoopState, event: Resumed, told: tuple[Emit, ...]) -> Step:
    return next_attempt(state, event.at, told)


def _resume_waiting(state: LoopState, event: Resumed, told: tuple[Emit, ...]) -> Step:
    return after_pause(state, event.at, told)


def _resume_suspended(state: LoopState, event: Resumed, told: tuple[Emit, ...]) -> Step:
    return state, (told if event.followed else (*told, *ending.rest(state)))


def _resume_done(state: LoopState, event: Resumed, told: tuple[Emit, ...]) -> Step:
    return state, ending.rest(state)


def _reopened(state: LoopState, effects_sent: frozenset[str]) -> LoopState:
    """Calls that were under way when the run broke off: run again where that is safe, else of unknown outcome."""
    for place, slot in enumerate(state.slots):
        if slot.state not in (SlotState.OPEN, SlotState.SENT):
            continue
        if _may_have_happened(state, slot, effects_sent):
            state = record_outcome(state, place, ToolOutcome(outcome=OutcomeClass.UNCERTAIN), None)
        else:
            marked = slot.call.call_id in effects_sent
            state = state.with_slot(place, slot._replace(state=SlotState.OPEN, marked=marked))
    return state


def _may_have_happened(state: LoopState, slot: Slot, effects_sent: frozenset[str]) -> bool:
    effect = state.task.toolbox.effect(slot.call.name)
    return effect is tools.Effect.NON_IDEMPOTENT and slot.call.call_id in effects_sent


def _done(state: LoopState, event: Event) -> Step:
    assert state.outcome is not None
    return state, (Finish(state.outcome),)


_RESUME: dict[Phase, Callable[[LoopState, Resumed, tuple[Emit, ...]], Step]] = {
    Phase.MODEL: _resume_attempt,
    Phase.WAITING: _resume_waiting,
    Phase.TURN: _resume_turn,
    Phase.TOOLS: _resume_tools,
    Phase.BETWEEN: _resume_between,
    Phase.SUSPENDED: _resume_suspended,
    Phase.DONE: _resume_done,
}

_TABLE: dict[tuple[Phase, type], Callable[[LoopState, Any], Step]] = {
    (Phase.NEW, Started): _on_started,
    (Phase.NEW, Resumed): _on_resumed,
    (Phase.MODEL, ModelReplied): on_reply,
    (Phase.MODEL, ModelFailed): on_failure,
    (Phase.MODEL, CancelRequested): _on_cancel,
    (Phase.MODEL, DeadlinePassed): _on_deadline,
    (Phase.WAITING, WaitOver): _on_wait_over,
    (Phase.WAITING, CancelRequested): _on_cancel,
    (Phase.WAITING, DeadlinePassed): _on_deadline,
    (Phase.TOOLS, ToolFinished): batch.on_finished,
    (Phase.TOOLS, CancelRequested): _on_cancel,
    (Phase.TOOLS, DeadlinePassed): _on_deadline,
    (Phase.TOOLS, ApprovalResolved): _on_approval,
    (Phase.SUSPENDED, ApprovalResolved): _on_approval,
    (Phase.SUSPENDED, CancelRequested): _on_cancel,
    (Phase.SUSPENDED, DeadlinePassed): _on_deadline,
    (Phase.DONE, ApprovalResolved): _done,
    (Phase.DONE, CancelRequested): _done,
    (Phase.DONE, DeadlinePassed): _done,
    (Phase.DONE, ToolFinished): _done,
    (Phase.DONE, WaitOver): _done,
}
