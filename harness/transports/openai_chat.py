"""The OpenAI Chat Completions adapter: its two halves under one name. Source: wire facts 2.1, 3, 4."""

from collections.abc import Mapping

from harness.transports.adapter import StreamParser
from harness.transports.errors import fault_of_response
from harness.transports.openai_chat_parse import ChatTurn
from harness.transports.openai_chat_render import ID, render
from harness.transports.reader import SseReader, read_whole
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.turn import ModelFault, ModelTurn


class OpenAIChat:
    """`Adapter` of POST /chat/completions."""

    id = ID
    path = "/chat/completions"

    def render(self, request: ModelRequest, *, stream: bool) -> bytes:
        """See `Adapter.render`."""
        return render(request, stream=stream)

    def parse_response(self, body: bytes, request: ModelRequest) -> ModelTurn:
        """See `Adapter.parse_response`."""
        return read_whole(ChatTurn(), body)

    def stream_parser(self, request: ModelRequest) -> StreamParser:
        """See `Adapter.stream_parser`."""
        return SseReader(ChatTurn())

    def parse_error(self, status: int, headers: Mapping[str, str], body: bytes) -> ModelFault:
        """See `Adapter.parse_error`."""
        return fault_of_response(status, headers, body)
