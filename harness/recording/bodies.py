"""Bodies as captures keep them: text, bytes, base64, parsed JSON, compressed or not. It knows no file format.

Compression is told by the header or, since some recorders keep a header whose body they have unpacked, by the bytes
themselves.
"""

import base64
import binascii
import gzip
import json
import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from harness.recording.exchange import Body

_MOST = 256 * 1024 * 1024
"""Bytes of an unpacked body: a small file must not fill the memory."""


class UnreadableBody(ValueError):
    """A body that cannot be had from what was recorded. The text says why."""


def header_map(headers: Any) -> dict[str, str]:
    """Headers by their names in lower case, from any of the forms that recorders write: a mapping to a value or a list
    of values, or a list of name and value pairs."""
    if isinstance(headers, Mapping):
        return {str(name).lower(): _one(value) for name, value in headers.items()}
    pairs = (one for one in headers if isinstance(one, Mapping)) if isinstance(headers, list) else ()
    return {str(one.get("name", "")).lower(): _one(one.get("value")) for one in pairs}


def _one(value: Any) -> str:
    values = value if isinstance(value, list) else [value]
    return ", ".join("" if one is None else str(one) for one in values)


def unbase64(text: str) -> bytes:
    """Decoded base64. Raises UnreadableBody."""
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        raise UnreadableBody("the body is not base64, though it is marked so") from None


def unpacked(data: bytes, encoding: str) -> bytes:
    """The body without its compression. Raises UnreadableBody for one that this Python cannot undo."""
    for name in reversed([part.strip().lower() for part in encoding.split(",") if part.strip()]):
        if name in _PLAIN or _is_plain(data):
            continue
        unpack = _UNPACKERS.get(name)
        if unpack is None:
            raise UnreadableBody(f"the body is compressed by {name!r}: record it without (accept-encoding: identity)")
        try:
            data = unpack(data)
        except (OSError, EOFError, zlib.error):
            raise UnreadableBody(f"the body is marked {name!r} and is not") from None
    return _gunzip(data) if data[:2] == b"\x1f\x8b" else data


_PLAIN = frozenset({"identity", "none", "utf-8", "utf8"})


def _is_plain(data: bytes) -> bool:
    """Whether a body is unpacked already: JSON or an event stream begins with one of these."""
    return data.lstrip()[:1] in (b"{", b"[", b":") or data.lstrip()[:5] in (b"event", b"data:") or not data


def _gunzip(data: bytes) -> bytes:
    return _bounded(zlib.decompressobj(16 + zlib.MAX_WBITS), data)


def _inflate(data: bytes) -> bytes:
    """Deflate with the frame that the standard asks for, or without, as some servers send it."""
    try:
        return _bounded(zlib.decompressobj(), data)
    except zlib.error:
        return _bounded(zlib.decompressobj(-zlib.MAX_WBITS), data)


def _bounded(unpacker: Any, data: bytes) -> bytes:
    found: bytes = unpacker.decompress(data, _MOST)
    if unpacker.unconsumed_tail:
        raise UnreadableBody(f"the body unpacks to more than {_MOST} bytes")
    if not unpacker.eof:
        raise gzip.BadGzipFile("cut off")
    return found


_UNPACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _inflate,
}


def body_of(data: bytes, content_type: str = "") -> Body:
    """A response body with its kind, by what it holds; the content type decides where that is not clear."""
    start = data.lstrip(b"\xef\xbb\xbf \t\r\n")
    if "event-stream" in content_type or start.startswith((b"data:", b"event:", b": ", b":\n", b"id:", b"retry:")):
        return Body("sse", data)
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return Body("text", data)
    return Body("json", data)


def implied_status(body: Body) -> int | None:
    """The status of an answer that was recorded without one, by what it holds: 400 for an error body, else 200; None
    where it is neither JSON nor a stream."""
    if body.kind == "text":
        return None
    return 400 if body.kind == "json" and _is_error(body.json) else 200


def _is_error(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    answers = value.get("output"), value.get("choices"), value.get("content")
    return value.get("type") == "error" or (bool(value.get("error")) and all(one is None for one in answers))


def flag(request: Any, key: str) -> bool:
    """A boolean of a request that may be none."""
    return isinstance(request, Mapping) and request.get(key) is True


def parsed(data: bytes | None) -> Any:
    """JSON of a body; None where it is none."""
    try:
        return None if data is None else json.loads(data)
    except (ValueError, RecursionError):
        return None


def short_strings(values: Iterable[Any]) -> tuple[str, ...]:
    """The strings of a list that should hold only those."""
    return tuple(value for value in values if isinstance(value, str))
