"""Small things that every encoder needs: JSON bytes, event framing, fragments, ids. It knows no provider.

Fragments are cut at code points, so that each delta is well formed by itself. Everything is a function of its
arguments: the same turn always gives the same bytes.
"""

import json

from harness.vocabulary.content import JsonValue

BIRTH = 1_796_000_000
"""Seconds since 1970 of exchange 0: simulated answers are as old as their number."""


def dump(value: JsonValue) -> bytes:
    """Compact JSON, UTF-8, nothing escaped that need not be. Lone surrogates become U+FFFD."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def event(value: JsonValue, name: str | None = None) -> bytes:
    """One server-sent event; unnamed on wires that name none."""
    head = b"" if name is None else b"event: " + name.encode() + b"\n"
    return head + b"data: " + dump(value) + b"\n\n"


def fragments(text: str, pieces: int = 3) -> list[str]:
    """`text` in at most `pieces` parts of nearly equal length; [] if it is empty."""
    size = max(1, -(-len(text) // pieces))
    return [text[i : i + size] for i in range(0, len(text), size)]


def token(prefix: str, n: int, place: int = 0) -> str:
    """An id of a provider's form: `prefix`, then the exchange and the place in it."""
    return f"{prefix}{n:04d}{place:04d}sim"


def decoded_arguments(arguments: str) -> JsonValue:
    """What raw argument text decodes to; {} where it is empty or does not decode."""
    try:
        return json.loads(arguments or "{}")
    except ValueError:
        return {}
