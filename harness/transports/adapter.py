"""What an adapter of one wire promises. Protocols only; the adapters know nothing of sockets, SDKs or the loop.

Source of the rules: DESIGN.md (the way of one scenario), the stream contract of `vocabulary.stream`.
"""

from collections.abc import Mapping
from typing import Protocol

from harness.vocabulary.request import ModelRequest
from harness.vocabulary.stream import StreamEvent
from harness.vocabulary.turn import ModelFault, ModelTurn


class StreamParser(Protocol):
    """Reads the body of one streamed answer. After its terminal event it returns nothing more, whatever it is fed."""

    def feed(self, chunk: bytes) -> list[StreamEvent]:
        """Events that this chunk completes; chunks may be cut anywhere, inside a UTF-8 character too. Never raises."""
        ...

    def close(self) -> list[StreamEvent]:
        """The body ended cleanly. Without its terminal event that is a `StreamFailed` of kind PROTOCOL."""
        ...

    def broken(self, fault: ModelFault) -> list[StreamEvent]:
        """The transport broke: a `StreamFailed` with this fault, `stream_had_output` added."""
        ...


class Adapter(Protocol):
    """One wire, client side. Stateless: one adapter serves any number of requests at once."""

    @property
    def id(self) -> str:
        """The transport id."""
        ...

    @property
    def path(self) -> str:
        """URL path below the SDK's base URL."""
        ...

    def render(self, request: ModelRequest, *, stream: bool) -> bytes:
        """The payload: compact JSON in UTF-8, equal bytes for equal requests. `ValueError` for a request that JSON
        cannot hold (a NaN in a tool's schema)."""
        ...

    def parse_response(self, body: bytes, request: ModelRequest) -> ModelTurn:
        """The turn of a 2xx answer. Raises only `ModelError` subclasses."""
        ...

    def stream_parser(self, request: ModelRequest) -> StreamParser:
        """A fresh parser for the answer to `request`."""
        ...

    def parse_error(self, status: int, headers: Mapping[str, str], body: bytes) -> ModelFault:
        """The fault of an answer that is not 2xx; `headers` in any case of letters. Never raises."""
        ...
