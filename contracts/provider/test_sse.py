"""Server-sent events are decoded by the WHATWG rules, whatever the chunking."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.transports.sse import ServerSentEvent, SseDecoder


def decode(*chunks: bytes) -> list[tuple[str, str]]:
    decoder = SseDecoder()
    return [(event.event, event.data) for chunk in chunks for event in decoder.feed(chunk)]


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_each_kind_of_line_end_ends_a_line(end: bytes) -> None:
    body = end.join([b"event: a", b"data: 1", b"", b"data: 2", b"", b""])
    assert decode(body) == [("a", "1"), ("", "2")]


def test_mixed_line_ends_of_one_stream() -> None:
    assert decode(b"data: 1\r\ndata: 2\rdata: 3\n\r\ndata: 4\r\r") == [("", "1\n2\n3"), ("", "4")]


def test_a_carriage_return_and_its_line_feed_in_two_chunks_are_one_line_end() -> None:
    assert decode(b"data: 1\r", b"\ndata: 2\r\n\r", b"\n") == [("", "1\n2")]


def test_an_event_ended_by_carriage_returns_is_dispatched_at_once() -> None:
    assert decode(b"data: 1\r\r") == [("", "1")]


def test_comments_and_unknown_fields_are_passed_over() -> None:
    assert decode(b": ping\n\nid: 7\nretry: 10\nother\ndata: x\n: more\n\n") == [("", "x")]


def test_lines_of_data_are_joined_and_lose_one_leading_space_only() -> None:
    assert decode(b"data:a\ndata:  b\ndata\ndata:c:d\n\n") == [("", "a\n b\n\nc:d")]


def test_an_event_without_data_is_not_dispatched_and_leaves_no_name_behind() -> None:
    assert decode(b"event: a\n\ndata: x\n\n") == [("", "x")]


def test_a_leading_byte_order_mark_is_dropped_also_when_it_is_split() -> None:
    assert decode(b"\xef", b"\xbb\xbfdata: x\n\n") == [("", "x")]
    assert decode(b"data: 1\n\n\xef\xbb\xbfdata: 2\n\n") == [("", "1")]


def test_a_character_split_over_chunks_is_whole() -> None:
    assert decode(b"data: \xf0\x9f", b"\x98", b"\x80\n\n") == [("", "\U0001f600")]


def test_bytes_that_are_no_utf8_become_replacement_characters() -> None:
    assert decode(b"data: a\xffb\n\n") == [("", "a\ufffdb")]


def test_line_separators_of_unicode_end_no_line() -> None:
    assert decode("data: a\u2028b\x0bc\x85d\n\n".encode()) == [("", "a\u2028b\x0bc\x85d")]


@pytest.mark.parametrize("body", [b"data: x", b"data: x\n", b"data: 1\n\ndata: x\n"])
def test_an_event_that_no_empty_line_closes_is_never_dispatched(body: bytes) -> None:
    decoder = SseDecoder()
    assert ServerSentEvent("", "x") not in decoder.feed(body)
    assert decoder.unfinished


def test_nothing_is_unfinished_between_events() -> None:
    decoder = SseDecoder()
    decoder.feed(b"data: 1\n\n")
    assert not decoder.unfinished


LINES = st.sampled_from(
    [b"data: x", b"data:", b"data: \xc3\xa9\xf0\x9f\x98\x80", b"event: e", b": c", b"", b"", b"data", b"\xef\xbb\xbf"]
)


@given(
    pieces=st.lists(st.tuples(LINES, st.sampled_from([b"\n", b"\r", b"\r\n"])), max_size=12),
    cuts=st.lists(st.integers(0, 120), max_size=6),
)
def test_any_chunking_gives_the_events_of_the_whole(pieces: list[tuple[bytes, bytes]], cuts: list[int]) -> None:
    body = b"".join(line + end for line, end in pieces)
    places = sorted({0, len(body), *(cut for cut in cuts if cut < len(body))})
    chunks = [body[start:end] for start, end in pairwise(places)]
    whole = decode(body)
    assert decode(*chunks) == whole
    assert decode(*(body[n : n + 1] for n in range(len(body)))) == whole
