"""Neutral turn -> a Messages answer, and the blocks and the frame that the stream shares with it.

One block a part, in order; reasoning and other blocks of this provider verbatim. Arguments that are no JSON text cannot
stand in a whole answer, whose `input` is an object: they become {} there, as in a real answer that was cut. Source: API
reference, recorded exchanges of 2026.
"""

import json
from typing import Any

from harness.vocabulary.content import AssistantPart, Opaque, ToolCall
from harness.vocabulary.turn import ModelTurn, StopReason
from harness.wire import usage
from harness.wire.anthropic_messages.decode import ID
from harness.wire.events import decoded_arguments, dump, token

STOP = {
    StopReason.END: "end_turn",
    StopReason.TOOL_CALLS: "tool_use",
    StopReason.MAX_TOKENS: "max_tokens",
    StopReason.CONTEXT_FULL: "model_context_window_exceeded",
    StopReason.REFUSAL: "refusal",
    StopReason.CONTENT_FILTER: "refusal",
    StopReason.PAUSE: "pause_turn",
}
_REFUSED = {"type": "refusal", "category": None, "explanation": None}


def parts(turn: ModelTurn) -> list[AssistantPart]:
    """What this wire says of the turn: nothing if it was filtered, no empty text, no block of another provider."""
    if turn.stop is StopReason.CONTENT_FILTER:
        return []
    return [part for part in turn.message.content if _stands(part)]


def _stands(part: AssistantPart) -> bool:
    if isinstance(part, Opaque):
        return part.provider == ID
    return isinstance(part, ToolCall) or bool(part.text)


def block(part: AssistantPart) -> dict[str, Any]:
    """A part as a whole block."""
    if isinstance(part, Opaque):
        verbatim: dict[str, Any] = json.loads(json.dumps(part.payload))
        return verbatim
    if isinstance(part, ToolCall):
        return {
            "type": "tool_use",
            "id": part.call_id,
            "name": part.name,
            "input": decoded_arguments(part.arguments),
            "caller": {"type": "direct"},
        }
    return {"type": "text", "text": part.text}


def frame(turn: ModelTurn, *, model: str, n: int) -> dict[str, Any]:
    """The message before anything is said."""
    return {
        "model": model,
        "id": turn.response_id or token("msg_", n),
        "type": "message",
        "role": "assistant",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "stop_details": None,
    }


def ending(turn: ModelTurn) -> dict[str, Any]:
    """How the message ends."""
    refused = STOP[turn.stop] == "refusal"
    return {"stop_reason": STOP[turn.stop], "stop_sequence": None, "stop_details": _REFUSED if refused else None}


def input_usage(turn: ModelTurn) -> dict[str, object]:
    """The input side of the usage."""
    return usage.anthropic_input(usage.counted(turn.usage))


def output_usage(turn: ModelTurn) -> dict[str, object]:
    """The output side of the usage."""
    return usage.anthropic_output(usage.counted(turn.usage))


def response(turn: ModelTurn, *, model: str, n: int) -> bytes:
    """A whole answer."""
    spent = input_usage(turn) | output_usage(turn) | {"service_tier": "standard"}
    said = {"content": [block(part) for part in parts(turn)]}
    return dump(frame(turn, model=model, n=n) | said | ending(turn) | {"usage": spent})
