"""JSON as it crosses the wire: strict decoding, compact encoding, well-formed text, tool arguments.

Everything that can go wrong with a foreign document (bad UTF-8, NaN, endless nesting, integers of ten thousand
digits) becomes one exception here. Rules: loop.context.well-formed-text, loop.tools.invalid-arguments.
"""

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

_MAX_DEPTH = 200
"""Deeper documents are refused: they could be read here and not be written again from a deeper call stack."""
_SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class BadJson(ValueError):
    """The text is no JSON document that this project takes; the message says why, without quoting it."""


def _no_constant(name: str) -> Any:
    raise BadJson(f"{name} is no JSON number")


def _finite(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise BadJson("a number out of range")
    return value


def decode(text: str | bytes) -> Any:
    """The value of a JSON document. Raises only `BadJson`."""
    try:
        source = text.decode("utf-8-sig") if isinstance(text, bytes) else text
        value = json.loads(source, parse_constant=_no_constant, parse_float=_finite)
    except BadJson:
        raise
    except RecursionError:
        raise BadJson("JSON nested too deeply") from None
    except UnicodeDecodeError:
        raise BadJson("JSON that is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise BadJson(f"{error.msg} at character {error.pos}") from None
    except ValueError:
        raise BadJson("a number too long to be read") from None
    if not _shallow(value):
        raise BadJson("JSON nested too deeply")
    return value


def _shallow(value: Any) -> bool:
    level = [value]
    for _ in range(_MAX_DEPTH):
        level = [child for node in level for child in _children(node)]
        if not level:
            return True
    return False


def _children(node: Any) -> list[Any]:
    found = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return [child for child in found if isinstance(child, dict | list)]


def compact(value: Any) -> str:
    """The shortest JSON text of a value, UTF-8 unescaped, keys in their order."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def strict_compact(value: Any) -> str:
    """The same for values of our own side; mappings of any class are objects. `ValueError` for what JSON cannot hold
    (NaN, a set, nesting without end)."""
    try:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_plain)
    except RecursionError:
        raise ValueError("nested too deeply: tool parameters and opaque payloads must be flatter") from None


def encode(payload: Mapping[str, Any]) -> bytes:
    """Payload bytes. Lone surrogates become U+FFFD. `ValueError` for what JSON cannot hold."""
    return well_formed(strict_compact(payload)).encode()


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise ValueError(f"{type(value).__name__} is no JSON value: tool parameters and opaque payloads hold JSON only")


def well_formed(text: str) -> str:
    """The text with surrogate pairs joined and lone surrogates replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return _LONE_SURROGATE.sub("\ufffd", _SURROGATE_PAIR.sub(_join_pair, text))
    return text


def _join_pair(pair: re.Match[str]) -> str:
    high, low = (ord(unit) for unit in pair.group())
    return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise BadJson("a key stands twice in one object")
    return found


@lru_cache(maxsize=1024)
def arguments_object(raw: str) -> Mapping[str, Any] | None:
    """The object that raw tool arguments hold; None where they do not decode to one (duplicate keys, NaN and numbers
    out of range count as undecodable). Empty text is an empty object. Never change the result: it is shared."""
    if raw == "":
        return {}
    try:
        value = json.loads(raw, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and _shallow(value) else None


def sendable_arguments(raw: str) -> str:
    """Raw argument text as a provider takes it: the text itself, `{}` for what is empty or undecodable."""
    return raw if raw != "" and arguments_object(raw) is not None else "{}"


def canonical_arguments(raw: str) -> str:
    """Argument text of a wire whose arguments are an object, read from its streamed text: re-dumped compactly, `{}`
    for empty text, and the raw text where it holds no object that anybody could be sure of."""
    value = arguments_object(raw)
    return raw if value is None else compact(value)
