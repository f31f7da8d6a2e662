"""The XML fallback adapter: tools as text over the OpenAI Chat wire. Source: wire facts 2.4, loop.synthesis.xml."""

from collections.abc import Mapping

from harness.transports.adapter import StreamParser
from harness.transports.errors import fault_of_response
from harness.transports.reader import SseReader, read_whole
from harness.transports.results import calls_in
from harness.transports.xml_fallback_parse import XmlTurn
from harness.transports.xml_fallback_render import ID, render
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.turn import ModelFault, ModelTurn


class XmlFallback:
    """`Adapter` of POST /chat/completions with tools as text. Call ids are made here: `x1`, `x2` … counting the calls
    in the request's history and going on with the turn's."""

    id = ID
    path = "/chat/completions"

    def render(self, request: ModelRequest, *, stream: bool) -> bytes:
        """See `Adapter.render`."""
        return render(request, stream=stream)

    def parse_response(self, body: bytes, request: ModelRequest) -> ModelTurn:
        """See `Adapter.parse_response`."""
        return read_whole(_turn(request), body)

    def stream_parser(self, request: ModelRequest) -> StreamParser:
        """See `Adapter.stream_parser`."""
        return SseReader(_turn(request))

    def parse_error(self, status: int, headers: Mapping[str, str], body: bytes) -> ModelFault:
        """See `Adapter.parse_error`."""
        return fault_of_response(status, headers, body)


def _turn(request: ModelRequest) -> XmlTurn:
    return XmlTurn(len(calls_in(request.items, request.paused)) + 1)
