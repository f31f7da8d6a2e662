"""What the promises of a provider adapter stand on: the hooks that a subclass fills, and how payloads and answers are
made from them. The promises themselves are in `provider_sending` and `provider_reading`.
"""

import json
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from harness.contract.carried_turns import stops_of
from harness.contract.payload_text import raw_elements, raw_members
from harness.contract.sample_requests import ORDINARY
from harness.contract.sample_turns import TURNS
from harness.contract.wire_facts import CONVERSATION
from harness.transports.adapter import Adapter
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.stream import StreamEvent
from harness.vocabulary.turn import ModelTurn
from harness.wire.codec import Codec, UnencodableTurn
from harness.wire.registry import codec


class ProviderSuite:
    """The hooks. A subclass must set `transport` and `make_adapter`; the others have a default."""

    transport: ClassVar[str] = ""
    """Id of the wire: one of `harness.transports.registry.TRANSPORT_IDS`."""

    def make_adapter(self) -> Adapter:
        """The adapter under test."""
        raise NotImplementedError(f"{type(self).__name__}: return the adapter under test from make_adapter()")

    def make_codec(self) -> Codec:
        """The wire's judge: decoder, oracle and encoder."""
        return codec(self.transport)

    def rendered(self, request: ModelRequest, *, streaming: bool = False) -> bytes:
        """The bytes that are sent for a request."""
        return self.make_adapter().render(request, stream=streaming)

    def golden_name(self, sample: str, streaming: bool) -> str:
        """Name of a golden payload; to be told apart where two adapters of one wire share a test file."""
        return f"{self.transport}-{'stream' if streaming else 'plain'}-{sample}"

    def _payload(self, request: ModelRequest, *, streaming: bool = False) -> dict[str, Any]:
        made: dict[str, Any] = json.loads(self.rendered(request, streaming=streaming))
        return made

    def _written(self, request: ModelRequest) -> tuple[dict[str, str], list[str]]:
        """Members of the payload but for the conversation, and its messages, all as they were written."""
        members = raw_members(self.rendered(request))
        return members, raw_elements(members.pop(CONVERSATION[self.transport]))

    def _answer(self, turn: str) -> bytes:
        return self._encoded(turn, lambda wire, given: wire.response(given, model="sim-model", n=1))

    def _stream(self, turn: str) -> bytes:
        return self._encoded(turn, lambda wire, given: b"".join(wire.stream(given, model="sim-model", n=1)))

    def _encoded(self, turn: str, encode: Callable[[Codec, ModelTurn], bytes]) -> bytes:
        try:
            return encode(self.make_codec(), TURNS[turn])
        except UnencodableTurn as reason:
            assert TURNS[turn].stop not in stops_of(self.transport), "this wire has that stop reason"
            pytest.skip(f"{self.transport}: {reason}")

    def _events(self, body: bytes, size: int) -> list[StreamEvent]:
        parser = self.make_adapter().stream_parser(ORDINARY)
        events: list[StreamEvent] = []
        for start in range(0, len(body), size):
            events += parser.feed(body[start : start + size])
        return events + parser.close()
