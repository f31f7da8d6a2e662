"""Canonical JSON and the signature of a call, written from the rule (design: loop.md section 3) for the judge's use.

Two argument texts are the same call when they decode to the same value: keys in any order, any white space, strings
equal after NFC, numbers equal by decimal value (`1`, `1.0` and `10e-1`; no number passes through a float). Repeated
keys, NaN and infinities do not decode. This module must not know the loop's own signature code.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import TypeAlias

from harness.vocabulary.content import JsonValue

Signature: TypeAlias = tuple[str, str]
"""Tool name, and canonical arguments (or their raw text where they do not decode)."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_NUMBER = re.compile(r"(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?\Z")
_PLAIN_ZEROS = 20
_TELLING = 8
_quoted: Callable[[str], str] = json.encoder.encode_basestring


class Undecodable(ValueError):
    """The text is not one JSON value under the rule; the message says why."""


class Number(str):
    """A JSON number in canonical form: equal text, equal decimal value."""

    __slots__ = ()


def well_formed(text: str) -> str:
    """The text with each lone surrogate replaced by U+FFFD (loop.context.well-formed-text)."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def has_surrogate(text: str) -> bool:
    """Whether a lone surrogate is left in the text."""
    return not text.isascii() and _SURROGATE.search(text) is not None


def decode(text: str) -> JsonValue:
    """The value of an argument text; numbers come as `Number`. "" counts as an object without keys, as it does on
    every wire that needs an object. Raises `Undecodable`."""
    if text == "":
        return {}
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        raise Undecodable(str(error)) from None


def canonical(value: JsonValue) -> str:
    """Canonical text of a decoded value, or of any value that `json.loads` gives. Raises `Undecodable`."""
    if isinstance(value, Number):
        return value
    if isinstance(value, str):
        return _quoted(_composed(value))
    if isinstance(value, dict):
        members = sorted([(_composed(key), member) for key, member in value.items()], key=itemgetter(0))
        return "{" + ",".join([_quoted(key) + ":" + canonical(member) for key, member in members]) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join([canonical(member) for member in value]) + "]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return _number(str(value))


def without(value: JsonValue, pointers: Sequence[str]) -> JsonValue:
    """The value with the parts under these JSON Pointers (RFC 6901) left out; the value itself is not changed. List
    places are those of the whole value. A pointer to nothing removes nothing."""
    return _pruned(value, [_tokens(pointer) for pointer in pointers]) if pointers else value


@lru_cache(maxsize=4_096)
def signature(tool: str, arguments: str, volatile: tuple[str, ...] = ()) -> Signature:
    """What makes two calls identical: the tool, and its arguments without their volatile parts."""
    try:
        return tool, canonical(without(decode(arguments), volatile))
    except (Undecodable, RecursionError):
        return tool, arguments


def same_arguments(one: str, other: str) -> bool:
    """Whether two argument texts mean the same, whatever their spelling."""
    return one == other or signature("", one) == signature("", other)


def telling(text: str) -> bool:
    """Whether a text can be told from an ordinary word, so that finding it elsewhere means that it was quoted."""
    return len(text) >= _TELLING and not text.isalpha()


@lru_cache(maxsize=4_096)
def telling_strings(arguments: str) -> tuple[str, ...]:
    """The strings inside an argument text that can be told from ordinary words (the text itself if undecodable)."""
    try:
        return tuple([leaf for leaf in _leaves(decode(arguments)) if telling(leaf)])
    except (Undecodable, RecursionError):
        return (arguments,) if telling(arguments) else ()


def _leaves(value: JsonValue) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for member in value:
            yield from _leaves(member)
    elif isinstance(value, str) and not isinstance(value, Number):
        yield value


def _object(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    value: dict[str, JsonValue] = {}
    for key, member in pairs:
        key = _composed(key)
        if key in value:
            raise Undecodable(f"the key {key!r} stands twice in one object")
        value[key] = member
    return value


def _number(text: str) -> Number:
    match = _NUMBER.match(text)
    if match is None:
        raise Undecodable(f"{text!r} is not a JSON number")
    sign, whole, fraction, exponent = match.groups(default="")
    digits = (whole + fraction).lstrip("0")
    kept = digits.rstrip("0")
    if not kept:
        return Number("0")
    power = int(exponent or "0") - len(fraction) + len(digits) - len(kept)
    if 0 <= power <= _PLAIN_ZEROS:
        return Number(sign + kept + "0" * power)
    return Number(f"{sign}{kept}e{power}")


def _reject(constant: str) -> JsonValue:
    raise Undecodable(f"{constant} is not JSON")


def _composed(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", well_formed(text))


def _tokens(pointer: str) -> tuple[str, ...]:
    parts = pointer.split("/")[1:]
    return tuple(_composed(part.replace("~1", "/").replace("~0", "~")) for part in parts)


def _pruned(value: JsonValue, paths: list[tuple[str, ...]]) -> JsonValue:
    if not all(paths):
        return None
    dropped = {path[0] for path in paths if len(path) == 1}
    deeper: dict[str, list[tuple[str, ...]]] = {}
    for path in paths:
        if len(path) > 1:
            deeper.setdefault(path[0], []).append(path[1:])
    if isinstance(value, dict):
        kept = {key: member for key, member in value.items() if key not in dropped}
        return {key: _pruned(member, deeper[key]) if key in deeper else member for key, member in kept.items()}
    if isinstance(value, list):
        members = [(str(place), member) for place, member in enumerate(value) if str(place) not in dropped]
        return [_pruned(member, deeper[place]) if place in deeper else member for place, member in members]
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_float=_number, parse_int=_number, parse_constant=_reject)
