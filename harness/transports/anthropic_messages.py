"""The Anthropic Messages adapter: its two halves under one name. Source: wire facts 2.3, 3, 4."""

from collections.abc import Mapping

from harness.transports.adapter import StreamParser
from harness.transports.anthropic_messages_parse import MessagesTurn
from harness.transports.anthropic_messages_render import ID, render
from harness.transports.errors import fault_of_response
from harness.transports.reader import SseReader, read_whole
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.turn import ModelFault, ModelTurn


class AnthropicMessages:
    """`Adapter` of POST /v1/messages."""

    id = ID
    path = "/v1/messages"

    def render(self, request: ModelRequest, *, stream: bool) -> bytes:
        """See `Adapter.render`."""
        return render(request, stream=stream)

    def parse_response(self, body: bytes, request: ModelRequest) -> ModelTurn:
        """See `Adapter.parse_response`."""
        return read_whole(MessagesTurn(), body)

    def stream_parser(self, request: ModelRequest) -> StreamParser:
        """See `Adapter.stream_parser`."""
        return SseReader(MessagesTurn())

    def parse_error(self, status: int, headers: Mapping[str, str], body: bytes) -> ModelFault:
        """See `Adapter.parse_error`."""
        return fault_of_response(status, headers, body)
