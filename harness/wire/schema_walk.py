"""Walks over a JSON Schema that several wires need. What is no schema is passed over. It knows no provider."""

from collections.abc import Iterator
from typing import Any

from harness.vocabulary.content import JsonObject, JsonValue

_NAMED = ("properties", "$defs", "definitions", "patternProperties")
_LISTED = ("anyOf", "allOf", "oneOf", "prefixItems")
_SINGLE = ("items", "not", "if", "then", "else", "contains")


def children(schema: JsonObject) -> Iterator[tuple[tuple[str, ...], JsonValue]]:
    """The schemas directly inside a schema, each with the steps that lead to it."""
    for key in _NAMED:
        inside = schema.get(key)
        if isinstance(inside, dict):
            yield from (((key, name), child) for name, child in inside.items())
    for key in _SINGLE:
        if key in schema:
            yield (key,), schema[key]
    for key in _LISTED:
        inside = schema.get(key)
        if isinstance(inside, list):
            yield from (((key, str(i)), child) for i, child in enumerate(inside))


def subschemas(schema: JsonValue) -> Iterator[JsonValue]:
    """A schema and all schemas inside it. References are not followed."""
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict | bool):
            yield one
        if isinstance(one, dict):
            waiting.extend(child for _, child in children(one))


def unions(schema: JsonValue) -> int:
    """How many of its schemas are unions: several types, or anyOf."""
    found = (one for one in subschemas(schema) if isinstance(one, dict))
    return sum(isinstance(one.get("type"), list) or isinstance(one.get("anyOf"), list) for one in found)


def circle(schema: JsonObject) -> list[str]:
    """The names of definitions that refer to each other in a circle, the first again as the last; [] if none do."""
    definitions: dict[str, Any] = {}
    for key in ("$defs", "definitions"):
        inside = schema.get(key)
        definitions |= inside if isinstance(inside, dict) else {}
    links = {name: _references(one) for name, one in definitions.items()} | {"#": _references(schema)}
    for start in links:
        way = _way_back(start, links)
        if way:
            return way
    return []


def _references(schema: JsonValue) -> list[str]:
    found = (one.get("$ref") for one in subschemas(schema) if isinstance(one, dict))
    return [one.rpartition("/")[2] or "#" for one in found if isinstance(one, str) and one.startswith("#")]


def _way_back(start: str, links: dict[str, list[str]]) -> list[str]:
    """A shortest way from a definition back to itself."""
    ways, seen = [[start]], set[str]()
    while ways:
        way = ways.pop(0)
        for name in links.get(way[-1], ()):
            if name == start:
                return [*way, name]
            if name in links and name not in seen:
                seen.add(name)
                ways.append([*way, name])
    return []
