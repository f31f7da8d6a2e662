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


class _NoArguments(ValueError):
    """A number that is none, or an object that names a key twice."""


def _refused(name: str) -> JsonValue:
    raise _NoArguments(name)


def _unique(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _NoArguments("a key stands twice")
    return found


def _finite(digits: str) -> float:
    value = float(digits)
    return value if value not in (float("inf"), float("-inf")) else _refused(digits)


def decoded_arguments(arguments: str) -> dict[str, JsonValue]:
    """The object that raw argument text decodes to; {} where it is empty or decodes to none that JSON can hold."""
    try:
        value = json.loads(arguments or "{}", parse_constant=_refused, parse_float=_finite, object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def is_whole(arguments: str) -> bool:
    """Whether raw argument text is JSON to its end (or nothing at all), whatever it holds."""
    try:
        json.loads(arguments.strip() or "{}")
    except (ValueError, RecursionError):
        return False
    return True
