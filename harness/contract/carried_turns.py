"""What each wire carries of a model turn: the documented losses of its answers.

`adapter.parse(wire.encode(turn))` must equal `carried_turn(turn, transport)`, streamed or not, however the bytes are
cut. Losses of every wire: opaque parts of another provider, empty texts, a stop reason that the content contradicts
(calls mean TOOL_CALLS, unless the turn was cut or filtered). Losses of one wire stand in its own part below. It is
written from the rules and shares no code with adapters or judges.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from harness.contract.carried_arguments import as_object, decoded_object, well_formed
from harness.vocabulary.content import AssistantMessage, AssistantPart, Opaque, Refusal, Text, ToolCall
from harness.vocabulary.turn import ModelTurn, StopReason
from harness.vocabulary.usage import Usage

_MADE_BY_CONTENT = frozenset({StopReason.END, StopReason.TOOL_CALLS, StopReason.REFUSAL})
_STOPS: dict[str, frozenset[StopReason]] = {
    "anthropic-messages": frozenset(StopReason),
}
_COMMON_STOPS = frozenset(StopReason) - {StopReason.PAUSE, StopReason.CONTEXT_FULL}


def stops_of(transport: str) -> frozenset[StopReason]:
    """The stop reasons that a wire can say."""
    return _STOPS.get(transport, _COMMON_STOPS)


def carried_turn(turn: ModelTurn, transport: str, *, streamed: bool, calls_before: int = 0) -> ModelTurn:
    """The turn as the client of `transport` reads it. `calls_before` counts the calls of the request's history. Raises
    KeyError for an unknown transport."""
    own = [part for part in turn.message.content if not isinstance(part, Opaque) or part.provider == transport]
    parts = tuple(_PARTS[transport](replace(turn, message=AssistantMessage(tuple(own))), streamed, calls_before))
    stop = _stop(turn.stop, parts, transport)
    usage = _USAGE[transport](turn.usage)
    return well_formed(replace(turn, message=AssistantMessage(parts), stop=stop, usage=usage))


def _stop(said: StopReason, parts: Sequence[AssistantPart], transport: str) -> StopReason:
    if transport == "anthropic-messages" and said is StopReason.REFUSAL:
        silent = all(isinstance(part, Opaque) for part in parts)
        return StopReason.CONTENT_FILTER if silent else said
    if said not in _MADE_BY_CONTENT:
        return said
    if any(isinstance(part, ToolCall) for part in parts):
        return StopReason.TOOL_CALLS
    return StopReason.REFUSAL if any(isinstance(part, Refusal) for part in parts) else StopReason.END


def _refusing(turn: ModelTurn) -> Iterator[AssistantPart]:
    """The parts; of a turn that refuses, every text is a refusal."""
    for part in turn.message.content:
        refused = turn.stop is StopReason.REFUSAL and isinstance(part, Text)
        yield Refusal(part.text) if refused and isinstance(part, Text) else part


def _joined(parts: Iterable[AssistantPart], kind: type[Text] | type[Refusal]) -> Iterator[Text | Refusal]:
    text = "".join(part.text for part in parts if isinstance(part, kind))
    if text:
        yield kind(text)


def _chat(turn: ModelTurn, streamed: bool, calls_before: int) -> Iterator[AssistantPart]:
    """One text, one refusal, the calls; reasoning has no place on this wire."""
    parts = list(_refusing(turn))
    yield from _joined(parts, Text)
    yield from _joined(parts, Refusal)
    yield from turn.message.calls


def _responses(turn: ModelTurn, streamed: bool, calls_before: int) -> Iterator[AssistantPart]:
    return (part for part in _refusing(turn) if not isinstance(part, Text | Refusal) or part.text)


def _anthropic(turn: ModelTurn, streamed: bool, calls_before: int) -> Iterator[AssistantPart]:
    """A filtered turn says nothing; refusals are texts of a turn that stops by refusing; arguments are an object."""
    for part in () if turn.stop is StopReason.CONTENT_FILTER else turn.message.content:
        if isinstance(part, ToolCall):
            yield replace(part, arguments=_input(part.arguments, streamed))
        elif isinstance(part, Opaque):
            yield part
        elif part.text:
            yield Refusal(part.text) if turn.stop is StopReason.REFUSAL else Text(part.text)


def _input(raw: str, streamed: bool) -> str:
    """Arguments that were cut stay as they are in a stream; a plain answer has an empty object in their place."""
    return raw if streamed and raw and decoded_object(raw) is None else as_object(raw)


def _xml(turn: ModelTurn, streamed: bool, calls_before: int) -> Iterator[AssistantPart]:
    """Texts between calls join; white space after a call is nothing; ids count on from the history."""
    parts = list(_refusing(turn))
    number, texts = calls_before, ""
    for part in parts:
        if isinstance(part, Text):
            texts += part.text
        elif isinstance(part, ToolCall):
            yield from _visible(texts, number > calls_before)
            number, texts = number + 1, ""
            yield replace(part, call_id=f"x{number}", arguments=part.arguments if part.arguments.strip() else "")
    yield from _visible(texts, number > calls_before)
    yield from _joined(parts, Refusal)


def _visible(text: str, after_a_call: bool) -> Iterator[Text]:
    if text.strip() if after_a_call else text:
        yield Text(text)


_PARTS: dict[str, Callable[[ModelTurn, bool, int], Iterator[AssistantPart]]] = {
    "openai-chat": _chat,
    "openai-responses": _responses,
    "anthropic-messages": _anthropic,
    "xml-fallback": _xml,
}


def _reported(usage: Usage) -> Usage:
    """A usage that reports nothing is sent as zeros of every class."""
    zeros = Usage(input_tokens=0, cached_tokens=0, cache_write_tokens=0, output_tokens=0, reasoning_tokens=0)
    return zeros if usage == Usage() else usage


def _totals(usage: Usage) -> Usage:
    """Wires that must report the totals."""
    told = _reported(usage)
    return replace(told, input_tokens=told.input_tokens or 0, output_tokens=told.output_tokens or 0)


def _inclusive(usage: Usage) -> Usage:
    """A wire that counts cached tokens apart: of an input that is not known they are what is told."""
    told = _totals(usage)
    cached = (told.cached_tokens or 0) + (told.cache_write_tokens or 0)
    return replace(told, input_tokens=max(told.input_tokens or 0, cached))


def _every_class(usage: Usage) -> Usage:
    """A wire that must report every class."""
    told = _totals(usage)
    return replace(
        told,
        cached_tokens=told.cached_tokens or 0,
        cache_write_tokens=told.cache_write_tokens or 0,
        reasoning_tokens=told.reasoning_tokens or 0,
    )


_USAGE: dict[str, Callable[[Usage], Usage]] = {
    "openai-chat": _totals,
    "openai-responses": _every_class,
    "anthropic-messages": _inclusive,
    "xml-fallback": _totals,
}
