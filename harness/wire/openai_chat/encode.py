"""Neutral turn -> Chat Completions answer, whole or as chunks.

Field order and event order are those of recorded answers: a chunk with the role, text or refusal deltas, each call's
head and its argument fragments by `index`, an empty delta with the finish reason, the usage chunk if the request asked
for it, `[DONE]`. Chat has no reasoning content and no pause. Source: API reference, recorded exchanges of 2026.
"""

from dataclasses import dataclass
from typing import Any

from harness.vocabulary.content import JsonObject, Refusal, Text, ToolCall
from harness.vocabulary.turn import ModelTurn, StopReason
from harness.wire import usage
from harness.wire.codec import UnencodableTurn
from harness.wire.events import BIRTH, dump, event, fragments, token

DONE = b"data: [DONE]\n\n"
_FINISH = {
    StopReason.END: "stop",
    StopReason.TOOL_CALLS: "tool_calls",
    StopReason.MAX_TOKENS: "length",
    StopReason.REFUSAL: "stop",
    StopReason.CONTENT_FILTER: "content_filter",
}


@dataclass(frozen=True, slots=True)
class Said:
    """What a turn says on this wire. `text` and `refusal` None: nothing of that kind. `finish` is the wire's word."""

    text: str | None
    refusal: str | None
    calls: tuple[ToolCall, ...]
    finish: str


def said(turn: ModelTurn) -> Said:
    """The turn in this wire's three places; the order between text and calls is lost, as on the real wire."""
    finish = _FINISH.get(turn.stop)
    if finish is None:
        raise UnencodableTurn(f"Chat Completions cannot stop with {turn.stop.value!r}: use a wire that has it")
    refuses = turn.stop is StopReason.REFUSAL
    refusing = (Text, Refusal) if refuses else Refusal
    texts = [part.text for part in turn.message.content if isinstance(part, Text) and not refuses]
    refusals = [part.text for part in turn.message.content if isinstance(part, refusing)]
    refusal = "".join(refusals) if refusals or refuses else None
    return Said("".join(texts) or None, refusal, turn.message.calls, finish)


def response(turn: ModelTurn, *, model: str, n: int) -> bytes:
    """A whole answer."""
    what = said(turn)
    message: dict[str, Any] = {"role": "assistant", "content": what.text, "refusal": what.refusal, "annotations": []}
    if what.calls:
        message["tool_calls"] = [_call(call, call.arguments) for call in what.calls]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": what.finish}
    answer = _frame(turn, "chat.completion", model, n) | {
        "choices": [choice],
        "usage": usage.openai_chat(usage.counted(turn.usage)),
        "service_tier": "default",
        "system_fingerprint": "fp_sim",
    }
    return dump(answer)


def _frame(turn: ModelTurn, kind: str, model: str, n: int) -> dict[str, Any]:
    created = BIRTH + n
    return {"id": turn.response_id or token("chatcmpl-", n), "object": kind, "created": created, "model": model}


def _call(call: ToolCall, arguments: str) -> dict[str, Any]:
    return {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def stream(turn: ModelTurn, *, model: str, n: int, payload: JsonObject | None) -> list[bytes]:
    """The answer as chunks. Without a payload it is streamed as if the request had asked for usage."""
    what = said(turn)
    base = _frame(turn, "chat.completion.chunk", model, n)
    base |= {"service_tier": "default", "system_fingerprint": "fp_sim"}
    tail: dict[str, Any] = {"usage": None} if asks_for_usage(payload) else {}
    deltas = [*_deltas(what), {}]
    finishes = [None] * (len(deltas) - 1) + [what.finish]
    chunks = [base | {"choices": [_choice(*pair)]} | tail for pair in zip(deltas, finishes, strict=True)]
    if tail:
        chunks.append(base | {"choices": [], "usage": usage.openai_chat(usage.counted(turn.usage))})
    return [*map(event, chunks), DONE]


def asks_for_usage(payload: JsonObject | None) -> bool:
    """Whether the request wants the usage chunk."""
    options = {"include_usage": True} if payload is None else payload.get("stream_options")
    return isinstance(options, dict) and bool(options.get("include_usage"))


def _choice(delta: dict[str, Any], finish: str | None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}


def _deltas(what: Said) -> list[dict[str, Any]]:
    opening: dict[str, Any] = {"role": "assistant", "content": None if what.text is None else "", "refusal": None}
    if what.refusal is not None:
        opening["refusal"] = ""
    deltas = [opening]
    deltas += [{"content": piece} for piece in fragments(what.text or "")]
    deltas += [{"refusal": piece} for piece in fragments(what.refusal or "")]
    for index, call in enumerate(what.calls):
        deltas.append({"tool_calls": [{"index": index} | _call(call, "")]})
        pieces = fragments(call.arguments)
        deltas += [{"tool_calls": [{"index": index, "function": {"arguments": piece}}]} for piece in pieces]
    return deltas
