"""HAR files (HTTP Archive 1.2), as browsers and proxies write them, and recorders that keep the same form."""

from collections.abc import Iterator, Mapping
from typing import Any

from harness.recording.bodies import UnreadableBody, header_map, unbase64
from harness.recording.exchange import CaptureError, Found
from harness.recording.recorded import Recorded, exchange_of

_MEND = "export the archive again, with contents"


def is_har(value: Any) -> bool:
    """Whether a parsed file is a HAR."""
    log = value.get("log") if isinstance(value, Mapping) else None
    return isinstance(log, Mapping) and isinstance(log.get("entries"), list)


def read_har(value: Any, file: str, stem: str) -> Iterator[Found]:
    """The exchanges of an archive."""
    for number, entry in enumerate(value["log"]["entries"]):
        place = f"{file}#/log/entries/{number}"
        try:
            recorded = _recorded(entry)
        except (UnreadableBody, ValueError) as error:
            yield CaptureError(place, str(error), _MEND)
            continue
        yield exchange_of(recorded, id=f"{stem}-{number:02d}", place=place, source=file, line=None)


def _recorded(entry: Any) -> Recorded:
    request, response = (_object(entry, key) for key in ("request", "response"))
    if not request:
        raise ValueError("the entry has no `request`")
    headers = header_map(response.get("headers"))
    content = _object(response, "content")
    status = response.get("status")
    return Recorded(
        method=str(request.get("method") or ""),
        url=str(request.get("url") or ""),
        request_headers=header_map(request.get("headers")),
        request=_text(_object(request, "postData")),
        # Status 0 stands for an exchange that was broken off.
        status=status if isinstance(status, int) and not isinstance(status, bool) and status > 0 else None,
        headers={"content-type": str(content.get("mimeType") or ""), **headers},
        response=_text(content),
    )


def _object(value: Any, key: str) -> Mapping[str, Any]:
    inner = value.get(key) if isinstance(value, Mapping) else None
    return inner if isinstance(inner, Mapping) else {}


def _text(content: Mapping[str, Any]) -> bytes | None:
    """A body's text, which may be base64."""
    text = content.get("text")
    if not isinstance(text, str):
        return None
    return unbase64(text) if content.get("encoding") == "base64" else text.encode("utf-8", "surrogatepass")
