"""Promises of a provider adapter about what it reads: answers, streams, errors.

Rules: loop.md section 6; the contract of `vocabulary.stream`; wire facts, sections 3 and 4.
"""

from dataclasses import replace

import pytest

from harness.contract.carried_turns import carried_turn
from harness.contract.provider_suite import ProviderSuite
from harness.contract.sample_requests import ORDINARY
from harness.contract.sample_turns import CALLS_BEFORE, TURNS
from harness.contract.wire_facts import OVERLOADED, STATUS_KINDS, TOO_LONG, own_secret
from harness.vocabulary.content import Refusal, Text
from harness.vocabulary.stream import RefusalDelta, StreamEvent, StreamFailed, TextDelta, TurnEnded
from harness.vocabulary.turn import FaultKind, ModelProtocolError, ModelTurn

_TURN = pytest.mark.parametrize("turn", TURNS)
_CHUNKS = pytest.mark.parametrize("size", [1, 7, 100_000])


class ReadingPromises(ProviderSuite):
    """Every stop reason, whole or streamed; never an answer from half a stream, never a secret in a message."""

    @_TURN
    def test_a_plain_answer_is_read(self, turn: str) -> None:
        """Parts, stop reason and usage of an answer, as far as the wire carries them."""
        read = self.make_adapter().parse_response(self._answer(turn), ORDINARY)
        _check_turn(read, carried_turn(TURNS[turn], self.transport, streamed=False, calls_before=CALLS_BEFORE))

    @_CHUNKS
    @_TURN
    def test_a_stream_is_read_however_it_is_cut(self, turn: str, size: int) -> None:
        """The same turn by a stream in chunks of any size, with the stream contract kept."""
        events = self._events(self._stream(turn), size)
        _check_contract(events)
        assert isinstance(events[-1], TurnEnded)
        expected = carried_turn(TURNS[turn], self.transport, streamed=True, calls_before=CALLS_BEFORE)
        _check_turn(events[-1].turn, expected)

    @_TURN
    def test_a_streamed_turn_is_the_plain_one(self, turn: str) -> None:
        """Parts, stop reason, usage and the provider's name for it: streaming changes nothing."""
        plain = self.make_adapter().parse_response(self._answer(turn), ORDINARY)
        end = self._events(self._stream(turn), 100_000)[-1]
        assert isinstance(end, TurnEnded)
        assert end.turn == plain

    def test_a_stream_without_its_terminal_event_is_a_protocol_error(self) -> None:
        """loop.model.terminal-required: wherever the stream ends, it is never an answer."""
        chunks = self.make_codec().stream(TURNS["text-and-calls"], model="sim-model", n=1)
        ends = [self._events(b"".join(chunks[:kept]), 64)[-1] for kept in range(len(chunks))]
        finished = [kept for kept, end in enumerate(ends) if isinstance(end, TurnEnded)]
        assert len(chunks) >= 3
        assert all(kept >= len(chunks) - 2 for kept in finished), "a cut stream passed for an answer"
        faults = [end.fault for end in ends if isinstance(end, StreamFailed)]
        assert {fault.kind for fault in faults} == {FaultKind.PROTOCOL}

    def test_garbage_in_a_stream_is_a_fault_and_no_exception(self) -> None:
        """A parser never raises, whatever it is fed."""
        for body in (b"", b"data: {half\n\n", b"\xff\xfe\x00", b"data: []\n\n", b"event: x\ndata: null\n\n"):
            end = self._events(body, 3)[-1]
            assert isinstance(end, StreamFailed)
            assert end.fault.kind is FaultKind.PROTOCOL

    @pytest.mark.parametrize("body", [b"", b"<html>", b"\xff\xfe\x00", b"[]", b"null", b"{}"])
    def test_garbage_in_place_of_an_answer_is_a_protocol_error(self, body: bytes) -> None:
        """`Adapter.parse_response` raises nothing but the model's own errors."""
        with pytest.raises(ModelProtocolError) as raised:
            self.make_adapter().parse_response(body, ORDINARY)
        assert raised.value.fault.kind is FaultKind.PROTOCOL

    # Errors

    @pytest.mark.parametrize(("status", "kind"), STATUS_KINDS.items())
    def test_each_status_has_its_meaning(self, status: int, kind: FaultKind) -> None:
        """loop.model.transient-only: by status, in this provider's own body."""
        body = self.make_codec().error(status, error_type="some_error", message="It did not work.")
        fault = self.make_adapter().parse_error(status, {}, body)
        assert (fault.kind, fault.status) == (kind, status)
        assert "It did not work." in fault.message

    def test_an_input_that_is_too_long_is_told_from_other_bad_requests(self) -> None:
        """loop.context.overflow: in the provider's own words."""
        message, code = TOO_LONG[self.transport]
        body = self.make_codec().error(400, error_type="invalid_request_error", message=message, code=code)
        assert self.make_adapter().parse_error(400, {}, body).kind is FaultKind.CONTEXT_LENGTH

    def test_an_error_inside_a_stream_ends_it(self) -> None:
        """loop.model.transient-only: its kind is the provider's word for it, and what was seen before is told."""
        wire = self.make_codec()
        chunks = wire.stream(TURNS["cut"], model="sim-model", n=1)
        spoken = next(at for at, chunk in enumerate(chunks) if b'"The' in chunk)
        for before, seen in ((1, False), (spoken + 1, True)):
            failed = wire.error_event(error_type=OVERLOADED[self.transport], message="Try later.", sequence=before)
            end = self._events(b"".join(chunks[:before]) + failed, 7)[-1]
            assert isinstance(end, StreamFailed)
            assert (end.fault.kind, end.fault.stream_had_output) == (FaultKind.TRANSIENT, seen)
            assert "Try later." in end.fault.message

    @pytest.mark.parametrize("header", ["retry-after", "Retry-After"])
    def test_a_wait_that_the_provider_asks_for_is_kept(self, header: str) -> None:
        """loop.model.retry-after: in seconds."""
        body = self.make_codec().error(429, error_type="rate_limit_error", message="Slow down.")
        assert self.make_adapter().parse_error(429, {header: "7"}, body).retry_after == 7.0

    def test_no_secret_gets_into_a_message(self) -> None:
        """Keys in a provider's own words are taken out, and bodies that are no JSON are kept short."""
        secret = own_secret()
        body = self.make_codec().error(401, error_type="authentication_error", message=f"Incorrect API key: {secret}.")
        for given in (body, f"<html>{secret}</html>".encode() * 200):
            fault = self.make_adapter().parse_error(401, {"authorization": f"Bearer {secret}"}, given)
            assert secret not in fault.message
            assert len(fault.message) <= 400

    def test_no_secret_gets_from_a_stream_into_a_message(self) -> None:
        """The same for an error that comes after the headers."""
        told = self.make_codec().error_event(error_type=OVERLOADED[self.transport], message=f"Key {own_secret()}.")
        end = self._events(told, 7)[-1]
        assert isinstance(end, StreamFailed)
        assert "Key" in end.fault.message
        assert own_secret() not in end.fault.message


def _check_turn(turn: ModelTurn, expected: ModelTurn) -> None:
    """The turn, under the name that the provider gave it."""
    assert turn.response_id
    assert turn == replace(expected, response_id=turn.response_id)


def _check_contract(events: list[StreamEvent]) -> None:
    """The contract of `vocabulary.stream`: numbers without a gap, one terminal event, deltas that join to the turn.
    That a text is a refusal, a wire may say only at its end."""
    assert [event.sequence for event in events] == list(range(len(events)))
    ends = [event for event in events if isinstance(event, TurnEnded | StreamFailed)]
    assert ends == events[-1:]
    if isinstance(events[-1], TurnEnded):
        said = "".join(event.text for event in events if isinstance(event, TextDelta | RefusalDelta))
        parts = [part.text for part in events[-1].turn.message.content if isinstance(part, Text | Refusal)]
        assert said == "".join(parts)
