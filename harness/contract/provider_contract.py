"""The contract of a provider adapter: what each wire's client side promises, as a class of tests to subclass.

    class TestMyAdapter(ProviderContract):
        transport = "openai-chat"

        def make_adapter(self):
            return MyAdapter()

The adapter is anything with the methods of `harness.transports.adapter.Adapter`. It is judged by the wire's own side
(decoder, oracle, encoder) and by the types of the installed official SDK; none of that shares code with an adapter of
this project. Each test names its promise; the rules behind them are loop.md sections 4 to 6.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from harness.contract.carried_requests import carried_request
from harness.contract.carried_turns import carried_turn
from harness.contract.sample_requests import BUDGET_SYNTHESIS, ORDINARY, SAMPLES, SYNTHESIS, WHOLE_STEPS, earlier
from harness.contract.sample_turns import TURNS
from harness.contract.wire_facts import CONVERSATION, NONE_CHOICE, OTHER_PROVIDER, REASONING, STATUS_KINDS, own_secret
from harness.transports.adapter import Adapter
from harness.vocabulary.content import AssistantMessage, Opaque, Refusal, Text
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.stream import RefusalDelta, StreamEvent, StreamFailed, TextDelta, TurnEnded
from harness.vocabulary.turn import FaultKind, ModelTurn
from harness.wire.codec import Codec, UnencodableTurn
from harness.wire.registry import codec
from harness.wire.schema import schema_errors

_STREAMING = pytest.mark.parametrize("streaming", [True, False], ids=["stream", "plain"])
_SAMPLE = pytest.mark.parametrize("sample", SAMPLES)
_TURN = pytest.mark.parametrize("turn", TURNS)
_CHUNKS = pytest.mark.parametrize("size", [1, 7, 100_000])


class ProviderContract:
    """Subclass it, set `transport` to a wire's id and return an adapter from `make_adapter`."""

    transport: ClassVar[str] = ""

    def make_adapter(self) -> Adapter:
        """The adapter under test."""
        raise NotImplementedError(f"{type(self).__name__}: return the adapter under test from make_adapter()")

    def _wire(self) -> Codec:
        return codec(self.transport)

    def _rendered(self, request: ModelRequest, *, streaming: bool = False) -> bytes:
        return self.make_adapter().render(request, stream=streaming)

    def _payload(self, request: ModelRequest, *, streaming: bool = False) -> dict[str, Any]:
        made: dict[str, Any] = json.loads(self._rendered(request, streaming=streaming))
        return made

    # What is sent

    @_STREAMING
    @_SAMPLE
    def test_the_provider_reads_what_was_asked(self, sample: str, streaming: bool) -> None:
        """The judge's decoder gets back the request, but for what this wire cannot carry."""
        decoded = self._wire().decode(self._rendered(SAMPLES[sample], streaming=streaming))
        assert decoded.request == carried_request(SAMPLES[sample], self.transport)
        assert decoded.stream is streaming

    @_STREAMING
    @_SAMPLE
    def test_the_payload_is_legal(self, sample: str, streaming: bool) -> None:
        """The oracle finds no breach of the provider's rules (wire.legal)."""
        assert self._wire().judge(self._payload(SAMPLES[sample], streaming=streaming)) == []

    @_STREAMING
    @_SAMPLE
    def test_the_payload_is_of_the_sdks_types(self, sample: str, streaming: bool) -> None:
        """The installed official SDK knows every key and every value's type."""
        assert schema_errors(self.transport, self._payload(SAMPLES[sample], streaming=streaming)) == []

    @_STREAMING
    @_SAMPLE
    def test_equal_requests_give_equal_bytes(self, sample: str, streaming: bool) -> None:
        """loop.context.pure."""
        request = SAMPLES[sample]
        assert self._rendered(request, streaming=streaming) == self._rendered(replace(request), streaming=streaming)

    @_STREAMING
    @_SAMPLE
    def test_the_payload_is_the_golden_one(self, sample: str, streaming: bool, snapshot: Any) -> None:
        """The bytes that a reviewer has seen."""
        from harness.contract.golden_files import GoldenPayload

        name = f"{self.transport}-{'stream' if streaming else 'plain'}-{sample}"
        payload = self._rendered(SAMPLES[sample], streaming=streaming)
        assert payload == snapshot(name=name, extension_class=GoldenPayload)

    # Synthesis

    def test_no_tool_choice_is_sent_where_none_is_asked(self) -> None:
        """loop.synthesis.tool-choice: the provider's default holds."""
        assert "tool_choice" not in self._payload(ORDINARY)

    @pytest.mark.parametrize("sample", ["synthesis", "budget-synthesis"])
    def test_synthesis_forbids_calls_in_the_wires_own_way(self, sample: str) -> None:
        """loop.synthesis.tool-choice, loop.synthesis.xml."""
        assert self._payload(SAMPLES[sample]).get("tool_choice") == NONE_CHOICE[self.transport]

    @pytest.mark.parametrize("sample", ["synthesis", "budget-synthesis"])
    def test_nothing_is_forbidden_where_there_are_no_tools(self, sample: str) -> None:
        """A provider answers 400 to a tool choice without tools."""
        toolless = replace(SAMPLES[sample], tools=(), items=SAMPLES[sample].items[:1])
        assert "tool_choice" not in self._payload(toolless)
        assert self._wire().judge(self._payload(toolless)) == []

    @pytest.mark.parametrize("sample", ["synthesis", "budget-synthesis"])
    def test_definitions_and_history_are_intact_in_synthesis(self, sample: str) -> None:
        """loop.synthesis.history-intact: but for the control at its end, the conversation is the ordinary one."""
        ordinary, synthesis = self._payload(ORDINARY), self._payload(SAMPLES[sample])
        if self.transport != "xml-fallback":
            for key in ("tools", "system", "instructions"):
                assert synthesis.get(key) == ordinary.get(key)
        before, after = self._messages(ordinary), self._messages(synthesis)
        assert _extends(after, before, self._shown_prompt())
        assert SAMPLES[sample].control is not None

    @pytest.mark.parametrize("sample", [SYNTHESIS, BUDGET_SYNTHESIS], ids=["repetition", "budget"])
    def test_the_control_is_the_last_thing_said_and_said_once(self, sample: ModelRequest) -> None:
        """loop.synthesis.instruction."""
        assert sample.control is not None
        text = json.dumps(self._messages(self._payload(sample)), ensure_ascii=False)
        mark = sample.control.text.partition("\n")[0]
        assert text.count(mark) == 1
        last = json.dumps(self._messages(self._payload(sample))[-1], ensure_ascii=False)
        assert mark in last
        assert last.rindex(mark) > last.rfind("This call was not run.")

    # The frozen prefix

    @pytest.mark.parametrize("step", range(1, len(WHOLE_STEPS)))
    def test_each_request_extends_the_one_before(self, step: int) -> None:
        """loop.context.prefix-frozen: prompt and tools are byte-identical, the messages only grow."""
        before = self._payload(earlier(ORDINARY, WHOLE_STEPS[step - 1]))
        after = self._payload(earlier(ORDINARY, WHOLE_STEPS[step]))
        for key in ("tools", "system", "instructions"):
            assert json.dumps(after.get(key)) == json.dumps(before.get(key))
        grown = self._messages(after)
        assert [json.dumps(one) for one in grown[: len(self._messages(before))]] == [
            json.dumps(one) for one in self._messages(before)
        ]

    # Reasoning

    def test_reasoning_goes_back_verbatim_to_its_own_provider(self) -> None:
        """loop.model.reasoning-verbatim."""
        payload = REASONING.get(self.transport)
        if payload is None:
            pytest.skip(f"{self.transport} has no reasoning that is replayed")
        assert _holds(self._payload(self._with_reasoning(self.transport, payload)), payload)

    def test_reasoning_goes_to_no_other_provider(self) -> None:
        """loop.model.reasoning-verbatim."""
        other = OTHER_PROVIDER[self.transport]
        marked = self._payload(self._with_reasoning(other, REASONING[other]))
        assert "opaque-7c1e" not in json.dumps(marked)
        assert self._wire().judge(marked) == []

    def _with_reasoning(self, provider: str, payload: Any) -> ModelRequest:
        first = ORDINARY.items[1]
        assert isinstance(first, AssistantMessage)
        turn = AssistantMessage((Opaque(provider, payload), *first.content))
        return replace(ORDINARY, items=(ORDINARY.items[0], turn, *ORDINARY.items[2:]))

    # What is read

    @_TURN
    def test_a_plain_answer_is_read(self, turn: str) -> None:
        """Parts, stop reason and usage of an answer, as far as the wire carries them."""
        body = self._encoded(turn, lambda wire, given: wire.response(given, model="sim-model", n=1))
        expected = carried_turn(TURNS[turn], self.transport, streamed=False, calls_before=3)
        _check_turn(self.make_adapter().parse_response(body, ORDINARY), expected)

    @_CHUNKS
    @_TURN
    def test_a_stream_is_read_however_it_is_cut(self, turn: str, size: int) -> None:
        """The same turn by a stream in chunks of any size, with the stream contract kept."""
        body = self._encoded(turn, lambda wire, given: b"".join(wire.stream(given, model="sim-model", n=1)))
        events = self._events(body, size)
        _check_contract(events)
        assert isinstance(events[-1], TurnEnded)
        expected = carried_turn(TURNS[turn], self.transport, streamed=True, calls_before=3)
        _check_turn(events[-1].turn, expected)

    def test_a_stream_without_its_terminal_event_is_a_protocol_error(self) -> None:
        """loop.model.terminal-required: wherever the stream ends, it is never an answer."""
        chunks = self._wire().stream(TURNS["text-and-calls"], model="sim-model", n=1)
        ends = [self._events(b"".join(chunks[:kept]), 64)[-1] for kept in range(len(chunks))]
        finished = [kept for kept, end in enumerate(ends) if isinstance(end, TurnEnded)]
        assert len(chunks) >= 3
        assert all(kept >= len(chunks) - 2 for kept in finished), "a cut stream passed for an answer"
        faults = [end.fault for end in ends if isinstance(end, StreamFailed)]
        assert {fault.kind for fault in faults} == {FaultKind.PROTOCOL}

    def test_garbage_is_a_fault_and_no_exception(self) -> None:
        """A parser never raises, whatever it is fed."""
        for body in (b"", b"data: {half\n\n", b"\xff\xfe\x00", b"data: []\n\n", b"event: x\ndata: null\n\n"):
            end = self._events(body, 3)[-1]
            assert isinstance(end, StreamFailed)
            assert end.fault.kind is FaultKind.PROTOCOL

    # Errors

    @pytest.mark.parametrize(("status", "kind"), STATUS_KINDS.items())
    def test_each_status_has_its_meaning(self, status: int, kind: FaultKind) -> None:
        """loop.model.transient-only: by status, in this provider's own body."""
        body = self._wire().error(status, error_type="some_error", message="It did not work.")
        fault = self.make_adapter().parse_error(status, {}, body)
        assert (fault.kind, fault.status) == (kind, status)
        assert "It did not work." in fault.message

    @pytest.mark.parametrize("header", ["retry-after", "Retry-After"])
    def test_a_wait_that_the_provider_asks_for_is_kept(self, header: str) -> None:
        """loop.model.retry-after: in seconds."""
        body = self._wire().error(429, error_type="rate_limit_error", message="Slow down.")
        assert self.make_adapter().parse_error(429, {header: "7"}, body).retry_after == 7.0

    def test_no_secret_gets_into_a_message(self) -> None:
        """Keys in a provider's own words are taken out, and bodies that are no JSON are kept short."""
        secret = own_secret()
        body = self._wire().error(401, error_type="authentication_error", message=f"Incorrect API key: {secret}.")
        for given in (body, f"<html>{secret}</html>".encode() * 200):
            fault = self.make_adapter().parse_error(401, {"authorization": f"Bearer {secret}"}, given)
            assert secret not in fault.message
            assert len(fault.message) <= 400

    # Helpers

    def _messages(self, payload: dict[str, Any]) -> list[Any]:
        found: list[Any] = payload[CONVERSATION[self.transport]]
        return found

    def _shown_prompt(self) -> int:
        """How many first messages hold the prompt, which the XML fallback writes anew in synthesis."""
        return 1 if self.transport == "xml-fallback" else 0

    def _encoded(self, turn: str, encode: Callable[[Codec, ModelTurn], bytes]) -> bytes:
        try:
            return encode(self._wire(), TURNS[turn])
        except UnencodableTurn as reason:
            pytest.skip(f"{self.transport}: {reason}")

    def _events(self, body: bytes, size: int) -> list[StreamEvent]:
        parser = self.make_adapter().stream_parser(ORDINARY)
        events: list[StreamEvent] = []
        for start in range(0, len(body), size):
            events += parser.feed(body[start : start + size])
        return events + parser.close()


def _extends(after: list[Any], before: list[Any], skip: int) -> bool:
    """Whether all messages of `before` stand in `after`; the last may have grown by blocks behind its own."""
    same = after[skip : len(before) - 1] == before[skip:-1]
    last, grown = before[-1], after[len(before) - 1]
    if grown == last:
        return same
    content, more = last.get("content"), grown.get("content")
    return same and isinstance(content, list) and isinstance(more, list) and more[: len(content)] == content


def _holds(value: Any, part: Any) -> bool:
    """Whether a part stands somewhere in a JSON value, key for key."""
    if isinstance(value, dict) and isinstance(part, dict) and part.items() <= value.items():
        return True
    inner: Iterator[Any] = iter(value.values() if isinstance(value, dict) else value if isinstance(value, list) else ())
    return value == part or any(_holds(one, part) for one in inner)


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
