"""Neutral turn -> Messages stream events, in the order and with the fields of recorded streams.

message_start; for each block: start, deltas, stop; a ping after the first start; message_delta with the stop reason
and the cumulative usage; message_stop. A call begins with `input: {}` and an empty first delta; a call without
arguments has only that one. Thinking ends with one signature delta.
"""

from collections.abc import Iterator
from typing import Any

from harness.vocabulary.content import AssistantPart, Opaque, ToolCall
from harness.vocabulary.turn import ModelTurn
from harness.wire.anthropic_messages import encode
from harness.wire.events import event, fragments

Body = dict[str, Any]


def stream(turn: ModelTurn, *, model: str, n: int) -> list[bytes]:
    """All events of the answer."""
    made, given = encode.output_usage(turn), encode.input_usage(turn)
    # A message begins with its first token counted; the counts that end it are cumulative, so never less.
    begun = 1 if made["output_tokens"] else 0
    spent = given | {"output_tokens": begun, "service_tier": "standard"}
    events = [_event("message_start", message=encode.frame(turn, model=model, n=n) | {"usage": spent})]
    for index, part in enumerate(encode.parts(turn)):
        events += _block(index, part)
    return [*events, _event("message_delta", delta=encode.ending(turn), usage=given | made), _event("message_stop")]


def _event(name: str, **body: Any) -> bytes:
    return event({"type": name, **body}, name)


def _block(index: int, part: AssistantPart) -> Iterator[bytes]:
    begun, deltas = _split(part)
    yield _event("content_block_start", index=index, content_block=begun)
    if index == 0:
        yield _event("ping")
    yield from (_event("content_block_delta", index=index, delta=delta) for delta in deltas)
    yield _event("content_block_stop", index=index)


def _split(part: AssistantPart) -> tuple[Body, list[Body]]:
    """A block as it is announced, and the deltas that fill it."""
    whole = encode.block(part)
    if isinstance(part, ToolCall):
        pieces = [] if part.arguments in ("", "{}") else fragments(part.arguments)
        deltas: list[Body] = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *pieces)]
        return whole | {"input": {}}, deltas
    if not isinstance(part, Opaque):
        return whole | {"text": ""}, [{"type": "text_delta", "text": piece} for piece in fragments(part.text)]
    if whole.get("type") == "thinking" and isinstance(whole.get("thinking"), str):
        return _thinking(whole)
    return whole, []


def _thinking(whole: Body) -> tuple[Body, list[Body]]:
    deltas: list[Body] = [{"type": "thinking_delta", "thinking": piece} for piece in fragments(whole["thinking"])]
    begun = whole | {"thinking": ""}
    if "signature" in whole:
        begun["signature"] = ""
        deltas.append({"type": "signature_delta", "signature": whole["signature"]})
    return begun, deltas
