"""Both sides of each wire, written apart from the same rules, understand each other: over generated values, any cut.

What comes back is what went out, but for the losses that `harness.contract.carried_*` writes down.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.contract.carried_requests import carried_request
from harness.contract.carried_turns import carried_turn
from harness.contract.sample_requests import ORDINARY
from harness.contract.strategies import cuts, requests, turns
from harness.transports.registry import TRANSPORT_IDS, adapter
from harness.vocabulary.content import AssistantMessage
from harness.vocabulary.stream import StreamEvent, StreamFailed, TurnEnded
from harness.vocabulary.turn import ModelTurn
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
    request = data.draw(requests(transport))
    decoded = codec(transport).decode(adapter(transport).render(request, stream=stream))
    assert decoded.request == carried_request(request, transport)
    assert decoded.stream is stream


@transports
@given(data=st.data())
def test_a_whole_conversation_is_legal_on_every_wire(transport: str, data: st.DataObject) -> None:
    request = data.draw(requests(transport))
    decoded = codec(transport).decode(adapter(transport).render(request, stream=True))
    assert codec(transport).judge(decoded.payload) == []
    assert schema_errors(transport, decoded.payload) == []


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
