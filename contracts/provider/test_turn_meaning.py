"""What a provider's own words for the end of a turn mean, and what usage it reports."""

import json
from typing import Any

import pytest

from harness.transports.registry import adapter
from harness.vocabulary.content import (
    AssistantMessage,
    AssistantPart,
    Opaque,
    Refusal,
    Text,
    ToolCall,
    UserMessage,
)
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.turn import ModelTurn, StopReason
from harness.vocabulary.usage import NO_USAGE, Usage

EARLIER = AssistantMessage((ToolCall("x1", "f", "{}"), ToolCall("x2", "f", "{}")))
REQUEST = ModelRequest(model="m", system="", tools=(), items=(UserMessage((Text("Go."),)), EARLIER))

CALL = {"id": "a", "function": {"name": "f", "arguments": '{"x'}}
USE = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
ITEM = {"type": "function_call", "call_id": "a", "name": "f", "arguments": '{"x'}


def parse(transport: str, answer: dict[str, Any]) -> ModelTurn:
    return adapter(transport).parse_response(json.dumps(answer).encode(), REQUEST)


def chat(finish: str, **message: Any) -> dict[str, Any]:
    return {"choices": [{"message": message, "finish_reason": finish}]}


def said(stop: str, *blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"content": list(blocks), "stop_reason": stop, **more}


def words(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def message(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message", "content": list(parts)}


SPOKEN = message({"type": "output_text", "text": "x"})
DECLINED = message({"type": "refusal", "refusal": "No."})


def answer(*output: dict[str, Any], cut: str | None = None) -> dict[str, Any]:
    if cut is None:
        return {"status": "completed", "output": list(output)}
    return {"status": "incomplete", "incomplete_details": {"reason": cut}, "output": list(output)}


@pytest.mark.parametrize(
    ("transport", "document", "stop"),
    [
        ("openai-chat", chat("stop", content="x"), StopReason.END),
        ("openai-chat", chat("eos", content="x"), StopReason.END),
        ("openai-chat", chat("stop", content=None, tool_calls=[CALL]), StopReason.TOOL_CALLS),
        ("openai-chat", chat("tool_calls", content="x"), StopReason.END),
        ("openai-chat", chat("length", content="x", tool_calls=[CALL]), StopReason.MAX_TOKENS),
        ("openai-chat", chat("content_filter", content="", refusal="No."), StopReason.CONTENT_FILTER),
        ("openai-chat", chat("stop", refusal="No."), StopReason.REFUSAL),
        ("xml-fallback", chat("stop", content='<tool_call name="f">{}</tool_call>'), StopReason.TOOL_CALLS),
        ("xml-fallback", chat("length", content='<tool_call name="f">{"x'), StopReason.MAX_TOKENS),
        ("openai-responses", answer(SPOKEN), StopReason.END),
        ("openai-responses", answer(SPOKEN, ITEM), StopReason.TOOL_CALLS),
        ("openai-responses", answer(DECLINED), StopReason.REFUSAL),
        ("openai-responses", answer(ITEM, cut="max_output_tokens"), StopReason.MAX_TOKENS),
        ("openai-responses", answer(SPOKEN, cut="content_filter"), StopReason.CONTENT_FILTER),
        ("openai-responses", answer(SPOKEN, cut="steered"), StopReason.MAX_TOKENS),
        ("anthropic-messages", said("end_turn", words("x")), StopReason.END),
        ("anthropic-messages", said("stop_sequence", words("x")), StopReason.END),
        ("anthropic-messages", said("tool_use", USE), StopReason.TOOL_CALLS),
        ("anthropic-messages", said("max_tokens", USE), StopReason.MAX_TOKENS),
        ("anthropic-messages", said("pause_turn", {"type": "server_tool_use"}), StopReason.PAUSE),
        ("anthropic-messages", said("model_context_window_exceeded", words("x")), StopReason.CONTEXT_FULL),
        ("anthropic-messages", said("refusal", words("No.")), StopReason.REFUSAL),
        ("anthropic-messages", said("refusal"), StopReason.CONTENT_FILTER),
    ],
)
def test_a_stop_reason_has_one_neutral_meaning(transport: str, document: dict[str, Any], stop: StopReason) -> None:
    assert parse(transport, document).stop is stop


@pytest.mark.parametrize(
    ("transport", "document", "content"),
    [
        ("openai-chat", chat("stop", content="x", refusal="No."), (Text("x"), Refusal("No."))),
        ("openai-chat", chat("stop", content=[{"type": "text", "text": "x"}, {"type": "image"}]), (Text("x"),)),
        ("openai-chat", chat("stop", content={"a": 1}), (Text('{"a":1}'),)),
        ("openai-chat", chat("stop", function_call={"name": "f", "arguments": "{}"}), (ToolCall("", "f", "{}"),)),
        ("openai-chat", chat("length", tool_calls=[CALL]), (ToolCall("a", "f", '{"x'),)),
        (
            "openai-chat",
            chat("stop", reasoning_content="Hm.", content="x"),
            (Opaque("openai-chat", {"reasoning_content": "Hm."}), Text("x")),
        ),
        ("xml-fallback", chat("stop", content='<tool_call name="f">{}</tool_call>'), (ToolCall("x3", "f", "{}"),)),
        ("xml-fallback", chat("length", content='<tool_call name="f">{"x'), (ToolCall("x3", "f", '{"x'),)),
        ("openai-responses", answer(message({"type": "output_text", "text": ""}), DECLINED), (Refusal("No."),)),
        (
            "openai-responses",
            answer({"type": "compaction", "id": "c"}),
            (Opaque("openai-responses", {"type": "compaction", "id": "c"}, False),),
        ),
        ("anthropic-messages", said("refusal", words("No.")), (Refusal("No."),)),
        ("anthropic-messages", said("end_turn", words("")), ()),
        (
            "anthropic-messages",
            said("end_turn", {"type": "redacted_thinking", "data": "E"}, {"type": "compaction", "content": None}),
            (
                Opaque("anthropic-messages", {"type": "redacted_thinking", "data": "E"}),
                Opaque("anthropic-messages", {"type": "compaction", "content": None}, False),
            ),
        ),
        (
            "anthropic-messages",
            said("tool_use", {**USE, "input": {"é": [1, 2.50]}, "caller": {}}),
            (ToolCall("a", "f", '{"é":[1,2.5]}'),),
        ),
    ],
)
def test_content_becomes_neutral_parts(
    transport: str, document: dict[str, Any], content: tuple[AssistantPart, ...]
) -> None:
    assert parse(transport, document).message.content == content


@pytest.mark.parametrize(
    ("transport", "document"),
    [
        ("openai-chat", chat("stop", content="x")),
        ("openai-responses", answer(SPOKEN)),
        ("anthropic-messages", said("end_turn", words("x"))),
    ],
)
def test_usage_that_is_not_reported_is_not_zero(transport: str, document: dict[str, Any]) -> None:
    assert parse(transport, document).usage == NO_USAGE
    assert parse(transport, {**document, "usage": {"output_tokens": "7", "prompt_tokens": -1}}).usage == NO_USAGE


def test_anthropic_input_is_the_sum_of_its_three_figures() -> None:
    figures = {"input_tokens": 5, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 0, "output_tokens": 1}
    found = parse("anthropic-messages", said("end_turn", words("x"), usage=figures)).usage
    assert found == Usage(input_tokens=8, cached_tokens=3, cache_write_tokens=0, output_tokens=1)


@pytest.mark.parametrize(
    ("pieces", "arguments"),
    [
        ((), "{}"),
        (("",), "{}"),
        (('{"a": ', "1}"), '{"a":1}'),
        (('{"a": ',), '{"a": '),
        (("[1]",), "[1]"),
        (('{"a": 1, ', '"a": 2}'), '{"a": 1, "a": 2}'),
        (('{"a": [{"b": 1, ', '"b": 1}]}'), '{"a": [{"b": 1, "b": 1}]}'),
        (('{"a": NaN}',), '{"a": NaN}'),
        (('{"a": 1e', "999}"), '{"a": 1e999}'),
    ],
)
def test_streamed_anthropic_input_is_dumped_anew_where_it_is_an_object(pieces: tuple[str, ...], arguments: str) -> None:
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {}},
        {"type": "content_block_start", "index": 0, "content_block": USE},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    ]
    parser = adapter("anthropic-messages").stream_parser(REQUEST)
    found = parser.feed("".join(f"data: {json.dumps(event)}\n\n" for event in events).encode())
    assert [event.text for event in found if hasattr(event, "text")] == [arguments]
    assert found[-1].turn.message.content == (ToolCall("a", "f", arguments),)  # type: ignore[union-attr]
