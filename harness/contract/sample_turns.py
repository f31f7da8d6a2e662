"""The turns that every adapter must read: text, calls, both, a refusal, and each stop reason a wire can give."""

from harness.vocabulary.content import AssistantMessage, Refusal, Text, ToolCall
from harness.vocabulary.turn import ModelTurn, StopReason
from harness.vocabulary.usage import Usage

_USAGE = Usage(input_tokens=120, output_tokens=30)
_SAID = Text("Grüße, 世界 — <b>done</b>.")
_CALL = ToolCall("call_9", "search", '{"query":"x"}')
_OTHER = ToolCall("call_10", "clock", "{}")


def _turn(stop: StopReason, *parts: Text | Refusal | ToolCall) -> ModelTurn:
    return ModelTurn(message=AssistantMessage(parts), stop=stop, usage=_USAGE)


TURNS: dict[str, ModelTurn] = {
    "text": _turn(StopReason.END, _SAID),
    "call": _turn(StopReason.TOOL_CALLS, _CALL),
    "text-and-calls": _turn(StopReason.TOOL_CALLS, _SAID, _CALL, _OTHER),
    "identical-calls": _turn(StopReason.TOOL_CALLS, _CALL, ToolCall("call_11", _CALL.name, _CALL.arguments)),
    "cut": _turn(StopReason.MAX_TOKENS, Text("The answer begins with")),
    "full": _turn(StopReason.CONTEXT_FULL, Text("No room for")),
    "refused": _turn(StopReason.REFUSAL, Refusal("I will not say that.")),
    "filtered": _turn(StopReason.CONTENT_FILTER, Text("Some")),
    "paused": _turn(StopReason.PAUSE, Text("I am still")),
}
"""Turn by name. A wire that cannot give one (`UnencodableTurn`) has nothing to show for it."""
CALLS_BEFORE = 3
"""Calls in the history of the ordinary request, which these turns answer: the XML fallback counts its ids on."""
