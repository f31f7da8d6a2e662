"""Tool names, arguments and text as any wire carries them, written down once more, from the rules, for comparison.

It shares no code with the adapters or with the judge, since it says what both must come to. Rules:
loop.tools.invalid-arguments, loop.context.well-formed-text.
"""

import hashlib
import json
import string
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

_MAX_DEPTH = 200
_NAME_CHARACTERS = frozenset(string.ascii_letters + string.digits + "_-")
Value = TypeVar("Value")


class _Undecodable(ValueError):
    """No JSON object that a provider takes."""


def decoded_object(raw: str) -> Mapping[str, Any] | None:
    """The object that raw arguments hold, {} for empty text; None where they decode to no object (a key twice, a
    number that is none or out of range, nesting beyond 200)."""
    if raw == "":
        return {}
    try:
        value = json.loads(raw, parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and _depth(value) <= _MAX_DEPTH else None


def _refuse(constant: str) -> Any:
    raise _Undecodable(constant)


def _finite(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise _Undecodable(digits)
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _Undecodable("a key stands twice")
    return found


def _depth(value: Any) -> int:
    level, depth = [value], 0
    while level and depth <= _MAX_DEPTH:
        depth += 1
        inner = [node.values() if isinstance(node, dict) else node for node in level]
        level = [child for children in inner for child in children if isinstance(child, dict | list)]
    return depth


def as_name(name: str, most: int) -> str:
    """The name of a called tool on a wire that takes 1 to `most` letters, digits, `_` and `-`: any other is replaced by
    `invalid_name_` and the first eight hex digits of the SHA-256 of its UTF-8 text."""
    if 0 < len(name) <= most and _NAME_CHARACTERS.issuperset(name):
        return name
    return "invalid_name_" + hashlib.sha256(well_formed(name).encode()).hexdigest()[:8]


def as_text(raw: str) -> str:
    """Arguments on a wire that sends them as text: as they are, `{}` for what is empty or undecodable."""
    return raw if raw and decoded_object(raw) is not None else "{}"


def as_object(raw: str) -> str:
    """Arguments on a wire that sends an object, read back as text: the object dumped anew, compactly."""
    return compact(decoded_object(raw) or {})


def compact(value: Any) -> str:
    """The shortest JSON text, nothing escaped that need not be."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def well_formed(value: Value) -> Value:
    """A value with every text in it well formed: surrogate pairs joined, lone surrogates U+FFFD."""
    cleaned: Any = _cleaned(value)
    result: Value = cleaned
    return result


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, Mapping):
        return {_cleaned(key): _cleaned(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_cleaned(inner) for inner in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{field.name: _cleaned(getattr(value, field.name)) for field in fields(value)})
    return value
