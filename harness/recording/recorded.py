"""One HTTP exchange out of a recorder's file: cassettes and HAR files come together here.

It turns method, URL, headers and bodies into an `Exchange`, or says why they are none. It knows no file format.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from harness.recording.bodies import UnreadableBody, body_of, flag, parsed, unpacked
from harness.recording.exchange import CaptureError, Exchange, Found, Skipped
from harness.recording.recognise import recognised


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What a recorder kept. Header names are in lower case; `transport` is a name that the file gives, if it does."""

    method: str
    url: str
    request_headers: Mapping[str, str]
    request: bytes | None
    status: int | None
    headers: Mapping[str, str]
    response: bytes | None
    transport: str | None = None


def exchange_of(one: Recorded, *, id: str, place: str, source: str, line: int | None) -> Found:
    """The exchange, or why there is none: another method, another URL, a body that cannot be unpacked."""
    if one.method.upper() != "POST":
        return Skipped(place, f"{one.method or 'a request without a method'} is no model request")
    try:
        request = _body(one.request, one.request_headers)
        answer = _body(one.response, one.headers)
    except UnreadableBody as error:
        return CaptureError(place, str(error), "or take the exchange out of the capture")
    response = None if answer is None else body_of(answer, one.headers.get("content-type", ""))
    document = parsed(request)
    try:
        address = urlsplit(one.url)
        host = address.hostname or ""
    except ValueError as error:
        return CaptureError(place, f"the URL {one.url[:200]!r} is none: {error}", "record the exchange anew")
    known = recognised(name=one.transport, path=address.path, request=document, response=response)
    if known is None:
        return Skipped(place, f"{one.url.partition('?')[0]} is no wire that this project knows")
    if request is None and response is None:
        return Skipped(place, "neither request nor response has a body")
    return Exchange(
        id=id,
        transport=known,
        streaming=flag(document, "stream") or (response is not None and response.kind == "sse"),
        status=one.status,
        place=place,
        request=request,
        response=response,
        headers=one.headers,
        host=host,
        path=address.path,
        source=source,
        line=line,
    )


def _body(data: bytes | None, headers: Mapping[str, str]) -> bytes | None:
    return unpacked(data, headers.get("content-encoding", "")) if data else None
