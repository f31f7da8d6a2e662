"""Neutral turn -> what a model writes in the text protocol, as a Chat Completions answer.

Calls become frames in the text, in order; a last call that the output limit cut stays open. The wire's own words never
speak of tools: a turn with calls stops with `stop`. Reasoning is not shown on this wire.
"""

from dataclasses import replace

from harness.vocabulary.content import AssistantMessage, AssistantPart, JsonObject, Refusal, Text, ToolCall
from harness.vocabulary.turn import ModelTurn, StopReason
from harness.wire.events import is_whole
from harness.wire.openai_chat import encode as chat

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}


def escape(text: str, quotes: bool = False) -> str:
    """Text as it stands in a frame (quotes: in an attribute)."""
    for plain, entity in _ENTITIES.items():
        if plain != '"' or quotes:
            text = text.replace(plain, entity)
    return text


def written(turn: ModelTurn) -> ModelTurn:
    """The turn with its calls written into its text."""
    parts = turn.message.content
    text = "".join(_piece(part, turn, part is parts[-1]) for part in parts)
    refusals = tuple(part for part in parts if isinstance(part, Refusal))
    content: tuple[AssistantPart, ...] = (*((Text(text),) if text else ()), *refusals)
    stop = StopReason.END if turn.stop is StopReason.TOOL_CALLS else turn.stop
    return replace(turn, message=AssistantMessage(content), stop=stop)


def _piece(part: AssistantPart, turn: ModelTurn, last: bool) -> str:
    if isinstance(part, Text):
        return part.text
    if not isinstance(part, ToolCall):
        return ""
    cut = last and turn.stop is StopReason.MAX_TOKENS and not is_whole(part.arguments)
    end = "" if cut else "</tool_call>\n"
    return f'\n<tool_call name="{escape(part.name, quotes=True)}">{escape(part.arguments)}{end}'


def response(turn: ModelTurn, *, model: str, n: int) -> bytes:
    """A whole answer."""
    return chat.response(written(turn), model=model, n=n)


def stream(turn: ModelTurn, *, model: str, n: int, payload: JsonObject | None) -> list[bytes]:
    """The answer as chunks."""
    return chat.stream(written(turn), model=model, n=n, payload=payload)
