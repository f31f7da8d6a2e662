"""Neutral turn -> a Responses object, and the items and the frame that the stream shares with it.

One item a part, in order: reasoning and other items of this provider verbatim, a message for each text or refusal, a
function call for each call. A turn cut by a limit is `incomplete`, and so is its last item. Responses has no pause.
Source: API reference, recorded exchanges of 2026.
"""

import json
from collections.abc import Iterator
from typing import Any

from harness.vocabulary.content import AssistantPart, JsonObject, Opaque, Refusal, Text, ToolCall
from harness.vocabulary.turn import ModelTurn, StopReason
from harness.wire import usage
from harness.wire.codec import UnencodableTurn
from harness.wire.events import BIRTH, dump, token
from harness.wire.openai_responses.decode import ID

_INCOMPLETE: dict[StopReason, str | None] = {
    StopReason.END: None,
    StopReason.TOOL_CALLS: None,
    StopReason.REFUSAL: None,
    StopReason.MAX_TOKENS: "max_output_tokens",
    StopReason.CONTENT_FILTER: "content_filter",
}
_ECHOED: dict[str, Any] = {
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "reasoning": {"effort": None, "summary": None},
    "safety_identifier": None,
    "service_tier": "default",
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}, "verbosity": "medium"},
    "tool_choice": "auto",
    "tools": [],
    "top_logprobs": 0,
    "top_p": 1.0,
    "truncation": "disabled",
    "metadata": {},
}
"""What an answer repeats of its request, and what stands there where the request says nothing."""


def incomplete_reason(turn: ModelTurn) -> str | None:
    """Why the answer is incomplete, None if it is complete."""
    if turn.stop not in _INCOMPLETE:
        raise UnencodableTurn(f"Responses cannot stop with {turn.stop.value!r}: use a wire that has it")
    return _INCOMPLETE[turn.stop]


def items(turn: ModelTurn, n: int) -> list[dict[str, Any]]:
    """The output items."""
    refuses = turn.stop is StopReason.REFUSAL
    parts = [_refused(part) if refuses else part for part in turn.message.content]
    if refuses and not any(isinstance(part, Refusal) for part in parts):
        parts.append(Refusal(""))
    found = [item for place, part in enumerate(parts) for item in _item(part, n, place)]
    if found and incomplete_reason(turn) and found[-1].get("type") in ("message", "function_call"):
        found[-1]["status"] = "incomplete"
    return found


def _refused(part: AssistantPart) -> AssistantPart:
    return Refusal(part.text) if isinstance(part, Text) else part


def _item(part: AssistantPart, n: int, place: int) -> Iterator[dict[str, Any]]:
    if isinstance(part, Opaque):
        if part.provider == ID:
            yield json.loads(json.dumps(part.payload))
    elif isinstance(part, ToolCall):
        yield {
            "id": token("fc_", n, place),
            "type": "function_call",
            "status": "completed",
            "arguments": part.arguments,
            "call_id": part.call_id,
            "name": part.name,
        }
    else:
        yield {
            "id": token("msg_", n, place),
            "type": "message",
            "status": "completed",
            "content": [content(part)],
            "role": "assistant",
        }


def content(part: Text | Refusal) -> dict[str, Any]:
    """A message's one content part."""
    if isinstance(part, Refusal):
        return {"type": "refusal", "refusal": part.text}
    return {"type": "output_text", "annotations": [], "logprobs": [], "text": part.text}


def frame(turn: ModelTurn, *, model: str, n: int, payload: JsonObject | None) -> dict[str, Any]:
    """The response object before anything is said."""
    request = payload or {}
    echoed = {key: default if request.get(key) is None else request[key] for key, default in _ECHOED.items()}
    return {
        "id": turn.response_id or token("resp_", n),
        "object": "response",
        "created_at": BIRTH + n,
        "status": "in_progress",
        "background": False,
        "error": None,
        "incomplete_details": None,
        "model": model,
        "output": [],
        **echoed,
        "tools": [_echoed_tool(tool) for tool in echoed["tools"]],
        "usage": None,
    }


def _echoed_tool(tool: dict[str, Any]) -> dict[str, Any]:
    """A tool as the answer repeats it: with the keys that a request may leave out."""
    if tool.get("type") != "function":
        return tool
    return {"description": None, "parameters": None, "strict": True} | tool


def finished(turn: ModelTurn, output: list[dict[str, Any]], begun: dict[str, Any]) -> dict[str, Any]:
    """The response object at its end."""
    reason = incomplete_reason(turn)
    return begun | {
        "status": "completed" if reason is None else "incomplete",
        "incomplete_details": reason and {"reason": reason},
        "output": output,
        "usage": usage.openai_responses(usage.counted(turn.usage)),
    }


def response(turn: ModelTurn, *, model: str, n: int, payload: JsonObject | None) -> bytes:
    """A whole answer."""
    return dump(finished(turn, items(turn, n), frame(turn, model=model, n=n, payload=payload)))
