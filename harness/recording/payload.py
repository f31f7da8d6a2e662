"""A file that is one body: a request, an answer, an error body, or an event stream.

The wire is told by the body's shape. Of a lone answer the status is what its kind says: 200 for an answer or a stream,
400 for an error body; a lone request has none.
"""

from collections.abc import Mapping
from typing import Any

from harness.recording.bodies import body_of, flag, implied_status
from harness.recording.exchange import Body, Exchange, Found, Skipped, compact
from harness.recording.recognise import XML, by_request, by_response, is_xml


def read_payload(value: Any, file: str, stem: str, transport: str | None) -> Found:
    """A JSON file as one exchange. `transport` is the wire that the caller names."""
    if not isinstance(value, Mapping):
        return Skipped(file, "JSON, but neither a payload nor a capture of a known form")
    by_shape = by_request(value)
    if by_shape is not None:
        return _request(value, file, stem, transport or (XML if is_xml(value) else by_shape))
    body = Body("json", compact(value))
    return _answer(body, file, stem, transport or by_response(body))


def read_stream(data: bytes, file: str, stem: str, transport: str | None) -> Found:
    """An event stream as one exchange."""
    body = body_of(data)
    if body.kind != "sse":
        return Skipped(file, "no event stream")
    return _answer(body, file, stem, transport or by_response(body))


def _request(value: Mapping[str, Any], file: str, stem: str, transport: str) -> Exchange:
    streaming = flag(value, "stream")
    return Exchange(
        id=stem,
        transport=transport,
        streaming=streaming,
        status=None,
        place=file,
        request=compact(value),
        source=file,
    )


def _answer(body: Body, file: str, stem: str, transport: str | None) -> Found:
    if transport is None:
        return Skipped(file, "a body of no wire that this project knows")
    return Exchange(
        id=stem,
        transport=transport,
        streaming=body.kind == "sse",
        status=implied_status(body),
        place=file,
        response=body,
        source=file,
    )
