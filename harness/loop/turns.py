"""What the loop makes of a model's turn: an answer, an empty attempt, a pause, or calls to dispose of.

The order of endings is loop.turn.order; the mode in which the request was sent decides about violations, not a
re-reading of the budgets after the turn's own charge.
"""

from harness.loop import batch
from harness.loop.attempts import fail_spent, next_attempt, retry
from harness.loop.breaker import over_limit
from harness.loop.ending import cancel, complete, fail, violation
from harness.loop.events import Effect, Emit, ModelReplied, Step, WriteCheckpoint
from harness.loop.state import LoopState, Phase, Slot
from harness.loop.text import clean_part
from harness.vocabulary.content import AssistantMessage, AssistantPart, Refusal, Text, ToolCall
from harness.vocabulary.events import EventName
from harness.vocabulary.outcome import ErrorClass, Reason
from harness.vocabulary.turn import ModelTurn, StopReason

_CUT = (StopReason.MAX_TOKENS, StopReason.CONTEXT_FULL)
_WITHHELD = (StopReason.REFUSAL, StopReason.CONTENT_FILTER)


def on_reply(state: LoopState, event: ModelReplied) -> Step:
    """Charge the attempt, then follow the turn to its end."""
    turn = event.turn
    price = state.task.settings.prices.get(state.task.settings.model)
    state = state._replace(spent=state.spent.with_attempt(turn.usage, price), seen=len(state.history))
    effects: tuple[Effect, ...] = (_replied(state, turn),)
    if turn.message.calls:
        state = _with_calls(state, turn)
    elif turn.stop is StopReason.PAUSE:
        state = _with_pause(state, _clean(turn.message))
    elif visible_text(turn.message):
        state = _remembered(state, _clean(turn.message))
    if event.cancelled is not None:
        return cancel(state, effects, event.cancelled)
    if turn.message.calls:
        return _on_calls(state, event.at, effects)
    return _on_text(state, turn, event.at, effects)


def visible_text(message: AssistantMessage) -> str:
    """What a person would see of a turn; "" where that is nothing but white space."""
    parts = [part.text for part in message.content if isinstance(part, (Text, Refusal))]
    text = "".join(parts)
    return text if text.strip() else ""


def _on_calls(state: LoopState, at: float, effects: tuple[Effect, ...]) -> Step:
    deadline = state.task.limits.deadline
    if deadline is not None and at >= deadline:
        return fail_spent(state, effects, "deadline")
    if state.mode:
        return violation(state, effects)
    proposed = [(slot.signature, state.task.toolbox.get(slot.call.name)) for slot in state.slots]
    looping = over_limit(state.breaker, proposed, state.task.settings)
    if looping:
        details = _loop_details(state, looping)
        return fail(state, effects, Reason.TOOL_LOOP_DETECTED, ErrorClass.TOOL_LOOP_DETECTED, details)
    return batch.dispose(state, at, (*effects, WriteCheckpoint("model_response", state)))


def _on_text(state: LoopState, turn: ModelTurn, at: float, effects: tuple[Effect, ...]) -> Step:
    text = visible_text(turn.message)
    if turn.stop is StopReason.PAUSE and turn.message.content:
        return _go_on(state, at, effects)
    if text:
        refused = turn.stop in _WITHHELD or any(isinstance(part, Refusal) for part in turn.message.content)
        message = visible_text(_clean(turn.message))
        return complete(state, effects, message, truncated=turn.stop in _CUT, refused=refused)
    if turn.stop in _WITHHELD:
        details = {"stop": turn.stop.value}
        return fail(state, effects, Reason.MODEL_PERMANENT_ERROR, ErrorClass.CONTENT_FILTERED, details)
    if turn.stop in _CUT:
        details = {"stop": turn.stop.value}
        return fail(state, effects, Reason.EMPTY_MODEL_TURN, ErrorClass.EMPTY_MODEL_TURN, details)
    state, more = retry(state, ErrorClass.EMPTY_MODEL_TURN, at, kind="empty", status=None, wait=None)
    return state, effects + more


def _with_pause(state: LoopState, message: AssistantMessage) -> LoopState:
    earlier = state.paused.content if state.paused else ()
    content = earlier + message.content
    return state._replace(paused=AssistantMessage(content) if content else None)


def _go_on(state: LoopState, at: float, effects: tuple[Effect, ...]) -> Step:
    """Resume a paused turn: a model call more, no step more, and attempts of its own (loop.model.paused).

    The one rebuild of its step is not given again: nothing has come that could be elided (loop.context.overflow).
    """
    state = state._replace(attempt=0, causes=(), phase=Phase.MODEL)
    return next_attempt(state, at, (*effects, WriteCheckpoint("model_response", state)))


def _with_calls(state: LoopState, turn: ModelTurn) -> LoopState:
    message = _mended(state, _clean(turn.message))
    items = [state.paused, message] if state.paused else [message]
    toolbox = state.task.toolbox
    slots = tuple(Slot(call=call, signature=toolbox.signature(call.name, call.arguments)) for call in message.calls)
    ids = state.used_ids.update({call.call_id: True for call in message.calls})
    truncated = turn.stop in _CUT and isinstance(message.content[-1], ToolCall)
    return state._replace(
        phase=Phase.TURN,
        history=state.history.append(items),
        paused=None,
        slots=slots,
        used_ids=ids,
        truncated_last=truncated,
    )


def _remembered(state: LoopState, message: AssistantMessage) -> LoopState:
    items = [state.paused, message] if state.paused else [message]
    return state._replace(history=state.history.append(items), paused=None)


def _clean(message: AssistantMessage) -> AssistantMessage:
    parts: list[AssistantPart] = [clean_part(part) for part in message.content]  # type: ignore[misc]
    return message if all(new is old for new, old in zip(parts, message.content, strict=True)) else _made(parts)


def _made(parts: list[AssistantPart]) -> AssistantMessage:
    return AssistantMessage(tuple(parts))


def _mended(state: LoopState, message: AssistantMessage) -> AssistantMessage:
    """The message with each empty, used or doubled call id rewritten, the same way each time (loop.tools.ids)."""
    taken: set[str] = set()
    parts: list[AssistantPart] = []
    for place, part in enumerate(message.content):
        if isinstance(part, ToolCall):
            call_id = _free_id(state, part.call_id, taken, place)
            taken.add(call_id)
            part = part if call_id == part.call_id else ToolCall(call_id, part.name, part.arguments)
        parts.append(part)
    return _made(parts)


def _free_id(state: LoopState, call_id: str, taken: set[str], place: int) -> str:
    candidate, tries = call_id, 0
    while not candidate or candidate in taken or candidate in state.used_ids:
        candidate = f"call_s{state.step}_{place}" + (f"_{tries}" if tries else "")
        tries += 1
    return candidate


def _loop_details(state: LoopState, signature: str) -> dict[str, object]:
    tool = next(slot.call.name for slot in state.slots if slot.signature == signature)
    return {
        "tool": tool,
        "completed": state.breaker.count(signature),
        "threshold": state.task.settings.identical_call_threshold,
    }


def _replied(state: LoopState, turn: ModelTurn) -> Emit:
    fields = {
        "step": state.step,
        "attempt": state.attempt,
        "stop": turn.stop.value,
        "calls": len(turn.message.calls),
    }
    return Emit(EventName.MODEL_REPLIED, fields)
