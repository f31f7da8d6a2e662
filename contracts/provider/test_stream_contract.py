"""The stream contract over hand-written answers of every wire: the same turn in any chunking and in both modes."""

import json
from dataclasses import replace
from typing import Any

import pytest

from harness.transports.registry import TRANSPORT_IDS, adapter
from harness.vocabulary.content import AssistantMessage, Opaque, Text, ToolCall, UserMessage
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.stream import CallStarted, StreamEvent, StreamFailed, TurnEnded
from harness.vocabulary.turn import FaultKind, ModelFault, ModelTurn, StopReason
from harness.vocabulary.usage import Usage

REQUEST = ModelRequest(model="m", system="", tools=(), items=(UserMessage((Text("Go."),)),))
BROKEN = ModelFault(kind=FaultKind.TRANSIENT, message="reset")

CHAT_USAGE = {
    "prompt_tokens": 10,
    "completion_tokens": 7,
    "prompt_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 2},
    "completion_tokens_details": {"reasoning_tokens": 4},
}
USAGE = Usage(input_tokens=10, cached_tokens=3, cache_write_tokens=2, output_tokens=7, reasoning_tokens=4)


def chunk(delta: Any = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {"id": "r1", "choices": choices, **more}


def piece(index: int, arguments: str, **more: Any) -> dict[str, Any]:
    name = {"name": more.pop("name")} if "name" in more else {}
    return {"tool_calls": [{"index": index, **more, "function": {**name, "arguments": arguments}}]}


CHAT = [
    {"id": "", "choices": [], "prompt_filter_results": []},
    chunk({"role": "assistant", "content": ""}),
    chunk({"content": "Loo"}),
    chunk({"content": "king."}),
    chunk(piece(0, "", id="a", name="f")),
    chunk(piece(1, "", id="b", name="g")),
    chunk(piece(1, "{}")),
    chunk(piece(0, '{"x": ')),
    chunk(piece(0, "1}")),
    {"id": "r1", "choices": [{"index": 1, "delta": {"content": "other choice"}, "finish_reason": "length"}]},
    chunk({}, "tool_calls"),
    chunk(usage=CHAT_USAGE),
]
XML = [
    chunk({"content": 'Looking.\n<tool_call name="f">{"x"'}),
    chunk({"content": ': 1}</tool_call>\n\n<tool_call name="g">{}</tool_'}),
    chunk({"content": "call>"}),
    chunk({}, "stop"),
    chunk(usage=CHAT_USAGE),
]

THINKING = {"type": "thinking", "thinking": "Hm, so.", "signature": "sig"}
SEARCH = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x"}}


def begun(index: int, block: dict[str, Any]) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def grown(index: int, kind: str, **more: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **more}}


def stopped(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


USED = {"input_tokens": 5, "cache_read_input_tokens": 3, "output_tokens": 1}
FINAL = {"cache_creation_input_tokens": 2, "output_tokens": 7, "output_tokens_details": {"thinking_tokens": 4}}
ANTHROPIC = [
    {"type": "message_start", "message": {"id": "r1", "content": [], "usage": USED}},
    begun(0, {**THINKING, "thinking": "", "signature": ""}),
    {"type": "ping"},
    grown(0, "thinking_delta", thinking="Hm, "),
    grown(0, "thinking_delta", thinking="so."),
    grown(0, "signature_delta", signature="sig"),
    stopped(0),
    begun(1, {"type": "text", "text": ""}),
    grown(1, "text_delta", text="Looking."),
    grown(1, "citations_delta", citation={}),
    stopped(1),
    begun(2, {**SEARCH, "input": {}}),
    grown(2, "input_json_delta", partial_json='{"query":'),
    grown(2, "input_json_delta", partial_json=' "x"}'),
    stopped(2),
    begun(3, {"type": "tool_use", "id": "a", "name": "f", "input": {}}),
    grown(3, "input_json_delta", partial_json=""),
    grown(3, "input_json_delta", partial_json='{"x": 1}'),
    stopped(3),
    begun(4, {"type": "tool_use", "id": "b", "name": "g", "input": {}}),
    grown(4, "input_json_delta", partial_json=""),
    stopped(4),
    {"type": "a_new_event"},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": FINAL},
    {"type": "message_stop"},
]

REASONING = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "gAAA"}
WEB = {"type": "web_search_call", "id": "ws", "status": "completed"}
SAID = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Looking."}]}
F = {"type": "function_call", "call_id": "a", "name": "f", "arguments": '{"x": 1}'}
G = {"type": "function_call", "call_id": "b", "name": "g", "arguments": "{}"}
RESPONSE = {
    "id": "r1",
    "status": "completed",
    "output": [REASONING, SAID, WEB, F, G],
    "usage": {
        "input_tokens": 10,
        "input_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 2},
        "output_tokens": 7,
        "output_tokens_details": {"reasoning_tokens": 4},
    },
}


def on(kind: str, place: int, **more: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", "output_index": place, **more}


RESPONSES = [
    {"type": "response.created", "response": {"id": "r1"}},
    on("output_item.added", 0, item={**REASONING, "encrypted_content": "gA"}),
    on("reasoning_summary_text.delta", 0, delta="Hm."),
    on("output_item.done", 0, item=REASONING),
    on("output_item.added", 1, item={"type": "message", "content": []}),
    on("content_part.added", 1, content_index=0, part={"type": "output_text", "text": ""}),
    on("output_text.delta", 1, content_index=0, delta="Look"),
    on("output_text.delta", 1, content_index=0, delta="ing."),
    on("output_text.done", 1, content_index=0, text="Looking."),
    on("output_item.done", 1, item=SAID),
    on("output_item.added", 2, item=WEB),
    on("web_search_call.searching", 2),
    on("output_item.done", 2, item=WEB),
    on("output_item.added", 3, item={**F, "arguments": ""}),
    on("function_call_arguments.delta", 3, delta='{"x":'),
    on("function_call_arguments.delta", 3, delta=" 1}"),
    on("function_call_arguments.done", 3, arguments='{"x": 1}'),
    on("output_item.done", 3, item=F),
    on("output_item.added", 4, item={**G, "arguments": ""}),
    on("output_item.done", 4, item=G),
    {"type": "response.completed", "response": {**RESPONSE, "output": []}},
]


def chosen(finish: str, **message: Any) -> dict[str, Any]:
    return {"index": 0, "message": message, "finish_reason": finish}


CALLS = [
    {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}},
    {"id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}},
]
OTHER = {"index": 1, "message": {"content": "other choice"}, "finish_reason": "length"}
FRAMES = 'Looking.\n<tool_call name="f">{"x": 1}</tool_call>\n<tool_call name="g">{}</tool_call>'
PLAIN: dict[str, dict[str, Any]] = {
    "openai-chat": {
        "id": "r1",
        "usage": CHAT_USAGE,
        "choices": [OTHER, chosen("tool_calls", content="Looking.", refusal=None, tool_calls=CALLS)],
    },
    "xml-fallback": {"id": "r1", "usage": CHAT_USAGE, "choices": [chosen("stop", content=FRAMES)]},
    "anthropic-messages": {
        "id": "r1",
        "content": [
            THINKING,
            {"type": "text", "text": "Looking.", "citations": []},
            SEARCH,
            {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}},
            {"type": "tool_use", "id": "b", "name": "g", "input": {}},
        ],
        "stop_reason": "tool_use",
        "usage": {**USED, **FINAL},
    },
    "openai-responses": RESPONSE,
}


def framed(events: list[dict[str, Any]], *, named: bool = False) -> bytes:
    lines = (f"event: {event['type']}\n" if named else "" for event in events)
    return "".join(f"{line}data: {json.dumps(event)}\n\n" for line, event in zip(lines, events, strict=True)).encode()


DONE = b"data: [DONE]\n\n"
STREAMS: dict[str, bytes] = {
    "openai-chat": framed(CHAT) + DONE,
    "xml-fallback": framed(XML) + DONE,
    "anthropic-messages": framed(ANTHROPIC, named=True),
    "openai-responses": framed(RESPONSES, named=True),
}
IDS = {"xml-fallback": ("x1", "x2")}


def expected(transport: str) -> ModelTurn:
    first, second = IDS.get(transport, ("a", "b"))
    arguments = '{"x":1}' if transport == "anthropic-messages" else '{"x": 1}'
    calls = (ToolCall(first, "f", arguments), ToolCall(second, "g", "{}"))
    parts: dict[str, tuple[Any, ...]] = {
        "anthropic-messages": (Opaque(transport, THINKING), Text("Looking."), Opaque(transport, SEARCH, False)),
        "openai-responses": (Opaque(transport, REASONING), Text("Looking."), Opaque(transport, WEB, False)),
    }
    return ModelTurn(
        message=AssistantMessage((*parts.get(transport, (Text("Looking."),)), *calls)),
        stop=StopReason.TOOL_CALLS,
        usage=USAGE,
        response_id="r1",
    )


def run(transport: str, *chunks: bytes) -> list[StreamEvent]:
    parser = adapter(transport).stream_parser(REQUEST)
    return [event for part in chunks for event in parser.feed(part)] + parser.close()


def keeps_contract(events: list[StreamEvent]) -> StreamEvent:
    """Contiguous from 0, one terminal event, the last; joined deltas equal their part."""
    assert [event.sequence for event in events] == list(range(len(events)))
    assert [isinstance(event, TurnEnded | StreamFailed) for event in events] == [False] * (len(events) - 1) + [True]
    last = events[-1]
    if isinstance(last, TurnEnded):
        for item, part in enumerate(last.turn.message.content):
            joined = "".join(
                event.text
                for event in events
                if not isinstance(event, CallStarted | TurnEnded | StreamFailed) and event.item == item
            )
            if isinstance(part, ToolCall):
                assert CallStarted in [type(event) for event in events] and joined == part.arguments
            elif not isinstance(part, Opaque):
                assert joined == part.text
    return last


def fault(events: list[StreamEvent]) -> ModelFault:
    last = keeps_contract(events)
    assert isinstance(last, StreamFailed)
    return last.fault


@pytest.mark.parametrize("transport", TRANSPORT_IDS)
def test_a_stream_gives_its_turn_whatever_the_chunking(transport: str) -> None:
    body = STREAMS[transport]
    whole = run(transport, body)
    last = keeps_contract(whole)
    assert isinstance(last, TurnEnded) and last.turn == expected(transport)
    assert run(transport, *(body[n : n + 1] for n in range(len(body)))) == whole


@pytest.mark.parametrize("transport", TRANSPORT_IDS)
def test_a_plain_answer_gives_the_same_turn(transport: str) -> None:
    body = json.dumps(PLAIN[transport]).encode()
    assert adapter(transport).parse_response(body, REQUEST) == expected(transport)


@pytest.mark.parametrize("transport", TRANSPORT_IDS)
def test_a_stream_cut_before_its_last_event_is_a_protocol_error(transport: str) -> None:
    body = STREAMS[transport]
    ends = [n + 2 for n in range(len(body)) if body.startswith(b"\n\n", n)]
    # A Chat answer whose finish reason and usage were seen is whole; `[DONE]` says nothing more.
    last = -2 if transport in ("openai-chat", "xml-fallback") else -1
    for end in [0, 5, *ends[:last]]:
        found = fault(run(transport, body[:end]))
        assert found.kind is FaultKind.PROTOCOL and "without its terminal event" in found.message
        assert found.stream_had_output is (b"Loo" in body[: max(0, body.rfind(b"\n\n", 0, end))])


@pytest.mark.parametrize("transport", ["openai-chat", "xml-fallback"])
def test_a_chat_stream_without_done_is_whole_when_finish_reason_and_usage_were_seen(transport: str) -> None:
    last = keeps_contract(run(transport, STREAMS[transport].removesuffix(DONE)))
    assert isinstance(last, TurnEnded) and last.turn == expected(transport)


@pytest.mark.parametrize("transport", TRANSPORT_IDS)
def test_a_broken_transport_is_its_fault_and_says_whether_output_was_seen(transport: str) -> None:
    parser = adapter(transport).stream_parser(REQUEST)
    assert fault(parser.broken(BROKEN)) == BROKEN
    parser = adapter(transport).stream_parser(REQUEST)
    body = STREAMS[transport]
    events = parser.feed(body[: body.index(b"\n\n", body.index(b"Loo")) + 2]) + parser.broken(BROKEN)
    assert fault(events) == replace(BROKEN, stream_had_output=True)


@pytest.mark.parametrize("transport", TRANSPORT_IDS)
def test_nothing_follows_the_terminal_event(transport: str) -> None:
    parser = adapter(transport).stream_parser(REQUEST)
    parser.feed(STREAMS[transport])
    assert parser.feed(STREAMS[transport]) == [] and parser.close() == [] and parser.broken(BROKEN) == []
