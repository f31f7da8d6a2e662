"""A batch of tool calls, from disposal to its end.

Order (loop.turn.order): calls that cannot run are answered, denied ones too; the rest is fitted to the budget and the
overflow refused; the refusals stand in the conversation before the `tool_pending` checkpoint; then the fitted calls
run, and those that need a person wait. Nothing here decides about violations or the hard limit: see turns.
"""

from harness.loop.arguments import fault_of
from harness.loop.attempts import fail_spent, next_step
from harness.loop.budgets import is_spent
from harness.loop.ending import cancel, fail, rest
from harness.loop.events import (
    AskApproval,
    CheckInterrupts,
    Effect,
    Emit,
    MarkEffectSent,
    RunTool,
    Step,
    ToolFinished,
    WriteCheckpoint,
)
from harness.loop.instructions import platform_result
from harness.loop.settle import denial_limit_reached, record_outcome, settle
from harness.loop.state import LoopState, Phase, Slot, SlotState
from harness.vocabulary import tools
from harness.vocabulary.control import ReasonCode
from harness.vocabulary.events import EventName
from harness.vocabulary.outcome import ErrorClass, Reason
from harness.vocabulary.tools import OutcomeClass

_COUNTED_WITHOUT_RUN = (ReasonCode.ARGUMENTS_TRUNCATED, ReasonCode.ARGUMENTS_INVALID, ReasonCode.UNKNOWN)


def dispose(state: LoopState, at: float, effects: tuple[Effect, ...]) -> Step:
    """Decide about each call of the turn, then dispatch what may run."""
    told: list[Effect] = []
    slots: list[Slot] = []
    spent = state.spent
    free = state.task.limits.max_tool_calls - spent.tool_calls
    for slot in state.slots:
        answered = _answer_without_run(state, slot, last=len(slots) == len(state.slots) - 1)
        if answered is None and free <= 0:
            answered = _refused(slot)
            spent = spent._replace(refused_calls=spent.refused_calls + 1)
        if answered is None:
            free -= 1
            answered = _admitted(state, slot)
        else:
            told.append(_answer_event(answered))
        slots.append(answered)
    state = state._replace(phase=Phase.TOOLS, slots=tuple(slots), spent=spent)
    pending = any(slot.result is None for slot in slots)
    stored = (WriteCheckpoint("tool_pending", state),) if pending else ()
    return dispatch(state, at, (*effects, *told, *stored))


def dispatch(state: LoopState, at: float, effects: tuple[Effect, ...] = ()) -> Step:
    """Start the next calls that may run: neighbouring read-only ones together, any other alone."""
    group = _next_group(state)
    if group:
        return _start(state, group, effects)
    if any(slot.state is SlotState.ASKED for slot in state.slots):
        return _suspend(state, effects)
    return _close(state, at, effects)


def on_finished(state: LoopState, event: ToolFinished) -> Step:
    """Record what a call gave, charge it, and go on when the group is done."""
    place = state.slot_of(event.call_id)
    if place is None or state.slots[place].state is not SlotState.SENT:
        return state, ()
    state = record_outcome(state, place, event.outcome, event.latency_ms)
    slot = state.slots[place]
    fields = {"call_id": slot.call.call_id, "tool": slot.call.name, "outcome": str(slot.outcome)}
    effects: tuple[Effect, ...] = (Emit(EventName.CALL_FINISHED, fields),)
    if state.task.toolbox.effect(slot.call.name) is not tools.Effect.READ_ONLY:
        effects = (*effects, WriteCheckpoint("tool_call", state))
    if any(other.state is SlotState.SENT for other in state.slots):
        return state, effects
    # A stop that came while they ran goes before whatever the end of the batch brings (loop.cancel.points).
    if event.cancelled is not None:
        return cancel(state, effects, event.cancelled)
    if is_spent(state.spent, state.task.limits, "deadline", event.at):
        return fail_spent(state, effects, "deadline")
    return dispatch(state, event.at, effects)


def deny(slot: Slot, code: str) -> Slot:
    """A slot answered as denied, with the reason code that its denial counts under."""
    result = platform_result(slot.call, ReasonCode.DENIED)
    return slot._replace(state=SlotState.ANSWERED, result=result, denied=code)


def after_batch(state: LoopState, at: float, effects: tuple[Effect, ...] = ()) -> Step:
    """Go on to the next step, unless a call was denied too often."""
    denied = denial_limit_reached(state)
    if denied:
        details = {"tool": denied[0], "reason_code": denied[2]}
        return fail(state, effects, Reason.REPEATED_DENIAL, ErrorClass.TOOL_POLICY_DENIED, details)
    return next_step(state, at, effects)


def _answer_without_run(state: LoopState, slot: Slot, *, last: bool) -> Slot | None:
    fault = fault_of(slot.call, state.task.toolbox, truncated=last and state.truncated_last)
    if fault:
        code, detail = fault
        result = platform_result(slot.call, code, detail)
        counts = code in _COUNTED_WITHOUT_RUN
        return slot._replace(state=SlotState.ANSWERED, result=result, counts=counts, outcome=OutcomeClass.ERROR)
    tool = state.task.toolbox.get(slot.call.name)
    if tool and tool.denied:
        return deny(slot, tool.denied)
    if slot.signature in state.uncertain and state.task.toolbox.effect(slot.call.name) is tools.Effect.NON_IDEMPOTENT:
        return deny(slot, "outcome_unknown")
    return None


def _refused(slot: Slot) -> Slot:
    return slot._replace(
        state=SlotState.ANSWERED, result=platform_result(slot.call, ReasonCode.BUDGET_EXHAUSTED), counts=False
    )


def _admitted(state: LoopState, slot: Slot) -> Slot:
    tool = state.task.toolbox.get(slot.call.name)
    return slot._replace(state=SlotState.ASKED) if tool and tool.approval else slot


def _answer_event(slot: Slot) -> Emit:
    assert slot.result is not None
    code = slot.result.reason_code
    name = EventName.CALL_REFUSED if code == ReasonCode.BUDGET_EXHAUSTED else EventName.CALL_ANSWERED
    fields = {"call_id": slot.call.call_id, "tool": slot.call.name, "reason_code": str(code)}
    return Emit(name, fields)


def _next_group(state: LoopState) -> list[int]:
    open_places = [place for place, slot in enumerate(state.slots) if slot.state is SlotState.OPEN]
    group: list[int] = []
    for place in open_places:
        if state.task.toolbox.effect(state.slots[place].call.name) is not tools.Effect.READ_ONLY:
            return group or [place]
        group.append(place)
    return group


def _start(state: LoopState, group: list[int], effects: tuple[Effect, ...]) -> Step:
    told: list[Effect] = [CheckInterrupts()]
    runs: list[Effect] = []
    for place in group:
        call = state.slots[place].call
        told.append(Emit(EventName.CALL_PROPOSED, {"call_id": call.call_id, "tool": call.name}))
        if state.task.toolbox.effect(call.name) is not tools.Effect.READ_ONLY:
            told.append(MarkEffectSent(call.call_id))
        runs.append(RunTool(call, f"{state.task.run_id}:{call.call_id}"))
        state = state.with_slot(place, state.slots[place]._replace(state=SlotState.SENT))
    return state, (*effects, *told, *runs)


def _suspend(state: LoopState, effects: tuple[Effect, ...]) -> Step:
    state = state._replace(phase=Phase.SUSPENDED)
    asked: list[Effect] = []
    for slot in state.slots:
        if slot.state is SlotState.ASKED:
            fields = {"call_id": slot.call.call_id, "tool": slot.call.name}
            asked += [Emit(EventName.APPROVAL_REQUESTED, fields), AskApproval(slot.call)]
    return state, (*effects, *asked, WriteCheckpoint("suspended", state), *rest(state))


def _close(state: LoopState, at: float, effects: tuple[Effect, ...]) -> Step:
    spent = state.spent._replace(steps=state.spent.steps + 1)
    state, resets = settle(state._replace(spent=spent, phase=Phase.BETWEEN))
    return after_batch(state, at, (*effects, *resets, WriteCheckpoint("tool_call", state)))
