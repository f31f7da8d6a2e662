"""Reading JSON whose shape is not to be trusted: each reader names the place (a JSON Pointer) that is wrong.

It knows no provider. `expect_*` readers raise UndecodableRequest; the tolerant ones at the end are for the oracle,
which looks for breaches of rules and leaves wrong shapes to the decoder.
"""

import json
from collections.abc import Iterator
from typing import Any, NoReturn, TypeAlias

from harness.vocabulary.content import JsonObject, JsonValue
from harness.wire.codec import UndecodableRequest

Placed: TypeAlias = tuple[str, dict[str, Any]]
"""An object and its pointer."""
_NAMES: tuple[tuple[type, str], ...] = (
    (bool, "a boolean"),
    (str, "a string"),
    (int, "an integer"),
    (float, "a number"),
    (list, "an array"),
    (dict, "an object"),
)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def parse_body(body: bytes) -> dict[str, Any]:
    """The body as a JSON object (NaN and infinities are not JSON)."""
    try:
        payload = json.loads(body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise UndecodableRequest("", f"the body is not JSON: {error}", "syntax") from None
    if not isinstance(payload, dict):
        raise UndecodableRequest("", f"expected an object, but got {kind_of(payload)} instead")
    return payload


def kind_of(value: JsonValue) -> str:
    """A JSON value's type in words."""
    if value is None:
        return "null"
    return next((name for kind, name in _NAMES if isinstance(value, kind)), type(value).__name__)


def at(pointer: str, *steps: str | int) -> str:
    """A JSON Pointer, some steps deeper. Steps are places and keys of the protocols, which need no escape."""
    for step in steps:
        pointer = f"{pointer}/{step}"
    return pointer


def top(key: str) -> str:
    """The JSON Pointer of a top-level key that a client chose."""
    return "/" + key.replace("~", "~0").replace("/", "~1")


def wrong(pointer: str, expected: str, value: JsonValue) -> UndecodableRequest:
    """The error for a value of a wrong type."""
    return UndecodableRequest(pointer, f"expected {expected}, but got {kind_of(value)} instead")


def expect_object(value: JsonValue, pointer: str) -> dict[str, Any]:
    """`value`, which must be an object."""
    if isinstance(value, dict):
        return value
    raise wrong(pointer, "an object", value)


def expect_array(value: JsonValue, pointer: str) -> list[Any]:
    """`value`, which must be an array."""
    if isinstance(value, list):
        return value
    raise wrong(pointer, "an array", value)


def expect_text(source: JsonObject, key: str, pointer: str) -> str:
    """A string that must be there."""
    if key not in source:
        raise UndecodableRequest(at(pointer, key), "it is required", "missing")
    value = source[key]
    if isinstance(value, str):
        return value
    raise wrong(at(pointer, key), "a string", value)


def optional_text(source: JsonObject, key: str, pointer: str) -> str | None:
    """A string, or None where it is left out or null."""
    value = source.get(key)
    if value is None or isinstance(value, str):
        return value
    raise wrong(at(pointer, key), "a string", value)


def optional_int(source: JsonObject, key: str, pointer: str) -> int | None:
    """An integer, or None where it is left out or null."""
    value = source.get(key)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise wrong(at(pointer, key), "an integer", value)


def optional_object(source: JsonObject, key: str, pointer: str) -> dict[str, Any]:
    """An object, {} where it is left out or null."""
    value = source.get(key)
    return {} if value is None else expect_object(value, at(pointer, key))


def flag(source: JsonObject, key: str, pointer: str) -> bool:
    """A boolean, False where it is left out or null."""
    value = source.get(key)
    if value is None or isinstance(value, bool):
        return bool(value)
    raise wrong(at(pointer, key), "a boolean", value)


def each_object(source: JsonObject, key: str, pointer: str, *, required: bool = False) -> list[Placed]:
    """The objects of an array, each with its pointer."""
    if required and key not in source:
        raise UndecodableRequest(at(pointer, key), "it is required", "missing")
    value = source.get(key)
    if value is None and not required:
        return []
    place = at(pointer, key)
    return [(at(place, i), expect_object(one, at(place, i))) for i, one in enumerate(expect_array(value, place))]


def objects(value: JsonValue) -> Iterator[tuple[int, dict[str, Any]]]:
    """Tolerant: the objects of an array with their places; nothing where there is no array."""
    if isinstance(value, list):
        yield from ((i, one) for i, one in enumerate(value) if isinstance(one, dict))


def text_or(value: JsonValue, default: str = "") -> str:
    """Tolerant: a string, else `default`."""
    return value if isinstance(value, str) else default
