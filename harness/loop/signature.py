"""Signatures of calls and hashes of outcomes: when are two calls, or two outcomes, the same (loop.md section 3).

Canonical JSON: keys sorted by code point, no white space, strings NFC, numbers by decimal value (`1` equals `1.0`,
integers never through float). Duplicate keys, NaN and infinities are not JSON here. Declared volatile parts are cut
out by JSON Pointer before comparing.
"""

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable
from decimal import Decimal
from math import isfinite
from operator import itemgetter
from typing import Any

from harness.vocabulary.tools import ToolDeclaration, ToolOutcome

_PLAIN_DIGITS = 40
"""An integer of more digits is written with an exponent."""


class NotJson(ValueError):
    """Text that is not one JSON value by the rules above."""


def decode_json(text: str) -> Any:
    """The JSON value of `text`; numbers with a fraction or exponent become Decimal. Raises NotJson."""
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        raise NotJson(str(error)) from None


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise NotJson("an object names one key twice")
    return made


def _parse_int(text: str) -> int | Decimal:
    # int() refuses very long digit strings; Decimal keeps their value exactly.
    return int(text) if len(text) < 4000 else Decimal(text)


def _no_constant(name: str) -> Any:
    raise NotJson(f"{name} is not JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique_keys, parse_float=Decimal, parse_int=_parse_int, parse_constant=_no_constant
)


def canonical(value: Any) -> str:
    """One text for all writings of one JSON value."""
    parts: list[str] = []
    _write(value, parts.append)
    return "".join(parts)


_SORTED = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode
_LONG_NUMBER = re.compile(rf"\d{{{_PLAIN_DIGITS + 1}}}")


def _canonical_decoded(value: Any) -> str:
    """`canonical` of a value that holds no float. The standard encoder writes the same text, ten times faster, where
    all of it is ASCII, all numbers are integers of ordinary length, and all keys are strings."""
    try:
        text = _SORTED(value)
    except (TypeError, ValueError, RecursionError):
        return canonical(value)
    return text if text.isascii() and not _LONG_NUMBER.search(text) else canonical(value)


def _write(value: Any, out: Any) -> None:
    if value is None or value is True or value is False:
        out({None: "null", True: "true", False: "false"}[value])
    elif isinstance(value, str):
        out(_quoted(value))
    elif isinstance(value, (int, Decimal, float)):
        out(_number(value))
    elif isinstance(value, (list, tuple)):
        out("[")
        for index, item in enumerate(value):
            if index:
                out(",")
            _write(item, out)
        out("]")
    else:
        _write_object(value, out)


def _write_object(value: dict[str, Any], out: Any) -> None:
    out("{")
    pairs = sorted(((unicodedata.normalize("NFC", key), item) for key, item in value.items()), key=itemgetter(0))
    for index, (key, item) in enumerate(pairs):
        out("," if index else "")
        out(_quoted(key) + ":")
        _write(item, out)
    out("}")


def _quoted(text: str) -> str:
    return json.dumps(unicodedata.normalize("NFC", text), ensure_ascii=False)


def _number(value: int | float | Decimal) -> str:
    if isinstance(value, float) and not isfinite(value):
        raise NotJson(f"{value} is not JSON")
    return _digits(value if isinstance(value, Decimal) else Decimal(str(value)))


def _digits(number: Decimal) -> str:
    """Integers of ordinary length as they are, all others as `digits` or `digitsEexponent` without trailing zeros:
    exact, and short for any exponent."""
    sign, digits, exponent = number.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    trimmed = text.rstrip("0")
    power = int(exponent) + len(text) - len(trimmed)
    if not trimmed:
        return "0"
    plain = power >= 0 and len(trimmed) + power <= _PLAIN_DIGITS
    tail = "0" * power if plain else f"e{power}" if power else ""
    return ("-" if sign else "") + trimmed + tail


def without_parts(value: Any, pointers: Iterable[str]) -> Any:
    """`value` without the parts that the JSON Pointers name; a pointer to nothing is ignored."""
    for pointer in pointers:
        value = _without(value, [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]])
    return value


def _without(value: Any, path: list[str]) -> Any:
    if not path:
        return None
    head, rest = path[0], path[1:]
    if isinstance(value, dict) and head in value:
        if rest:
            return {**value, head: _without(value[head], rest)}
        return {key: item for key, item in value.items() if key != head}
    if isinstance(value, list) and head.isdigit() and int(head) < len(value):
        place = int(head)
        middle = [_without(value[place], rest)] if rest else []
        return [*value[:place], *middle, *value[place + 1 :]]
    return value


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def call_signature(tool: str, arguments: str, volatile: tuple[str, ...] = ()) -> str:
    """Hex digest that is equal for identical calls. Undecodable arguments: the raw text is the signature."""
    try:
        return decoded_signature(tool, decode_json(arguments or "{}"), volatile)
    except (NotJson, RecursionError):
        return _sha256(f"{tool}\0raw:{arguments}")


def decoded_signature(tool: str, arguments: Any, volatile: tuple[str, ...] = ()) -> str:
    """The signature of arguments that are decoded already, their fractions as Decimal."""
    return _sha256(f"{tool}\0{_canonical_decoded(without_parts(arguments, volatile))}")


def outcome_hash(outcome: ToolOutcome, declaration: ToolDeclaration | None) -> str:
    """Hex digest of a whole typed outcome, before any excerpt, without its declared volatile parts."""
    volatile = declaration.volatile_outcome if declaration else ()
    if outcome.data is not None:
        body = _data_text(without_parts(outcome.data, volatile))
    else:
        body = _canonical_decoded([_content_parts(part) for part in outcome.content])
    return _sha256(f"{outcome.outcome}\0{body}")


def _data_text(data: Any) -> str:
    """One text for a structured outcome; what a tool gives that JSON cannot hold is compared as Python writes it."""
    try:
        return canonical(data)
    except (NotJson, TypeError, AttributeError, RecursionError):
        return f"raw:{data!r}"


def _content_parts(part: Any) -> list[str]:
    return [part.text] if hasattr(part, "text") else [part.media_type, part.data]
