"""Strict function schemas of both OpenAI wires: every object closed, every property required.

Source: recorded 400 answers (`invalid_function_parameters`); the structured-outputs guide. It looks only at what those
name: `additionalProperties` and `required`.
"""

from collections.abc import Iterator
from typing import Any

from harness.vocabulary.content import JsonValue

Context = tuple[str, ...]
_CLOSED = "'additionalProperties' is required to be supplied and to be false."
_REQUIRED = (
    "'required' is required to be supplied and to be an array including every key in properties. Missing '{name}'."
)


def strict_faults(schema: JsonValue, context: Context = ()) -> Iterator[tuple[Context, str]]:
    """What makes a schema unfit for strict mode: the context as the API prints it, and the complaint."""
    if not isinstance(schema, dict):
        return
    kinds = schema.get("type")
    if kinds == "object" or (isinstance(kinds, list) and "object" in kinds):
        if schema.get("additionalProperties") is not False:
            yield context, _CLOSED
        yield from ((context, _REQUIRED.format(name=name)) for name in _not_required(schema))
    for deeper, child in _children(schema):
        yield from strict_faults(child, context + deeper)


def _not_required(schema: dict[str, Any]) -> list[str]:
    properties, required = schema.get("properties"), schema.get("required")
    names = list(properties) if isinstance(properties, dict) else []
    return [name for name in names if not isinstance(required, list) or name not in required]


def _children(schema: dict[str, Any]) -> Iterator[tuple[Context, JsonValue]]:
    for key in ("properties", "$defs", "definitions"):
        if isinstance(schema.get(key), dict):
            yield from (((key, name), child) for name, child in schema[key].items())
    if isinstance(schema.get("items"), dict):
        yield ("items",), schema["items"]
    if isinstance(schema.get("anyOf"), list):
        yield from ((("anyOf", str(i)), child) for i, child in enumerate(schema["anyOf"]))
