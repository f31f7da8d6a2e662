"""Nothing that an answer holds can break a parser: it gives a turn or a fault. What breaks the wire's own rules is
a protocol error."""

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.transports.registry import TRANSPORT_IDS, adapter
from harness.vocabulary.content import Text, ToolCall, UserMessage
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.stream import StreamEvent, StreamFailed, TurnEnded
from harness.vocabulary.turn import FaultKind, ModelError, ModelFault, ModelTurn, StopReason

REQUEST = ModelRequest(model="m", system="", tools=(), items=(UserMessage((Text("Go."),)),))
DONE = b"data: [DONE]\n\n"


def delta(content: Any, finish: Any = None) -> dict[str, Any]:
    return {"id": "r", "choices": [{"index": 0, "delta": content, "finish_reason": finish}]}


def calling(*pieces: dict[str, Any]) -> dict[str, Any]:
    return delta({"tool_calls": list(pieces)})


def block(index: int, content: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"type": "content_block_start", "index": index, "content_block": content}, stopped(index)]


def stopped(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def grown(index: int, kind: str, **more: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **more}}


def item(kind: str, place: int, **content: Any) -> dict[str, Any]:
    return {"type": f"response.output_item.{kind}", "output_index": place, "item": content}


def text(kind: str, place: int, **more: Any) -> dict[str, Any]:
    return {"type": f"response.output_text.{kind}", "output_index": place, "content_index": 0, **more}


FUNCTION = {"id": "a", "index": 0, "function": {"name": "f", "arguments": "{}"}}
START: dict[str, Any] = {"type": "message_start", "message": {"id": "r", "usage": {}}}
STOP: list[dict[str, Any]] = [{"type": "message_delta", "delta": {"stop_reason": "end_turn"}}, {"type": "message_stop"}]
USE = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
COMPLETED: dict[str, Any] = {"type": "response.completed", "response": {"id": "r", "output": []}}
CALL = {"type": "function_call", "call_id": "a", "name": "f", "arguments": ""}


def framed(events: list[dict[str, Any]]) -> bytes:
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


def run(transport: str, body: bytes) -> list[StreamEvent]:
    parser = adapter(transport).stream_parser(REQUEST)
    events = parser.feed(body) + parser.close()
    assert [event.sequence for event in events] == list(range(len(events)))
    assert [isinstance(event, TurnEnded | StreamFailed) for event in events] == [False] * (len(events) - 1) + [True]
    return events


def turn(transport: str, events: list[dict[str, Any]]) -> ModelTurn:
    last = run(transport, framed(events) + DONE)[-1]
    assert isinstance(last, TurnEnded)
    return last.turn


def fault(transport: str, body: bytes) -> ModelFault:
    last = run(transport, body)[-1]
    assert isinstance(last, StreamFailed)
    return last.fault


@pytest.mark.parametrize(
    ("transport", "events"),
    [
        ("openai-chat", [delta({"content": "x"}), {"choices": []}]),
        ("openai-chat", [calling(FUNCTION), calling({"index": 0, "function": {"name": "g"}}), delta({}, "stop")]),
        ("openai-chat", [{"choices": {}}]),
        ("openai-chat", [delta([], "stop")]),
        ("anthropic-messages", [*block(0, USE), *STOP]),
        ("anthropic-messages", [START, START]),
        ("anthropic-messages", [START, *block(0, USE), *block(0, USE), *STOP]),
        ("anthropic-messages", [START, grown(0, "text_delta", text="x"), *STOP]),
        ("anthropic-messages", [START, stopped(0), *STOP]),
        ("anthropic-messages", [START, block(0, USE)[0], *STOP]),
        ("anthropic-messages", [START, block(0, USE)[0], grown(0, "text_delta", text="x")]),
        ("anthropic-messages", [START, *block(0, USE), STOP[1]]),
        ("openai-responses", [item("added", 0, **CALL), item("added", 0, **CALL)]),
        ("openai-responses", [item("done", 0, **CALL), item("done", 0, **CALL)]),
        ("openai-responses", [item("done", 0, type="message", content=[]), text("delta", 0, delta="x"), COMPLETED]),
        (
            "openai-responses",
            [{"type": "response.function_call_arguments.delta", "output_index": 0, "delta": "{"}, COMPLETED],
        ),
        ("openai-responses", [{**COMPLETED, "response": {"output": 7}}]),
        ("openai-responses", [{"type": "x", "sequence_number": 1}, {"type": "x", "sequence_number": 1}]),
        (
            "openai-responses",
            [
                {**text("delta", 0, delta="ac"), "sequence_number": 1},
                {**text("done", 0, text="abc"), "sequence_number": 3},
            ],
        ),
        (
            "openai-responses",
            [
                item("added", 0, **CALL),
                {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": "{}"},
                item("done", 0, **{**CALL, "arguments": "[]"}),
            ],
        ),
    ],
)
def test_a_stream_that_breaks_its_own_order_is_a_protocol_error(transport: str, events: list[dict[str, Any]]) -> None:
    assert fault(transport, framed(events) + DONE).kind is FaultKind.PROTOCOL


NAMELESS = ((0, "a", "f"), (1, "b", ""), (2, "c", "f"), (3, "d", ""), (4, "e", "g"))


@pytest.mark.parametrize(
    "pieces",
    [
        [calling({**FUNCTION, "index": None}), calling({**FUNCTION, "index": None, "id": "b"})],
        [calling(FUNCTION), calling({**FUNCTION, "id": "b"})],
        [calling({**FUNCTION, "index": None}, {**FUNCTION, "index": None, "id": "b"})],
        [
            calling({"index": 0, "id": "a", "function": {"arguments": "{"}}, {"index": 1, "id": "b"}),
            calling({"index": 0, "function": {"name": "f", "arguments": "}"}}),
            calling({"index": 1, "function": {"name": "f", "arguments": "{}"}}),
        ],
        [
            calling({**FUNCTION, "function": {"name": "f", "arguments": {}}}),
            calling({**FUNCTION, "index": 1, "id": "b"}),
        ],
    ],
)
def test_chat_calls_are_told_apart_as_compatible_servers_number_them(pieces: list[dict[str, Any]]) -> None:
    found = turn("openai-chat", [*pieces, delta({}, "tool_calls"), delta({}, "tool_calls")])
    assert found.message.content == (ToolCall("a", "f", "{}"), ToolCall("b", "f", "{}"))
    assert found.stop is StopReason.TOOL_CALLS


@pytest.mark.parametrize("whole", [True, False])
def test_chat_calls_stand_in_their_order_also_where_one_has_no_name(whole: bool) -> None:
    calls = [{"index": n, "id": one, "function": {"name": name, "arguments": "{}"}} for n, one, name in NAMELESS]
    pieces = [calling(*calls)] if whole else [calling(call) for call in calls]
    found = turn("openai-chat", [*pieces, delta({}, "tool_calls")])
    assert found.message.content == tuple(ToolCall(one, name, "{}") for _, one, name in NAMELESS)


def test_a_surrogate_pair_cut_in_two_deltas_is_one_character_and_half_a_pair_is_replaced() -> None:
    found = turn(
        "openai-chat", [delta({"content": piece}) for piece in ("a\ud83d", "\ude00b\ud83d")] + [delta({}, "stop")]
    )
    assert found.message.content == (Text("a\U0001f600b\ufffd"),)


def test_deltas_that_were_shown_stand_where_the_final_text_differs() -> None:
    final = item("done", 0, type="message", content=[{"type": "output_text", "text": "other"}])
    assert turn("openai-responses", [text("delta", 0, delta="shown"), final, COMPLETED]).message.content == (
        Text("shown"),
    )


def test_final_items_fill_in_what_was_not_streamed() -> None:
    said = {"type": "message", "content": [{"type": "output_text", "text": "whole"}]}
    response = {"id": "r", "output": [said, {**CALL, "arguments": "{}"}]}
    found = turn("openai-responses", [text("delta", 0, delta="wh"), {**COMPLETED, "response": response}])
    assert found.message.content == (Text("whole"), ToolCall("a", "f", "{}"))


@pytest.mark.parametrize("garbage", [b"data: {\n\n", b"data: 7\n\n", b"data: [\n\n", b"data: " + b"[" * 9000 + b"\n\n"])
@pytest.mark.parametrize("transport", TRANSPORT_IDS)
def test_garbage_in_a_stream_is_a_protocol_error(transport: str, garbage: bytes) -> None:
    assert fault(transport, garbage).kind is FaultKind.PROTOCOL


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"null", b"[]", b"7", b"{}", b"<html>", b"\xff\xfe{", b"[" * 9000, b'{"a":' + b"9" * 9000 + b"}"],
)
@pytest.mark.parametrize("transport", TRANSPORT_IDS)
def test_garbage_in_a_plain_answer_is_a_protocol_error(transport: str, body: bytes) -> None:
    with pytest.raises(ModelError) as caught:
        adapter(transport).parse_response(body, REQUEST)
    assert caught.value.fault.kind is FaultKind.PROTOCOL


ODD = st.sampled_from(
    [None, True, -1, 0, 10**30, 1.5, "", "text", "tool_use", [], [None], {}, {"type": "text"}, "\ud83d"]
)


def nodes(value: Any) -> list[tuple[Any, Any]]:
    """Every place in a document: its container and key."""
    found: list[tuple[Any, Any]] = []
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in pairs:
        found += [(value, key), *nodes(child)]
    return found


DECLINED: dict[str, Any] = {"type": "message", "content": [{"type": "refusal", "refusal": "y"}]}
SAMPLES: dict[str, list[dict[str, Any]]] = {
    "openai-chat": [delta({"content": "x", "refusal": "y"}), calling(FUNCTION), delta({}, "stop"), {"usage": {}}],
    "xml-fallback": [delta({"content": 'x<tool_call name="f">{}</tool_call>'}), delta({}, "stop"), {"usage": {}}],
    "anthropic-messages": [START, *block(0, {"type": "text", "text": "x"}), *block(1, USE), *STOP],
    "openai-responses": [
        text("delta", 0, delta="x"),
        item("added", 1, **CALL),
        item("done", 1, **CALL),
        {**COMPLETED, "response": {"usage": {}, "output": [DECLINED, CALL]}},
    ],
}
ANSWERS: dict[str, dict[str, Any]] = {
    "openai-chat": {
        "choices": [{"index": 0, "message": {"content": "x", "tool_calls": [FUNCTION]}, "finish_reason": "stop"}]
    },
    "xml-fallback": {"choices": [{"message": {"content": '<tool_call name="f">{}'}, "finish_reason": "length"}]},
    "anthropic-messages": {"content": [{"type": "text", "text": "x"}, USE], "stop_reason": "refusal", "usage": {}},
    "openai-responses": {"status": "completed", "output": [CALL, {"type": "reasoning"}], "usage": {}},
}


@given(transport=st.sampled_from(TRANSPORT_IDS), changes=st.lists(st.tuples(st.integers(0, 10_000), ODD), max_size=4))
def test_no_answer_breaks_a_parser(transport: str, changes: list[tuple[int, Any]]) -> None:
    """Well-formed answers with anything in the wrong place give a turn or a fault, in both modes."""
    stream, plain = deepcopy(SAMPLES[transport]), deepcopy(ANSWERS[transport])
    for document in (stream, plain):
        for place, odd in changes:
            places = nodes(document)
            container, key = places[place % len(places)]
            container[key] = deepcopy(odd)
    run(transport, framed(stream) + DONE)
    try:
        adapter(transport).parse_response(json.dumps(plain).encode(), REQUEST)
    except ModelError as error:
        assert error.fault.message
