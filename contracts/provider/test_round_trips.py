"""Both sides of each wire, written apart from the same rules, understand each other: over generated values, any cut.

What comes back is what went out, but for the losses that `harness.contract.carried_*` writes down.
"""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.contract.carried_requests import carried_request
from harness.contract.carried_turns import carried_turn
from harness.contract.sample_requests import ORDINARY
from harness.contract.strategies import cuts, turns
from harness.contract.strategies_requests import requests, resumptions
from harness.transports.registry import TRANSPORT_IDS, adapter
from harness.vocabulary.content import AssistantMessage, Item, Refusal, Text
from harness.vocabulary.stream import StreamEvent, StreamFailed, TurnEnded
from harness.vocabulary.turn import ModelTurn
from harness.wire.codec import Circumstances
from harness.wire.registry import codec
from harness.wire.schema import schema_errors

BEFORE = sum(len(item.calls) for item in ORDINARY.items if isinstance(item, AssistantMessage))
transports = pytest.mark.parametrize("transport", TRANSPORT_IDS)


def named(turn: ModelTurn, other: ModelTurn) -> bool:
    """Whether two turns are equal but for the provider's name of them."""
    return (turn.message, turn.stop, turn.usage) == (other.message, other.stop, other.usage)


@transports
@given(data=st.data(), stream=st.booleans())
def test_a_request_is_read_as_it_was_asked(transport: str, data: st.DataObject, stream: bool) -> None:
    request = data.draw(requests(transport) | resumptions(transport))
    decoded = codec(transport).decode(adapter(transport).render(request, stream=stream))
    assert decoded.request == carried_request(request, transport)
    assert decoded.stream is stream


@transports
@given(data=st.data(), stream=st.booleans())
def test_no_judge_finds_fault_with_a_whole_conversation(transport: str, data: st.DataObject, stream: bool) -> None:
    request = data.draw(requests(transport))
    decoded = codec(transport).decode(adapter(transport).render(request, stream=stream))
    assert codec(transport).judge(decoded.payload) == []


@transports
@given(data=st.data(), stream=st.booleans())
def test_a_turn_that_was_paused_is_legal_where_it_goes_on(transport: str, data: st.DataObject, stream: bool) -> None:
    request = data.draw(resumptions(transport))
    decoded = codec(transport).decode(adapter(transport).render(request, stream=stream))
    assert codec(transport).judge(decoded.payload, Circumstances(resuming=True)) == []


@transports
@given(data=st.data(), stream=st.booleans())
def test_a_whole_conversation_is_of_the_types_of_the_sdk(transport: str, data: st.DataObject, stream: bool) -> None:
    request = data.draw(requests(transport))
    if transport == "openai-responses":
        # The provider takes a replayed refusal without an id; its SDK has a type for one with an id only.
        request = replace(request, items=tuple(map(_outspoken, request.items)))
    decoded = codec(transport).decode(adapter(transport).render(request, stream=stream))
    assert schema_errors(transport, decoded.payload) == []


def _outspoken(item: Item) -> Item:
    """The item with each refusal as text."""
    if not isinstance(item, AssistantMessage):
        return item
    return AssistantMessage(tuple(Text(one.text) if isinstance(one, Refusal) else one for one in item.content))


@transports
@given(data=st.data())
def test_a_plain_answer_is_read_as_it_was_given(transport: str, data: st.DataObject) -> None:
    turn = data.draw(turns(transport))
    body = codec(transport).response(turn, model="sim-model", n=1)
    read = adapter(transport).parse_response(body, ORDINARY)
    assert named(read, carried_turn(turn, transport, streamed=False, calls_before=BEFORE))


@transports
@given(data=st.data())
def test_a_stream_is_read_as_it_was_given_however_it_is_cut(transport: str, data: st.DataObject) -> None:
    turn = data.draw(turns(transport))
    body = b"".join(codec(transport).stream(turn, model="sim-model", n=1))
    expected = carried_turn(turn, transport, streamed=True, calls_before=BEFORE)
    for pieces in (data.draw(cuts(body)), [body[i : i + 1] for i in range(len(body))]):
        parser = adapter(transport).stream_parser(ORDINARY)
        events: list[StreamEvent] = [event for piece in pieces for event in parser.feed(piece)] + parser.close()
        assert [event.sequence for event in events] == list(range(len(events)))
        assert [one for one in events if isinstance(one, TurnEnded | StreamFailed)] == events[-1:]
        assert isinstance(events[-1], TurnEnded)
        assert named(events[-1].turn, expected)
