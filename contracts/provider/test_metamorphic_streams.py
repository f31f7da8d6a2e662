"""What an adapter reads from a stream depends on what the stream says, and on nothing else.

Each relation changes the bytes and leaves the meaning: other chunks, other line ends, pings, comments, unknown events,
another order of members, another spelling of characters, a plain answer in the stream's place.
"""

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.contract.carried_arguments import decoded_object
from harness.contract.sample_requests import ORDINARY
from harness.contract.sample_turns import TURNS
from harness.contract.strategies import cuts, turns
from harness.data_root import data_root
from harness.recording.captures import read_captures
from harness.recording.exchange import Exchange
from harness.transports.registry import TRANSPORT_IDS, adapter
from harness.vocabulary.stream import StreamEvent, TurnEnded
from harness.vocabulary.turn import ModelTurn
from harness.wire.codec import UnencodableTurn
from harness.wire.registry import codec

CORPUS = data_root().resolve().parent / "shared" / "corpus" / "open"
transports = pytest.mark.parametrize("transport", TRANSPORT_IDS)
SMALL = [("text-and-calls", b"\r\n"), ("call", b"\n"), ("refused", b"\r")]
"""Turns whose streams are split at every place, with their line ends: text beyond ASCII and two calls; others."""


@cache
def recorded() -> tuple[Exchange, ...]:
    found = read_captures([CORPUS]).exchanges
    return tuple(one for one in found if one.status == 200 and one.response is not None and one.response.kind == "sse")


def sent(transport: str, turn: ModelTurn) -> list[bytes]:
    return codec(transport).stream(turn, model="m", n=1)


def read(transport: str, *chunks: bytes) -> list[StreamEvent]:
    parser = adapter(transport).stream_parser(ORDINARY)
    return [event for chunk in chunks for event in parser.feed(chunk)] + parser.close()


def turn_of(events: list[StreamEvent]) -> ModelTurn:
    last = events[-1]
    assert isinstance(last, TurnEnded), last
    return last.turn


def remade(events: list[bytes], change: Callable[[Any], str]) -> bytes:
    """The stream with each event's JSON written anew."""
    made = []
    for event in events:
        head, mark, data = event.rstrip(b"\n").partition(b"data: ")
        text = data.decode() if data == b"[DONE]" else change(json.loads(data))
        made.append(head + mark + text.encode() + b"\n\n")
    return b"".join(made)


def backwards(value: Any) -> Any:
    """The same JSON value, each object's members in the opposite order."""
    if isinstance(value, dict):
        return {key: backwards(one) for key, one in reversed(value.items())}
    return [backwards(one) for one in value] if isinstance(value, list) else value


@transports
@pytest.mark.parametrize(("name", "end"), SMALL, ids=["text-and-calls-CRLF", "call-LF", "refused-CR"])
def test_a_split_at_any_place_changes_nothing(transport: str, name: str, end: bytes) -> None:
    """Every event, not only the turn; inside a character, a name, a line end, an escape."""
    whole = b"".join(sent(transport, TURNS[name]))
    body = whole.replace(b"\n", end)
    expected = read(transport, whole)
    assert turn_of(expected).message.content
    for at in range(len(body) + 1):
        assert read(transport, body[:at], body[at:]) == expected, body[max(0, at - 20) : at]
    assert read(transport, *(body[n : n + 1] for n in range(len(body)))) == expected


@transports
@given(data=st.data(), end=st.sampled_from([b"\n", b"\r\n", b"\r"]))
def test_any_turn_is_read_alike_in_any_chunks(transport: str, data: st.DataObject, end: bytes) -> None:
    whole = b"".join(sent(transport, data.draw(turns(transport))))
    body = whole.replace(b"\n", end)
    expected = read(transport, whole)
    assert read(transport, *data.draw(cuts(body))) == expected
    assert read(transport, *(piece for n in range(len(body)) for piece in (body[n : n + 1], b""))) == expected


INSERTIONS: dict[str, bytes] = {
    "a comment": b": keep-alive\n\n",
    "a comment inside": b": keep-alive\n",
    "an empty comment": b":\n\n",
    "other fields": b"id: 7\nretry: 1000\nnew: x\n\n",
    "an event without data": b"event: ping\n\n",
    "an event with empty data": b"event: ping\ndata:\n\n",
    "a blank line": b"\n",
}
PINGS = {
    "anthropic-messages": b'event: ping\ndata: {"type": "ping"}\n\n',
    "openai-responses": b'event: keepalive\ndata: {"type": "keepalive"}\n\n',
}
UNKNOWN = {
    "openai-chat": b'data: {"id": "x", "object": "chat.completion.chunk", "choices": [], "new": {"a": 1}}\n\n',
    "xml-fallback": b'data: {"id": "x", "object": "chat.completion.chunk", "choices": [], "new": {"a": 1}}\n\n',
    "anthropic-messages": b'event: new_event\ndata: {"type": "new_event", "index": 0, "delta": {"text": "x"}}\n\n',
    "openai-responses": b'event: response.new.delta\ndata: {"type": "response.new.delta", "output_index": 0}\n\n',
}


@transports
@given(data=st.data())
def test_pings_comments_and_unknown_events_anywhere_change_nothing(transport: str, data: st.DataObject) -> None:
    events = sent(transport, data.draw(turns(transport)))
    extra = [*INSERTIONS.values(), UNKNOWN[transport], *([PINGS[transport]] if transport in PINGS else [])]
    places = data.draw(st.lists(st.sampled_from(extra), min_size=len(events), max_size=len(events)))
    # Before the first event an unknown one is out of order on the wires that begin with a fixed event.
    body = events[0] + b"".join(one + event for one, event in zip(places, events[1:], strict=False))
    assert read(transport, body) == read(transport, b"".join(events))
    assert read(transport, *data.draw(cuts(body))) == read(transport, b"".join(events))


@transports
@pytest.mark.parametrize("kind", INSERTIONS)
def test_each_insertion_before_every_event_changes_nothing(transport: str, kind: str) -> None:
    events = sent(transport, TURNS["text-and-calls"])
    extra = INSERTIONS[kind]
    assert read(transport, extra + extra.join(events)) == read(transport, b"".join(events))


SPELLINGS: dict[str, Callable[[Any], str]] = {
    "members in the opposite order": lambda value: json.dumps(backwards(value), ensure_ascii=False),
    "members sorted": lambda value: json.dumps(value, ensure_ascii=False, sort_keys=True),
    "every character beyond ASCII escaped": lambda value: json.dumps(value, ensure_ascii=True),
    "white space between": lambda value: json.dumps(value, ensure_ascii=False, separators=(" ,\t", " :  ")),
    "padded": lambda value: json.dumps(value, ensure_ascii=False)[:-1] + "      }",
    "over several data lines": lambda value: json.dumps(value, ensure_ascii=False, indent=1).replace("\n", "\ndata: "),
    "a new member in each object": lambda value: json.dumps({**value, "new": {"type": "x"}}, ensure_ascii=False),
}


@transports
@pytest.mark.parametrize("spelling", SPELLINGS)
@given(data=st.data())
def test_another_spelling_of_each_event_changes_nothing(transport: str, spelling: str, data: st.DataObject) -> None:
    events = sent(transport, data.draw(turns(transport)))
    assert read(transport, remade(events, SPELLINGS[spelling])) == read(transport, b"".join(events))


@transports
def test_a_split_inside_an_event_of_several_lines_changes_nothing(transport: str) -> None:
    """A line end that is cut in two must not end the event: its other lines would be lost."""
    events = sent(transport, TURNS["refused"])
    body = remade(events, SPELLINGS["over several data lines"]).replace(b"\n", b"\r\n")
    expected = read(transport, b"".join(events))
    assert all(read(transport, body[:at], body[at:]) == expected for at in range(len(body)))


@transports
@given(data=st.data())
def test_a_plain_answer_gives_the_turn_of_its_stream(transport: str, data: st.DataObject) -> None:
    """But for arguments that no plain answer of Messages can hold, and which it gives as an empty object."""
    turn = data.draw(turns(transport))
    streamed = turn_of(read(transport, b"".join(sent(transport, turn))))
    plain = adapter(transport).parse_response(codec(transport).response(turn, model="m", n=1), ORDINARY)
    whole = all(call.arguments == "" or decoded_object(call.arguments) is not None for call in turn.message.calls)
    if transport != "anthropic-messages" or whole:
        assert plain == streamed
    assert (plain.stop, plain.usage, plain.response_id) == (streamed.stop, streamed.usage, streamed.response_id)


@transports
@pytest.mark.parametrize("name", TURNS)
def test_the_plain_answer_of_each_sample_turn_is_its_stream(transport: str, name: str) -> None:
    try:
        body = b"".join(sent(transport, TURNS[name]))
    except UnencodableTurn:
        return
    plain = adapter(transport).parse_response(codec(transport).response(TURNS[name], model="m", n=1), ORDINARY)
    assert plain == turn_of(read(transport, body))


@pytest.mark.skipif(not CORPUS.is_dir(), reason="no recordings at ../shared/corpus/open")
@transports
def test_a_recorded_stream_is_read_alike_however_it_is_framed(transport: str) -> None:
    """Real bytes: in chunks of 13 bytes with other line ends, and with a comment and a blank line between events."""
    found = [one for one in recorded() if one.transport == transport and one.response is not None]
    assert found or transport == "xml-fallback"
    for one in found:
        assert one.response is not None
        body = one.response.data.replace(b"\r\n", b"\n")
        other = body.replace(b"\n\n", b"\n\n: comment\n\n\n").replace(b"\n", b"\r\n")
        expected = read(transport, body)
        assert read(transport, *(other[n : n + 13] for n in range(0, len(other), 13))) == expected, one.id


@transports
def test_what_follows_the_end_changes_nothing(transport: str) -> None:
    body = b"".join(sent(transport, TURNS["text-and-calls"]))
    expected = read(transport, body)
    for more in (body, b"data: {", b"\xff\xfe", UNKNOWN[transport]):
        assert read(transport, body + more) == expected == read(transport, body, more)
