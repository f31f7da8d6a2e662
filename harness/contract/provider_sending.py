"""Promises of a provider adapter about what it sends. Rules: loop.md sections 4 and 5; wire facts, sections 5 to 7."""

import json
from dataclasses import replace
from typing import Any

import pytest

from harness.contract.carried_requests import carried_request
from harness.contract.payload_text import extends, holds
from harness.contract.provider_suite import ProviderSuite
from harness.contract.sample_requests import ORDINARY, SAMPLES, SYNTHESIS, WHOLE_STEPS, earlier
from harness.contract.wire_facts import NONE_CHOICE, OTHER_PROVIDER, REASONING
from harness.vocabulary.content import AssistantMessage, Opaque
from harness.vocabulary.request import ModelRequest
from harness.wire.schema import schema_errors

_STREAMING = pytest.mark.parametrize("streaming", [True, False], ids=["stream", "plain"])
_SAMPLE = pytest.mark.parametrize("sample", SAMPLES)
_SYNTHESIS = pytest.mark.parametrize("sample", ["synthesis", "budget-synthesis"])


class SendingPromises(ProviderSuite):
    """Payloads: readable, legal, of the SDK's types, pure, and extending one another."""

    @_STREAMING
    @_SAMPLE
    def test_the_provider_reads_what_was_asked(self, sample: str, streaming: bool) -> None:
        """The judge's decoder gets back the request, but for what this wire cannot carry."""
        decoded = self.make_codec().decode(self.rendered(SAMPLES[sample], streaming=streaming))
        assert decoded.request == carried_request(SAMPLES[sample], self.transport)
        assert decoded.stream is streaming

    @_STREAMING
    @_SAMPLE
    def test_the_payload_is_legal(self, sample: str, streaming: bool) -> None:
        """The oracle finds no breach of the provider's rules (wire.legal)."""
        assert self.make_codec().judge(self._payload(SAMPLES[sample], streaming=streaming)) == []

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
        assert self.rendered(request, streaming=streaming) == self.rendered(replace(request), streaming=streaming)

    @_STREAMING
    @_SAMPLE
    def test_the_payload_is_compact_json(self, sample: str, streaming: bool) -> None:
        """`Adapter.render`: no byte of white space, UTF-8 unescaped. So the golden file's value names the bytes."""
        payload = self.rendered(SAMPLES[sample], streaming=streaming)
        assert payload == json.dumps(json.loads(payload), separators=(",", ":"), ensure_ascii=False).encode()

    @_STREAMING
    @_SAMPLE
    def test_the_payload_is_the_golden_one(self, sample: str, streaming: bool, snapshot: Any) -> None:
        """What a reviewer has seen, key for key and in its order."""
        from harness.contract.golden_files import GoldenPayload

        payload = self.rendered(SAMPLES[sample], streaming=streaming)
        assert payload == snapshot(name=self.golden_name(sample, streaming), extension_class=GoldenPayload)

    # Synthesis

    def test_no_tool_choice_is_sent_where_none_is_asked(self) -> None:
        """loop.synthesis.tool-choice: the provider's default holds."""
        assert "tool_choice" not in self._payload(ORDINARY)

    @_SYNTHESIS
    def test_synthesis_forbids_calls_in_the_wires_own_way(self, sample: str) -> None:
        """loop.synthesis.tool-choice, loop.synthesis.xml."""
        assert self._payload(SAMPLES[sample]).get("tool_choice") == NONE_CHOICE[self.transport]

    @_SYNTHESIS
    def test_nothing_is_forbidden_where_there_are_no_tools(self, sample: str) -> None:
        """A provider answers 400 to a tool choice without tools."""
        toolless = replace(SAMPLES[sample], tools=(), items=SAMPLES[sample].items[:1])
        assert "tool_choice" not in self._payload(toolless)
        assert self.make_codec().judge(self._payload(toolless)) == []

    @_SYNTHESIS
    def test_definitions_and_history_are_intact_in_synthesis(self, sample: str) -> None:
        """loop.synthesis.history-intact: byte for byte, only the choice and the control at the end are new. The XML
        fallback writes its prompt anew (loop.synthesis.xml): there the messages behind it are compared."""
        (before, said), (after, says) = self._written(ORDINARY), self._written(SAMPLES[sample])
        prompt = 1 if self.transport == "xml-fallback" else 0
        after.pop("tool_choice", None)
        assert after == before
        assert extends(says[prompt:], said[prompt:])

    @_SYNTHESIS
    def test_the_control_is_the_last_thing_said_and_said_once(self, sample: str) -> None:
        """loop.synthesis.instruction."""
        control = SAMPLES[sample].control
        assert control is not None
        said = self._written(SAMPLES[sample])[1]
        mark = control.text.partition("\n")[0]
        assert [text.count(mark) for text in said] == [0] * (len(said) - 1) + [1]
        assert said[-1].rindex(mark) > said[-1].rfind("This call was not run.")

    # The frozen prefix

    @pytest.mark.parametrize("step", range(1, len(WHOLE_STEPS)))
    def test_each_request_extends_the_one_before(self, step: int) -> None:
        """loop.context.prefix-frozen: all but the messages is byte-identical, and the messages only grow."""
        before, said = self._written(earlier(ORDINARY, WHOLE_STEPS[step - 1]))
        after, says = self._written(earlier(ORDINARY, WHOLE_STEPS[step]))
        assert after == before
        assert says[: len(said)] == said
        assert len(says) > len(said)

    @pytest.mark.parametrize("items", WHOLE_STEPS)
    def test_a_volatile_instruction_stands_behind_the_history(self, items: int) -> None:
        """loop.context.prefix-frozen, loop.synthesis.no-leak: it changes no byte before it, and chooses nothing."""
        request = earlier(ORDINARY, items)
        (before, said), (after, says) = self._written(request), self._written(replace(request, control=_CONTROL))
        assert after == before
        assert extends(says, said)
        assert says != said

    # Reasoning

    def test_reasoning_goes_back_verbatim_to_its_own_provider(self) -> None:
        """loop.model.reasoning-verbatim: in its place, no key more or less."""
        payload = REASONING.get(self.transport)
        if payload is None:
            pytest.skip(f"{self.transport} has no reasoning that is replayed")
        request = _with_reasoning(self.transport, payload)
        sent = self._payload(request)
        assert holds(sent, payload)
        assert self.make_codec().decode(self.rendered(request)).request == carried_request(request, self.transport)
        assert self.make_codec().judge(sent) == []

    def test_reasoning_goes_to_no_other_provider(self) -> None:
        """loop.model.reasoning-verbatim: the rest of the turn goes as if it had none."""
        other = OTHER_PROVIDER[self.transport]
        assert self.rendered(_with_reasoning(other, REASONING[other])) == self.rendered(ORDINARY)


_CONTROL = SYNTHESIS.control


def _with_reasoning(provider: str, payload: Any) -> ModelRequest:
    first = ORDINARY.items[1]
    assert isinstance(first, AssistantMessage)
    turn = AssistantMessage((Opaque(provider, payload), *first.content))
    return replace(ORDINARY, items=(ORDINARY.items[0], turn, *ORDINARY.items[2:]))
