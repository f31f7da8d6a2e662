"""Typed reading of foreign JSON: each helper returns the type it names or raises a protocol error that names the field.

What the providers may leave out reads as empty; what they may not send is their breach, never our exception.
"""

from collections.abc import Mapping
from typing import Any

from harness.transports.errors import protocol_error
from harness.transports.jsontext import BadJson, decode


def json_object(document: str | bytes, what: str) -> Mapping[str, Any]:
    """A JSON object read from the wire; a protocol error names what was expected to be one."""
    try:
        value = decode(document)
    except BadJson as error:
        raise protocol_error(f"{what} is not JSON: {error}") from None
    return as_object(value, what)


def as_object(value: Any, what: str) -> Mapping[str, Any]:
    """The value, if it is a JSON object; else a protocol error."""
    if not isinstance(value, dict):
        raise protocol_error(f"{what} is not a JSON object")
    return value


def as_list(value: Any, what: str) -> list[Any]:
    """The value, if it is a list; None counts as an empty one; else a protocol error."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise protocol_error(f"{what} is not a list")
    return value


def as_text(value: Any, what: str) -> str:
    """The value, if it is a string; None counts as ""; else a protocol error."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise protocol_error(f"{what} is not a string")
    return value


def as_index(value: Any, what: str) -> int:
    """The value, if it is a place in a list; else a protocol error."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise protocol_error(f"{what} is not an index")
    return value


def as_count(value: Any) -> int | None:
    """A token count; anything but a number of tokens counts as not reported."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
