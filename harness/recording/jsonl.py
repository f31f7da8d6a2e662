"""JSON Lines captures: one exchange a line, in the form of the recorded corpus that this project tests with.

A line holds `request` (JSON or null) and one of `response` (JSON), `response_sse` (raw text), `response_text`; or, for
a quoted error, `error` and `status`. Everything else is optional: `id`, `transport`, `streaming`, `status`,
`provider_host`, `provider_url_path`, `response_headers`, `source`, `tags`. An answer without a status has the one that
its kind says.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from harness.recording.bodies import body_of, flag, header_map, implied_status, short_strings
from harness.recording.exchange import Body, CaptureError, Exchange, Found, Skipped, compact
from harness.recording.recognise import recognised

_ANSWERS = ("response", "response_sse", "response_text", "error")
_FIELDS = "write `request` and one of `response`, `response_sse`, `response_text`"


def read_lines(text: str, file: str, stem: str) -> Iterator[Found]:
    """The exchanges of a file's lines. Empty lines are nothing."""
    # Only "\n" ends a line here: other separators may stand inside a JSON string.
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield _read_line(line, f"{file}:{number}", f"{stem}-{number}", number)


def _read_line(line: str, place: str, default_id: str, number: int) -> Found:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        return CaptureError(place, f"not JSON: {error}", "write one JSON object a line")
    return read_record(record, place, default_id, number)


def is_record(value: Any) -> bool:
    """Whether a JSON value is one exchange in this form."""
    if not isinstance(value, Mapping):
        return False
    request = value.get("request")
    answered = any(value.get(key) is not None for key in _ANSWERS[:3]) or ("error" in value and "status" in value)
    return answered and (request is None or isinstance(request, Mapping))


def read_record(record: Any, place: str, default_id: str, line: int | None = None) -> Found:
    """One exchange."""
    if not isinstance(record, Mapping):
        return CaptureError(place, "not a JSON object", _FIELDS)
    request = record.get("request")
    if request is not None and not isinstance(request, Mapping):
        return CaptureError(place, "`request` is not a JSON object", "write the request body as JSON, or null")
    try:
        response = _response(record)
        status = _status(record.get("status"), response)
    except ValueError as error:
        return CaptureError(place, str(error), _FIELDS)
    if request is None and response is None:
        return CaptureError(place, "neither a request nor a response", _FIELDS)
    path = str(record.get("provider_url_path") or "")
    transport = recognised(name=record.get("transport"), path=path, request=request, response=response)
    if transport is None:
        return Skipped(place, "the wire is not told by `transport` or `provider_url_path`, nor by the bodies")
    return Exchange(
        id=str(record.get("id") or default_id),
        transport=transport,
        streaming=record.get("streaming") is True or flag(request, "stream"),
        status=status,
        place=place,
        request=None if request is None else compact(request),
        response=response,
        headers=header_map(record.get("response_headers") or {}),
        host=str(record.get("provider_host") or ""),
        path=path,
        source=str(record.get("source") or record.get("reported_in") or ""),
        tags=short_strings(record.get("tags") or ()),
        line=line,
    )


def _status(given: Any, response: Body | None) -> int | None:
    if given is None:
        return None if response is None else implied_status(response)
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    raise ValueError("`status` is not an integer")


def _response(record: Mapping[str, Any]) -> Body | None:
    given = [key for key in _ANSWERS if record.get(key) is not None]
    if len(given) > 1:
        raise ValueError(f"more than one of {', '.join(_ANSWERS)}: {', '.join(given)}")
    if not given:
        return None
    key, value = given[0], record[given[0]]
    if key == "response":
        return Body("json", compact(value))
    if key == "error":
        return Body("json", compact({"error": value}))
    if not isinstance(value, str):
        raise ValueError(f"`{key}` is not a string")
    data = value.encode("utf-8", "replace")
    return Body("sse", data) if key == "response_sse" else body_of(data)
