"""Each rule of a stream's life can fail: there is a small stream that it alone rejects."""

import json
from collections.abc import Iterable
from typing import Any

import pytest

from harness.wire.lifecycle import stream_rules, validate
from harness.wire.registry import CODEC_IDS

Event = dict[str, Any]
Stream = bytes
DONE = b"data: [DONE]\n\n"


def named(events: Iterable[Event]) -> Stream:
    return b"".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in events)


def numbered(events: Iterable[Event]) -> Stream:
    return named({**one, "sequence_number": n} for n, one in enumerate(events))


def chunks(events: Iterable[Event], end: bytes = DONE) -> Stream:
    return b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in events) + end


def cell(event: Event, path: str, value: Any) -> Event:
    """The event with another value at a dotted path; `...` takes the member away."""
    made = json.loads(json.dumps(event))
    *way, last = path.split(".")
    place = made
    for step in way:
        place = place[int(step) if isinstance(place, list) else step]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return dict(made)


# Messages
MESSAGE: Event = {"type": "message", "id": "m", "role": "assistant", "model": "x", "content": [], "stop_reason": None}
START: Event = {"type": "message_start", "message": {**MESSAGE, "usage": {"input_tokens": 3, "output_tokens": 1}}}
STOP: Event = {"type": "message_stop"}
PING: Event = {"type": "ping"}
BROKEN: Event = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}


def closing(reason: Any = "end_turn") -> Event:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}}


def begun(index: int, kind: str = "text", **more: Any) -> Event:
    block = {"type": kind, **({"text": ""} if kind == "text" else {}), **more}
    return {"type": "content_block_start", "index": index, "content_block": block}


def grown(index: int, kind: str = "text_delta", **more: Any) -> Event:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, "text": "a", **more}}


def stopped(index: int) -> Event:
    return {"type": "content_block_stop", "index": index}


BLOCK = [begun(0), grown(0), stopped(0)]
SIGNED = grown(0, "signature_delta", signature="s")
CLOSE = [closing(), STOP]
MESSAGES: dict[str, Stream] = {
    "encoding": named([START, *BLOCK, *CLOSE]).replace(b'"a"', b'"\xff"'),
    "whole-events": named([START, *BLOCK, *CLOSE]) + b"data: {}",
    "json": named([START, *BLOCK, *CLOSE]) + b"data: 7\n\n",
    "shape": named([cell(START, "message.id", 7), *CLOSE]),
    "name": named([START, *CLOSE]).replace(b"event: message_stop", b"event: stop"),
    "no-done-mark": named([START, *CLOSE]) + DONE,
    "start-first": named([*BLOCK, *CLOSE]),
    "start-once": named([START, START, *CLOSE]),
    "start-empty": named([cell(START, "message.stop_reason", "end_turn"), *CLOSE]),
    "block-open": named([START, grown(0), *CLOSE]),
    "one-block": named([START, begun(0), begun(1), stopped(1), *CLOSE]),
    "block-closed": named([START, begun(0), *CLOSE]),
    "block-index": named([START, begun(1), stopped(1), *CLOSE]),
    "block-named": named([START, begun(0), grown(1), stopped(0), *CLOSE]),
    "block-empty": named([START, begun(0, text="a"), grown(0), stopped(0), *CLOSE]),
    "delta-kind": named([START, begun(0, "tool_use"), grown(0), stopped(0), *CLOSE]),
    "signature-last": named([START, begun(0, "thinking"), SIGNED, SIGNED, stopped(0), *CLOSE]),
    "closing": named([START, closing(), begun(0), stopped(0), STOP]),
    "message-delta": named([START, *BLOCK, STOP]),
    "stop-reason": named([START, closing(None), STOP]),
    "stop-tool-use": named([START, closing("tool_use"), STOP]),
    "usage-placed": named([cell(START, "message.usage", ...), *CLOSE]),
    "usage-grows": named([cell(START, "message.usage.output_tokens", 9), *CLOSE]),
    "error-shape": named([START, cell(BROKEN, "error.message", ...)]),
    "after-end": named([START, *CLOSE, STOP]),
    "end": named([START, *BLOCK, closing()]),
}


# Chat Completions
def chunk(delta: Event | None, finish: str | None = None, index: int = 0, **more: Any) -> Event:
    choices = [] if delta is None else [{"index": index, "delta": delta, "finish_reason": finish}]
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "x"}
    return {**head, "choices": choices, "usage": None, **more}


def piece(index: int = 0, arguments: str = "", **head: Any) -> Event:
    function = {"arguments": arguments, **({"name": head.pop("name")} if "name" in head else {})}
    return chunk({"tool_calls": [{"index": index, **head, "function": function}]})


ROLE, SAID, ENDED = chunk({"role": "assistant"}), chunk({"content": "a"}), chunk({}, "stop")
HEAD = {"id": "call", "type": "function", "name": "f"}
COUNTED = chunk(None, usage={"prompt_tokens": 2, "completion_tokens": 3, "total_tokens": 5})
REFUSED: Event = {"error": {"message": "no", "type": "server_error", "code": None}}
CHAT: dict[str, Stream] = {
    "encoding": chunks([ROLE, SAID, ENDED]).replace(b'"a"', b'"\xff"'),
    "whole-events": chunks([ROLE, ENDED]) + b"data: {}",
    "json": chunks([ROLE, ENDED], b"data: {\n\n" + DONE),
    "shape": chunks([ROLE, cell(SAID, "choices.0.delta", None), ENDED]),
    "name": b"event: chunk\n" + chunks([ROLE, ENDED]),
    "object": chunks([ROLE, ENDED | {"object": "chat.completion"}]),
    "identity": chunks([ROLE, ENDED | {"id": "d"}]),
    "role-first": chunks([SAID, ENDED]),
    "finished": chunks([ROLE, SAID]),
    "finish-once": chunks([ROLE, ENDED, ENDED]),
    "finish-word": chunks([ROLE, chunk({}, "eos")]),
    "finish-calls": chunks([ROLE, chunk({}, "tool_calls")]),
    "after-finish": chunks([ROLE, ENDED, SAID]),
    "call-index": chunks([ROLE, piece(1, **HEAD), ENDED]),
    "call-head": chunks([ROLE, piece(0, **HEAD), piece(0, "{}", id="call"), ENDED]),
    "usage-last": chunks([ROLE, ENDED, COUNTED, COUNTED]),
    "usage-sum": chunks([ROLE, ENDED, cell(COUNTED, "usage.total_tokens", 6)]),
    "error-shape": chunks([ROLE, {"error": "no"}], b""),
    "after-error": chunks([ROLE, REFUSED, SAID]),
    "done": chunks([ROLE, ENDED], b""),
    "after-done": chunks([ROLE, ENDED], DONE + DONE),
}
CALLS = chunks([ROLE, piece(0, **HEAD), piece(0, "{}"), ENDED])
XML = {slug: stream for slug, stream in CHAT.items() if not slug.startswith("call-")} | {"no-calls": CALLS}


# Responses
RESPONSE: Event = {"id": "r", "created_at": 1, "model": "x", "status": "in_progress", "output": [], "usage": None}
CREATED: Event = {"type": "response.created", "response": RESPONSE}
RUNNING: Event = {"type": "response.in_progress", "response": RESPONSE}
PART: Event = {"type": "output_text", "text": "ab"}
SAYS: Event = {"type": "message", "id": "i", "content": [PART]}
CALL: Event = {"type": "function_call", "id": "i", "call_id": "a", "name": "f", "arguments": "{}"}
FAULT: Event = {"type": "error", "error": {"code": "server_error", "message": "no"}}
USAGE: Event = {"input_tokens": 2, "output_tokens": 3, "total_tokens": 5}


def ended(*output: Event, status: str = "completed", **more: Any) -> Event:
    response = {**RESPONSE, "status": status, "output": list(output), "usage": USAGE}
    return {"type": f"response.{status}", "response": {**response, **more}}


def on(name: str, index: int = 0, **more: Any) -> Event:
    return {"type": f"response.{name}", "output_index": index, **({} if "item" in more else {"item_id": "i"}), **more}


OPENED = on("output_item.added", item={**SAYS, "content": []})
CALLED = on("output_item.added", item={**CALL, "arguments": ""})
PART_ADDED = on("content_part.added", content_index=0, part={**PART, "text": ""})
DELTA = on("output_text.delta", content_index=0, delta="ab")
TEXT_DONE = on("output_text.done", content_index=0, text="ab")
PART_DONE = on("content_part.done", content_index=0, part=PART)
TEXT = [PART_ADDED, DELTA, TEXT_DONE, PART_DONE]
CLOSED = on("output_item.done", item=SAYS)
CALL_CLOSED = on("output_item.done", item=CALL)
ARGUED = on("function_call_arguments.delta", delta="{}")


def told(*events: Event) -> Stream:
    return numbered([CREATED, RUNNING, *events])


def second(event: Event) -> Event:
    return cell(event, "output_index", 1)


RESPONSES: dict[str, Stream] = {
    "encoding": told(OPENED, *TEXT, CLOSED, ended(SAYS)).replace(b'"id": "r"', b'"id": "\xff"'),
    "whole-events": told(ended()) + b"event: x",
    "json": told(ended()) + b"data: []\n\n",
    "shape": told(ended(output=None)),
    "name": told(ended()).replace(b"event: response.completed", b"event: completed"),
    "no-done-mark": told(ended()) + DONE,
    "sequence": named([{**CREATED, "sequence_number": 0}, {**RUNNING, "sequence_number": 2}])
    + named([{**ended(), "sequence_number": 3}]),
    "created-first": numbered([RUNNING, ended()]),
    "in-progress": numbered([CREATED, OPENED, *TEXT, CLOSED, ended(SAYS)]),
    "begins-empty": numbered([CREATED, cell(RUNNING, "response.usage", USAGE), ended()]),
    "identity": told(ended(model="y")),
    "item-added": told(CLOSED, ended(SAYS)),
    "item-once": told(OPENED, *TEXT, CLOSED, CLOSED, ended(SAYS)),
    "item-open": told(OPENED, *TEXT, CLOSED, DELTA, ended(SAYS)),
    "item-index": told(second(OPENED), *map(second, TEXT), second(CLOSED), ended(SAYS)),
    "one-item": told(OPENED, second(CALLED), *TEXT, CLOSED, second(CALL_CLOSED), ended(SAYS, CALL)),
    "item-identity": told(CALLED, cell(CALL_CLOSED, "item.call_id", "b"), ended({**CALL, "call_id": "b"})),
    "item-kind": told(CALLED, *TEXT, CALL_CLOSED, ended(CALL)),
    "item-closed": told(OPENED, *TEXT, ended()),
    "part-once": told(OPENED, PART_ADDED, *TEXT, CLOSED, ended(SAYS)),
    "part-open": told(OPENED, *TEXT[1:], CLOSED, ended(SAYS)),
    "part-closed": told(OPENED, *TEXT[:3], CLOSED, ended(SAYS)),
    "text-done": told(CALLED, ARGUED, CALL_CLOSED, ended(CALL)),
    "deltas-done": told(OPENED, PART_ADDED, DELTA, DELTA, *TEXT[2:], CLOSED, ended(SAYS)),
    "done-item": told(OPENED, *TEXT[:3], cell(PART_DONE, "part.text", "b"), CLOSED, ended(SAYS)),
    "final-output": told(OPENED, *TEXT, CLOSED, ended()),
    "final-status": told(cell(ended(), "response.status", "in_progress")),
    "usage-final": told(ended(usage=None)),
    "error-shape": told(cell(FAULT, "error.code", ...)),
    "after-error": told(FAULT, OPENED),
    "after-end": told(ended(), ended()),
    "end": told(OPENED),
}
BREACHES: dict[str, dict[str, Stream]] = {
    "anthropic-messages": MESSAGES,
    "openai-chat": CHAT,
    "xml-fallback": XML,
    "openai-responses": RESPONSES,
}
CASES = [
    pytest.param(transport, slug, stream, id=f"{transport}.{slug}")
    for transport, streams in BREACHES.items()
    for slug, stream in streams.items()
]


@pytest.mark.parametrize(("transport", "slug", "stream"), CASES)
def test_each_rule_alone_rejects_its_stream(transport: str, slug: str, stream: Stream) -> None:
    found = validate(transport, stream)
    assert {one.rule for one in found} == {f"wire.{transport}.stream-{slug}"}
    events = stream.count(b"data: ") + 1
    assert all(one.message and 1 <= one.event <= events and one.pointer[:1] in ("", "/") for one in found)


@pytest.mark.parametrize("transport", CODEC_IDS)
def test_no_rule_is_without_its_stream(transport: str) -> None:
    rules = {rule.slug for rule in stream_rules().values() if rule.transport == transport}
    assert set(BREACHES[transport]) == rules
