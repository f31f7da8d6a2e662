"""Response and stream encoders: the events, their order and their fields, and that whole and streamed answers agree."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from harness.vocabulary.content import AssistantMessage, AssistantPart, Opaque, Refusal, Text, ToolCall
from harness.vocabulary.turn import ModelTurn, StopReason
from harness.vocabulary.usage import Usage
from harness.wire.codec import UnencodableTurn
from harness.wire.registry import CODEC_IDS, codec

USAGE = Usage(input_tokens=100, cached_tokens=60, cache_write_tokens=10, output_tokens=20, reasoning_tokens=5)
LONG = '{"city":"São Paulo","unit":"celsius"}'
REASONING = {
    "id": "rs_1",
    "type": "reasoning",
    "summary": [{"type": "summary_text", "text": "Think it over."}],
    "encrypted_content": "gAAAA",
}
THINKING = {"type": "thinking", "thinking": "Think it over.", "signature": "EqQB"}
HIDDEN = {"type": "redacted_thinking", "data": "Em"}
SEARCH = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "x"}}
NATIVE = ("openai-chat", "openai-responses", "anthropic-messages")


def turn(*parts: AssistantPart, stop: StopReason = StopReason.END, usage: Usage = USAGE) -> ModelTurn:
    return ModelTurn(message=AssistantMessage(parts), stop=stop, usage=usage)


CALLS = turn(
    Text("Looking it up."), ToolCall("a", "weather", LONG), ToolCall("b", "clock", "{}"), stop=StopReason.TOOL_CALLS
)


def events(transport: str, what: ModelTurn, payload: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """The JSON of each event; a name in the framing must be the event's type."""
    found = []
    for raw in codec(transport).stream(what, model="m", n=3, payload=payload):
        *named, data = raw.decode().removesuffix("\n\n").split("\n")
        if data != "data: [DONE]":
            found.append(json.loads(data.removeprefix("data: ")))
            assert named in ([], [f"event: {found[-1].get('type')}"])
    return found


def whole(transport: str, what: ModelTurn) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(codec(transport).response(what, model="m", n=3))
    return answer


def joined(found: list[dict[str, Any]], pick: Callable[[dict[str, Any]], str | None]) -> str:
    return "".join(filter(None, map(pick, found)))


def test_chat_streams_role_text_calls_finish_usage_done() -> None:
    raw = codec("openai-chat").stream(CALLS, model="m", n=3)
    assert raw[-1] == b"data: [DONE]\n\n"
    found = events("openai-chat", CALLS)
    deltas = [chunk["choices"][0]["delta"] for chunk in found[:-1]]
    assert deltas[0] == {"role": "assistant", "content": "", "refusal": None}
    assert len([delta for delta in deltas[1:] if "content" in delta]) > 1
    calls = [call for delta in deltas for call in delta.get("tool_calls", [])]
    heads = [call for call in calls if "id" in call]
    assert [(head["index"], head["id"], head["type"]) for head in heads] == [(0, "a", "function"), (1, "b", "function")]
    assert all(head["function"]["arguments"] == "" for head in heads)
    assert joined(calls, lambda call: call["function"]["arguments"] if call["index"] == 0 else None) == LONG
    assert deltas[-1] == {}
    assert [chunk["choices"][0]["finish_reason"] for chunk in found[:-1]] == [None] * (len(deltas) - 1) + ["tool_calls"]
    assert found[-1]["choices"] == []
    assert all(chunk["usage"] is None for chunk in found[:-1])
    assert found[-1]["usage"] == whole("openai-chat", CALLS)["usage"]


@pytest.mark.parametrize(("options", "told"), [(None, False), ({"include_usage": True}, True), ({}, False)])
def test_chat_streams_usage_only_where_the_request_asks(options: dict[str, Any] | None, told: bool) -> None:
    payload = {} if options is None else {"stream_options": options}
    found = events("openai-chat", CALLS, payload)
    assert any("usage" in chunk for chunk in found) is told
    assert any(chunk["choices"] == [] for chunk in found) is told


def test_responses_streams_every_event_of_its_items_in_order() -> None:
    what = turn(Opaque("openai-responses", REASONING), *CALLS.message.content, stop=StopReason.TOOL_CALLS)
    found = events("openai-responses", what)
    assert [one["sequence_number"] for one in found] == list(range(len(found)))
    names = [one["type"].removeprefix("response.") for one in found]
    squeezed = [name for place, name in enumerate(names) if name != names[place - 1] or not place]
    assert squeezed == [
        "created",
        "in_progress",
        "output_item.added",
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
        "output_item.done",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        *["output_item.added", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done"] * 2,
        "completed",
    ]
    done = [one["item"] for one in found if one["type"] == "response.output_item.done"]
    assert done[0] == REASONING
    assert found[-1]["response"]["output"] == done
    assert joined(found, lambda one: one["delta"] if one.get("output_index") == 2 and "delta" in one else None) == LONG


def test_anthropic_streams_blocks_one_after_another_with_a_ping() -> None:
    parts = (Opaque("anthropic-messages", THINKING), Opaque("anthropic-messages", HIDDEN), *CALLS.message.content)
    found = events("anthropic-messages", turn(*parts, stop=StopReason.TOOL_CALLS))
    assert [one["type"] for one in found[:4]] == ["message_start", "content_block_start", "ping", "content_block_delta"]
    assert [one["type"] for one in found[-2:]] == ["message_delta", "message_stop"]
    started = [one["content_block"] for one in found if one["type"] == "content_block_start"]
    assert started[0] == {"type": "thinking", "thinking": "", "signature": ""}
    assert started[1] == HIDDEN
    assert [block["input"] for block in started[3:]] == [{}, {}]
    deltas = [(one["index"], one["delta"]) for one in found if one["type"] == "content_block_delta"]
    assert [delta["type"] for index, delta in deltas if index == 0][-1] == "signature_delta"
    partial = {index: "" for index, _ in deltas}
    for index, delta in deltas:
        partial[index] += delta.get("partial_json", "")
    assert (partial[3], partial[4]) == (LONG, "")
    assert [delta for index, delta in deltas if index == 4] == [{"type": "input_json_delta", "partial_json": ""}]
    assert found[-2]["delta"]["stop_reason"] == "tool_use"


def test_anthropic_reports_the_uncached_remainder() -> None:
    spent = whole("anthropic-messages", CALLS)["usage"]
    assert (spent["input_tokens"], spent["cache_read_input_tokens"], spent["cache_creation_input_tokens"]) == (
        30,
        60,
        10,
    )
    assert (spent["output_tokens"], spent["output_tokens_details"]) == (20, {"thinking_tokens": 5})
    final = events("anthropic-messages", CALLS)[-2]["usage"]
    assert final.items() <= spent.items()


@pytest.mark.parametrize("transport", NATIVE)
def test_a_silent_script_counts_zero_and_an_unreported_class_is_left_out_where_it_can_be(transport: str) -> None:
    silent = whole(transport, turn(Text("x"), usage=Usage()))["usage"]
    partial = whole(transport, turn(Text("x"), usage=Usage(input_tokens=3, output_tokens=2)))["usage"]
    first = "prompt_tokens" if transport == "openai-chat" else "input_tokens"
    assert (silent[first], partial[first]) == (0, 3)
    if transport == "anthropic-messages":
        assert "cache_read_input_tokens" in silent and "cache_read_input_tokens" not in partial
    if transport == "openai-chat":
        assert "cached_tokens" not in partial["prompt_tokens_details"]


def test_blocks_and_items_of_the_provider_come_back_verbatim_and_others_do_not() -> None:
    mine = Opaque("anthropic-messages", SEARCH, reasoning=False)
    other = Opaque("openai-responses", REASONING)
    said = turn(mine, other, Text("x"))
    assert whole("anthropic-messages", said)["content"] == [SEARCH, {"type": "text", "text": "x"}]
    assert [item["type"] for item in whole("openai-responses", said)["output"]] == ["reasoning", "message"]
    assert whole("openai-responses", said)["output"][0] == REASONING
    assert whole("openai-chat", said)["choices"][0]["message"]["content"] == "x"


STOPS = [
    (StopReason.END, "stop", ("completed", None), "end_turn"),
    (StopReason.MAX_TOKENS, "length", ("incomplete", "max_output_tokens"), "max_tokens"),
    (StopReason.CONTENT_FILTER, "content_filter", ("incomplete", "content_filter"), "refusal"),
    (StopReason.REFUSAL, "stop", ("completed", None), "refusal"),
]


@pytest.mark.parametrize(("stop", "chat", "responses", "anthropic"), STOPS)
def test_stop_reasons_have_each_wires_word(
    stop: StopReason, chat: str, responses: tuple[str, str | None], anthropic: str
) -> None:
    said = turn(Text("Some words."), stop=stop)
    assert whole("openai-chat", said)["choices"][0]["finish_reason"] == chat
    answer = whole("openai-responses", said)
    assert (answer["status"], (answer["incomplete_details"] or {}).get("reason")) == responses
    assert events("openai-responses", said)[-1]["type"] == f"response.{responses[0]}"
    assert whole("anthropic-messages", said)["stop_reason"] == anthropic


def test_a_refusing_turn_says_its_words_as_a_refusal() -> None:
    said = turn(Text("I will not."), stop=StopReason.REFUSAL)
    message = whole("openai-chat", said)["choices"][0]["message"]
    assert (message["content"], message["refusal"]) == (None, "I will not.")
    assert whole("openai-responses", said)["output"][0]["content"] == [{"type": "refusal", "refusal": "I will not."}]
    answer = whole("anthropic-messages", replace(said, message=AssistantMessage((Refusal("I will not."),))))
    assert answer["content"] == [{"type": "text", "text": "I will not."}]
    assert answer["stop_details"]["type"] == "refusal"


def test_a_filtered_turn_says_nothing_on_anthropic() -> None:
    assert whole("anthropic-messages", turn(Text("x"), stop=StopReason.CONTENT_FILTER))["content"] == []


def test_a_call_cut_by_the_limit_is_incomplete() -> None:
    cut = turn(ToolCall("a", "weather", '{"city":"Sã'), stop=StopReason.MAX_TOKENS)
    call = whole("openai-chat", cut)["choices"][0]["message"]["tool_calls"][0]
    assert call["function"]["arguments"] == '{"city":"Sã'
    item = whole("openai-responses", cut)["output"][0]
    assert (item["status"], item["arguments"]) == ("incomplete", '{"city":"Sã')
    assert whole("anthropic-messages", cut)["content"][0]["input"] == {}
    found = events("anthropic-messages", cut)
    assert joined(found, lambda one: one.get("delta", {}).get("partial_json")) == '{"city":"Sã'


@pytest.mark.parametrize("transport", ["openai-chat", "openai-responses", "xml-fallback"])
def test_only_anthropic_pauses(transport: str) -> None:
    with pytest.raises(UnencodableTurn, match="pause"):
        codec(transport).response(turn(Text("x"), stop=StopReason.PAUSE), model="m", n=1)
    assert whole("anthropic-messages", turn(Text("x"), stop=StopReason.PAUSE))["stop_reason"] == "pause_turn"


def _refused(constant: str) -> None:
    raise ValueError(constant)


@pytest.mark.parametrize(
    "raw",
    [
        *("", "no JSON", '{"a": ', "[1]", "1", "[" * 100_000),
        *('{"a": NaN}', '{"a": [-Infinity]}', '{"a": 1e999}', '{"a": 1, "a": 2}'),
    ],
    ids=range(10),
)
def test_a_whole_anthropic_answer_holds_an_empty_object_where_the_model_wrote_none(raw: str) -> None:
    body = codec("anthropic-messages").response(turn(ToolCall("a", "f", raw)), model="m", n=3)
    answer = json.loads(body, parse_constant=_refused)
    assert answer["content"][0]["input"] == {}


@pytest.mark.parametrize("transport", [*NATIVE, "xml-fallback"])
def test_equal_turns_give_equal_bytes_and_names_of_their_own(transport: str) -> None:
    wire = codec(transport)
    assert wire.response(CALLS, model="m", n=3) == wire.response(CALLS, model="m", n=3)
    assert wire.response(CALLS, model="m", n=3) != wire.response(CALLS, model="m", n=4)
    assert b"resp-mine" in wire.response(replace(CALLS, response_id="resp-mine"), model="m", n=3)


@pytest.mark.parametrize("transport", [*NATIVE, "xml-fallback"])
def test_lone_surrogates_become_the_replacement_character(transport: str) -> None:
    assert "�".encode() in codec(transport).response(turn(Text("a\ud800")), model="m", n=1)


def test_errors_have_each_providers_body() -> None:
    told: dict[str, Any] = {"error_type": "invalid_request_error", "message": "M", "code": "C", "n": 7}
    assert json.loads(codec("openai-chat").error(400, **told, param="p")) == {
        "error": {"message": "M", "type": "invalid_request_error", "param": "p", "code": "C"}
    }
    body = json.loads(codec("anthropic-messages").error(400, **told))
    assert body["error"] == {"type": "invalid_request_error", "message": "M", "details": {"error_code": "C"}}
    assert body["request_id"] == codec("anthropic-messages").headers(7)["request-id"]


def test_errors_inside_a_stream_have_each_providers_event() -> None:
    told: Any = {"error_type": "overloaded_error", "message": "M"}
    assert codec("anthropic-messages").error_event(**told).startswith(b'event: error\ndata: {"type":"error","error":')
    assert codec("openai-chat").error_event(**told).startswith(b'data: {"error":')
    assert b'"sequence_number":4' in codec("openai-responses").error_event(**told, sequence=4)


def test_an_unknown_transport_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="openai-chat"):
        codec("smoke-signals")
    assert CODEC_IDS == ("openai-responses", "openai-chat", "anthropic-messages", "xml-fallback")
