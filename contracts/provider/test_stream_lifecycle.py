"""A stream lives by its wire's rules in both directions: what providers were recorded to send, and what ours sends.

That each rule bites is shown in `test_stream_breaches`.
"""

import json
import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.contract.sample_requests import ORDINARY
from harness.contract.sample_turns import TURNS
from harness.contract.strategies import cuts, turns
from harness.data_root import data_root
from harness.provider.replies import TurnReply
from harness.provider.simulated import SimulatedProvider
from harness.recording.captures import read_captures
from harness.recording.exchange import Exchange
from harness.scenario.load import load_all
from harness.scenario.turns import prepared
from harness.transports.registry import adapter
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.turn import ModelTurn
from harness.wire.anthropic_messages import lifecycle as messages
from harness.wire.codec import UnencodableTurn
from harness.wire.lifecycle import stream_rules, validate
from harness.wire.openai_chat import lifecycle as chat
from harness.wire.openai_responses import lifecycle_rules as responses
from harness.wire.registry import CODEC_IDS, codec
from harness.wire.sse import Sent, framed
from harness.wire.stream_rules import Breach, Table

CORPUS = data_root().resolve().parent / "shared" / "corpus" / "open"
SCENARIOS = data_root() / "scenarios"
EXPLAINED = {
    "32566843-328dff6d-01": "a name was replaced after recording, but not in the deltas, which cut it in two",
    "7c923fe4-d9328bc7-07": "the same replacement",
    "5f06e107-de64df93-00": "a fixture whose deltas were shortened by hand",
}
"""Recorded streams that are not as they were sent, and the one rule that shows it."""
transports = pytest.mark.parametrize("transport", CODEC_IDS)


@cache
def recorded() -> tuple[Exchange, ...]:
    found = read_captures([CORPUS]).exchanges
    return tuple(one for one in found if one.status == 200 and one.response is not None and one.response.kind == "sse")


def stream(transport: str, turn: ModelTurn, payload: Mapping[str, Any] | None = None) -> list[bytes]:
    return codec(transport).stream(turn, model="m", n=3, payload=payload)


@pytest.mark.skipif(not CORPUS.is_dir(), reason="no recordings at ../shared/corpus/open")
def test_every_recorded_stream_keeps_the_rules_or_is_explained() -> None:
    broken: dict[str, set[str]] = {}
    for one in recorded():
        assert one.response is not None
        found = validate(one.transport, one.response.data, native="compat" not in one.tags)
        if found:
            broken[one.id] = {finding.rule for finding in found}
    assert broken == {name: {"wire.openai-responses.stream-deltas-done"} for name in EXPLAINED}
    assert len(recorded()) >= 290


@pytest.mark.skipif(not CORPUS.is_dir(), reason="no recordings at ../shared/corpus/open")
def test_a_rule_of_the_provider_alone_is_one_that_a_compatible_server_breaks() -> None:
    """A row is `native` where a recording shows the need, or where the document speaks of one provider's framing."""
    broken = {
        finding.rule
        for one in recorded()
        if one.response is not None and "compat" in one.tags
        for finding in validate(one.transport, one.response.data)
    }
    native = {rule.id for rule in stream_rules().values() if rule.native and rule.transport != "xml-fallback"}
    framing_of_one = {f"wire.anthropic-messages.stream-{slug}" for slug in ("name", "no-done-mark")}
    assert broken <= native
    assert native - broken <= framing_of_one


def scripted(transport: str) -> Iterator[tuple[str, ModelTurn]]:
    for path, scenario in load_all([SCENARIOS]).items():
        for n, turn in enumerate(prepared(scenario, transport)):
            yield f"{path.stem}[{n}]", turn.play(1, 1)


@transports
def test_the_stream_of_every_scripted_turn_keeps_the_rules(transport: str) -> None:
    judged, broken = 0, []
    for name, turn in [*scripted(transport), *TURNS.items()]:
        try:
            sent = stream(transport, turn)
        except UnencodableTurn:
            continue
        judged += 1
        broken += [(name, finding) for finding in validate(transport, sent)]
    assert broken == []
    assert judged >= 400


@transports
@given(data=st.data(), asked=st.sampled_from([None, {}, {"stream_options": {"include_usage": True}}]))
def test_the_stream_of_any_turn_keeps_the_rules(transport: str, data: st.DataObject, asked: Any) -> None:
    body = b"".join(stream(transport, data.draw(turns(transport)), asked))
    assert validate(transport, body) == []
    assert validate(transport, data.draw(cuts(body))) == []


class _Says:
    """A script of one turn."""

    def __init__(self, turn: ModelTurn) -> None:
        self._turn = turn

    def reply(self, n: int, request: ModelRequest) -> TurnReply:
        return TurnReply(self._turn)


@transports
@pytest.mark.parametrize("name", TURNS)
def test_the_simulated_provider_answers_by_the_rules(transport: str, name: str) -> None:
    provider = SimulatedProvider(transport, _Says(TURNS[name]), lambda record: None, lambda: 0.0)
    body = adapter(transport).render(ORDINARY, stream=True)
    answer = provider.answer("POST", provider.codec.path, {}, body)
    unencodable = any(isinstance(fault, UnencodableTurn) for fault in provider.faults)
    assert unencodable or (answer.status == 200 and validate(transport, answer.chunks) == [])


@transports
def test_a_stream_that_is_cut_is_found_at_its_end(transport: str) -> None:
    sent = stream(transport, TURNS["text-and-calls"])
    last = -1 if transport in ("openai-chat", "xml-fallback") else 0
    for n in range(len(sent) + last):
        found = validate(transport, sent[:n])
        assert found and {one.event for one in found} == {n + 1}
    body = b"".join(sent)
    assert f"wire.{transport}.stream-whole-events" in {one.rule for one in validate(transport, body[:-1])}


@transports
def test_an_error_may_end_a_stream_that_has_begun(transport: str) -> None:
    sent = stream(transport, TURNS["text"])
    for n in range(1, len(sent) - 2):
        fault = codec(transport).error_event(error_type="server_error", message="no", sequence=n)
        assert validate(transport, [*sent[:n], fault]) == []
        assert validate(transport, [*sent[:n], fault, sent[n]]) != []


UNKNOWN = {
    "anthropic-messages": b'event: new_event\ndata: {"type":"new_event","index":9}\n\n',
    "openai-responses": b'event: response.new.x\ndata: {"type":"response.new.x","output_index":9}\n\n',
}


@transports
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_comments_pings_and_line_ends_are_no_breach(transport: str, end: str) -> None:
    ping = b'event: ping\ndata: {"type": "ping"}\n\n' if transport == "anthropic-messages" else b": ping\n\n"
    *sent, last = stream(transport, TURNS["text-and-calls"])
    body = b"".join(b": note\nretry: 5\nid: 1\n" + event + ping for event in sent) + last
    assert validate(transport, b"\xef\xbb\xbf" + body.replace(b"\n", end.encode())) == []


@pytest.mark.parametrize("transport", ["anthropic-messages", "openai-responses"])
def test_unknown_events_are_passed_over(transport: str) -> None:
    sent = stream(transport, TURNS["text-and-calls"])
    for n in range(1, len(sent)):
        found = validate(transport, [*sent[:n], UNKNOWN[transport], *sent[n:]])
        assert {one.rule for one in found} <= {"wire.openai-responses.stream-sequence"}


@transports
def test_bytes_chunks_and_framed_events_are_judged_alike(transport: str) -> None:
    sent = stream(transport, TURNS["text-and-calls"])
    body = b"".join([*sent[:2], *sent[3:]])
    found = validate(transport, body)
    assert found == validate(transport, [body[i : i + 1] for i in range(len(body))])
    assert found == validate(transport, framed(body).events)
    assert framed(b": c\nevent: a\rdata: 1\r\ndata:2\n\n").events == (Sent("a", "1\n2"),)


TABLES: dict[str, Table] = {
    "messages": messages.MESSAGE,
    "chat stream": chat.STREAM,
    "chat choice": chat.CHOICE,
    "response": responses.RESPONSE,
    "item": responses.ITEM,
    "part": responses.PART,
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_a_cell_for_every_state_and_event(name: str) -> None:
    table = TABLES[name]
    kinds = {kind for row in table.values() for kind in row}
    assert all(set(row) == kinds for row in table.values())
    cells = [cell for row in table.values() for cell in row.values()]
    assert {cell.then if isinstance(cell, Breach) else cell for cell in cells} <= set(table)


def test_rows_say_what_they_demand_and_where_it_is_written() -> None:
    rules = stream_rules()
    assert all(rule.id == name and rule.statement.endswith(".") and rule.source for name, rule in rules.items())
    assert {rule.transport for rule in rules.values()} == set(CODEC_IDS)
    recorded_rules = [rule.recorded for rule in rules.values() if rule.recorded is not None]
    assert all(re.search(r"\b20(24|25|26)\b", said) for said in recorded_rules)


def test_an_unknown_wire_is_named() -> None:
    with pytest.raises(ValueError, match=r"'telnet'.*openai-responses"):
        validate("telnet", b"")


ODD = st.sampled_from([None, True, -1, 0, 1.5, "", "text", [], [None], {}, {"type": "text"}, [["x"]]])


@transports
@given(changes=st.lists(st.tuples(st.integers(0, 10_000), ODD), max_size=4), junk=st.binary(max_size=30))
def test_nothing_that_a_stream_holds_breaks_the_judge(
    transport: str, changes: list[tuple[int, Any]], junk: bytes
) -> None:
    sent = [json.loads(one.data) for one in framed(b"".join(stream(transport, TURNS["text-and-calls"]))).events[:-1]]
    for place, odd in changes:
        places = list(nodes(sent))
        container, key = places[place % len(places)]
        container[key] = deepcopy(odd)
    body = b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in sent) + junk
    assert validate(transport, body)


def nodes(value: Any) -> Iterator[tuple[Any, Any]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in pairs:
        yield value, key
        yield from nodes(child)
