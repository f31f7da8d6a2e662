"""The OpenAI Responses adapter: its two halves under one name. Source: wire facts 2.2, 3, 4."""

from collections.abc import Mapping

from harness.transports.adapter import StreamParser
from harness.transports.errors import fault_of_response
from harness.transports.openai_responses_parse import ResponsesTurn
from harness.transports.openai_responses_render import ID, render
from harness.transports.reader import SseReader, read_whole
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.turn import ModelFault, ModelTurn


class OpenAIResponses:
    """`Adapter` of POST /responses."""

    id = ID
    path = "/responses"

    def render(self, request: ModelRequest, *, stream: bool) -> bytes:
        """See `Adapter.render`."""
        return render(request, stream=stream)

    def parse_response(self, body: bytes, request: ModelRequest) -> ModelTurn:
        """See `Adapter.parse_response`."""
        return read_whole(ResponsesTurn(), body)

    def stream_parser(self, request: ModelRequest) -> StreamParser:
        """See `Adapter.stream_parser`."""
        return SseReader(ResponsesTurn())

    def parse_error(self, status: int, headers: Mapping[str, str], body: bytes) -> ModelFault:
        """See `Adapter.parse_error`."""
        return fault_of_response(status, headers, body)
