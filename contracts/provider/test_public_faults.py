"""Faults of public runtimes that are seen at the wire alone, each as the bytes that led to it. `contracts/cases.toml`
says which case stands here."""

import gzip
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from harness.provider.loopback import LoopbackServer
from harness.provider.replies import Answer
from harness.recording.vcr_config import Origin, recorder
from harness.transports.registry import adapter
from harness.vocabulary.content import Item, Opaque, Text, ToolCall, ToolResult, UserMessage
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.stream import TurnEnded
from harness.vocabulary.turn import ModelTurn, StopReason

ASKED = UserMessage((Text("Go."),))
REQUEST = ModelRequest(model="m", system="", tools=(), items=(ASKED,))
ORIGIN = Origin(origin="simulated", date="2026-12-01")


def sent(transport: str, *items: Item) -> Any:
    """The payload of a request that goes on from these items."""
    return json.loads(adapter(transport).render(replace(REQUEST, items=(ASKED, *items)), stream=False))


def streamed(transport: str, events: Sequence[Mapping[str, Any]]) -> ModelTurn:
    """The turn of a stream, fed one event at a time."""
    parser = adapter(transport).stream_parser(REQUEST)
    found = []
    for event in events:
        found += parser.feed(b"data: " + json.dumps(event).encode() + b"\n\n")
    if transport == "openai-chat":
        found += parser.feed(b"data: [DONE]\n\n")
    last = [*found, *parser.close()][-1]
    assert isinstance(last, TurnEnded), last
    return last.turn


def chunk(*pieces: Mapping[str, Any], finish: str | None = None, usage: int | None = None) -> dict[str, Any]:
    delta = {"tool_calls": list(pieces)} if pieces else {}
    made: dict[str, Any] = {"id": "r", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    return made if usage is None else {**made, "usage": {"prompt_tokens": 25, "completion_tokens": usage}}


def piece(arguments: str, index: int | None = None, call_id: str | None = None, name: str | None = None) -> Any:
    function = {"arguments": arguments, **({} if name is None else {"name": name})}
    known = {"index": index, "id": call_id}
    return {**{key: value for key, value in known.items() if value is not None}, "function": function}


PIECES = {
    "B104 one index for every call": [
        piece('{"t":1}', 0, "a", "add"),
        piece('{"t":2}', 0, "b", "add"),
        piece('{"t":3}', 0, "c", "add"),
    ],
    "B105 one index for two calls": [piece('{"q":"x"}', 0, "a", "s"), piece('{"q":"y"}', 0, "b", "s")],
    "B106 neither index nor id on the later pieces": [
        piece("", None, "a", "m"),
        piece('{"i'),
        piece('d":1}'),
        piece("", None, "b", "n"),
        piece('{"j":2}'),
    ],
    "B107 pieces of two calls in turn": [
        piece("{", 0, "a", "s"),
        piece("{", 1, "b", "s"),
        piece('"x":1}', 0),
        piece('"x":2}', 1),
    ],
    "B109 the first call's arguments after the second call": [
        piece("", 0, "a", "read"),
        piece('{"path":"2"}', 1, "b", "read"),
        piece('{"path":"1"}', 0),
    ],
}
WANTED = {
    "B104": (("a", "add", '{"t":1}'), ("b", "add", '{"t":2}'), ("c", "add", '{"t":3}')),
    "B105": (("a", "s", '{"q":"x"}'), ("b", "s", '{"q":"y"}')),
    "B106": (("a", "m", '{"id":1}'), ("b", "n", '{"j":2}')),
    "B107": (("a", "s", '{"x":1}'), ("b", "s", '{"x":2}')),
    "B109": (("a", "read", '{"path":"1"}'), ("b", "read", '{"path":"2"}')),
}


@pytest.mark.parametrize("name", PIECES)
def test_each_piece_of_arguments_reaches_its_own_call(name: str) -> None:
    turn = streamed("openai-chat", [*map(chunk, PIECES[name]), chunk(finish="tool_calls")])
    assert turn.message.content == tuple(ToolCall(*call) for call in WANTED[name[:4]])


def test_running_totals_on_every_chunk_are_not_added() -> None:
    """B153: a hundred chunks that count from 1 to 100 make 100 tokens, not 5050."""
    start = {"type": "message_start", "message": {"id": "r", "usage": {"input_tokens": 25, "output_tokens": 1}}}
    block: dict[str, Any] = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "x"}}
    ends: list[dict[str, Any]] = [{"type": "content_block_stop", "index": 0}, {"type": "message_stop"}]
    totals = [
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": n}}
        for n in range(1, 101)
    ]
    messages = streamed("anthropic-messages", [start, block, ends[0], *totals, ends[1]])
    chat = streamed("openai-chat", [*(chunk(usage=n) for n in range(1, 100)), chunk(finish="stop", usage=100)])
    for turn in (messages, chat):
        assert (turn.usage.input_tokens, turn.usage.output_tokens) == (25, 100)


def test_words_that_stop_for_a_tool_without_a_call_are_an_answer() -> None:
    """B158, B162: there is nothing to run and nothing to append, so the turn is its words and the run may end."""
    said = {"content": [{"type": "text", "text": "<tool>list</tool>"}], "stop_reason": "tool_use"}
    turn = adapter("anthropic-messages").parse_response(json.dumps(said).encode(), REQUEST)
    assert (turn.message.content, turn.stop) == ((Text("<tool>list</tool>"),), StopReason.END)


def test_calls_without_item_ids_are_two_calls_with_their_own_ids() -> None:
    """B132: the id of an item is optional and is not part of the call's."""
    calls: list[dict[str, Any]] = [
        {"type": "function_call", "id": None, "call_id": f"call_{one}", "name": one, "arguments": "{}"} for one in "ab"
    ]
    answer = {"id": "r", "status": "completed", "output": calls}
    added = [
        {"type": f"response.output_item.{kind}", "output_index": place, "item": call}
        for place, call in enumerate(calls)
        for kind in ("added", "done")
    ]
    plain = adapter("openai-responses").parse_response(json.dumps(answer).encode(), REQUEST)
    stream = streamed("openai-responses", [*added, {"type": "response.completed", "response": answer}])
    for turn in (plain, stream):
        assert turn.message.content == (ToolCall("call_a", "a", "{}"), ToolCall("call_b", "b", "{}"))
    results = tuple(
        ToolResult(call_id=call.call_id, tool=call.name, content=(Text("ok"),)) for call in plain.message.calls
    )
    again = json.dumps(sent("openai-responses", plain.message, *results)["input"])
    assert "null" not in again and "undefined" not in again
    assert [again.count(f'"call_{one}"') for one in "ab"] == [2, 2]


def test_sealed_reasoning_of_an_unstored_response_goes_back_sealed() -> None:
    """B183, B184: nothing is stored at the provider, so the request says so and carries the sealed content itself; the
    message beside it has no id that the provider would have to look up."""
    sealed = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
    said = {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]}
    answer = {"id": "r", "status": "completed", "output": [sealed, said]}
    turn = adapter("openai-responses").parse_response(json.dumps(answer).encode(), REQUEST)
    again = sent("openai-responses", turn.message, UserMessage((Text("And now?"),)))
    assert again["store"] is False
    assert again["include"] == ["reasoning.encrypted_content"]
    assert [item for item in again["input"] if item.get("type") == "reasoning"] == [sealed]
    assert "msg_1" not in json.dumps(again)


def test_a_seal_without_a_thought_is_kept() -> None:
    """B178: an empty thought with a signature is not an empty block."""
    block = {"type": "thinking", "thinking": "", "signature": "S"}
    call = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    answer = {"content": [block, call], "stop_reason": "tool_use"}
    turn = adapter("anthropic-messages").parse_response(json.dumps(answer).encode(), REQUEST)
    assert turn.message.content == (Opaque("anthropic-messages", block), ToolCall("a", "f", "{}"))
    result = ToolResult(call_id="a", tool="f", content=(Text("ok"),))
    assert sent("anthropic-messages", turn.message, result)["messages"][1]["content"][0] == block


class Compressed:
    """A provider that answers each request with what it was sent, compressed, in chunks of two bytes."""

    def answer(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        packed = gzip.compress(body)
        pieces = tuple(packed[at : at + 2] for at in range(0, len(packed), 2))
        return Answer(
            status=200, headers={"content-type": "application/json", "content-encoding": "gzip"}, chunks=pieces
        )


def ask(address: str, number: int) -> Any:
    with httpx2.Client(trust_env=False) as client:
        return client.post(address, json={"asked": number}).json()


def test_a_compressed_answer_is_stored_as_it_reads_and_reads_the_same_again(tmp_path: Path) -> None:
    """B230, B231, B232: the body is stored decoded and no header says otherwise."""
    file = tmp_path / "one.yaml"
    with LoopbackServer(Compressed()) as server, recorder(origin=ORIGIN, mode="all").use_cassette(str(file)):
        assert ask(f"{server.url}/v1/chat", 1) == {"asked": 1}
    text = file.read_text(encoding="utf-8")
    assert '{"asked":1}' in text and "content-encoding" not in text
    with recorder().use_cassette(str(file)):
        assert ask(f"{server.url}/v1/chat", 1) == {"asked": 1}


def test_requests_made_at_once_are_all_recorded(tmp_path: Path) -> None:
    """B237: eight requests from eight threads are eight interactions, each with its own answer."""
    file = tmp_path / "one.yaml"
    with LoopbackServer(Compressed()) as server, recorder(origin=ORIGIN, mode="all").use_cassette(str(file)) as kept:
        address = f"{server.url}/v1/chat"
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(lambda number: ask(address, number), range(8))) == [{"asked": n} for n in range(8)]
    assert len(kept) == 8
    bodies = [(json.loads(one.body), json.loads(other["body"]["string"])) for one, other in kept.data]
    assert sorted(one["asked"] for one, _ in bodies) == list(range(8))
    assert all(one == other for one, other in bodies)
