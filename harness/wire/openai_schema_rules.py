"""Function and output schemas of both OpenAI wires: arrays have items; a strict schema closes every object, requires
every property and uses no keyword that strict mode does not know.

Source: recorded 400 answers (`invalid_function_parameters`, `invalid_json_schema`); the structured-outputs guide;
public reports. It looks only at what those name.
"""

from collections.abc import Iterator
from typing import Any

from harness.vocabulary.content import JsonValue
from harness.wire.schema_walk import children

Context = tuple[str, ...]
_CLOSED = "'additionalProperties' is required to be supplied and to be false."
_REQUIRED = (
    "'required' is required to be supplied and to be an array including every key in properties. Missing '{name}'."
)
_FOREIGN = ("oneOf", "allOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "patternProperties")


def strict_faults(schema: JsonValue, context: Context = ()) -> Iterator[tuple[Context, str]]:
    """What makes a schema unfit for strict mode: the context as the API prints it, and the complaint."""
    if not isinstance(schema, dict):
        return
    if is_of(schema, "object"):
        if schema.get("additionalProperties") is not False:
            yield context, _CLOSED
        yield from ((context, _REQUIRED.format(name=name)) for name in _not_required(schema))
    for deeper, child in children(schema):
        yield from strict_faults(child, context + deeper)


def foreign_keywords(schema: JsonValue, context: Context = ()) -> Iterator[tuple[Context, str]]:
    """Keywords that strict mode does not know, each with its context."""
    if isinstance(schema, dict):
        yield from ((context, key) for key in _FOREIGN if key in schema)
        for deeper, child in children(schema):
            yield from foreign_keywords(child, context + deeper)


def arrays_without_items(schema: JsonValue, context: Context = ()) -> Iterator[Context]:
    """The contexts of arrays whose members are not described."""
    if isinstance(schema, dict):
        if is_of(schema, "array") and "items" not in schema and "prefixItems" not in schema:
            yield context
        for deeper, child in children(schema):
            yield from arrays_without_items(child, context + deeper)


def is_of(schema: JsonValue, kind: str) -> bool:
    """Whether a schema describes values of this type, perhaps of others too."""
    kinds = schema.get("type") if isinstance(schema, dict) else None
    return kinds == kind or (isinstance(kinds, list) and kind in kinds)


def _not_required(schema: dict[str, Any]) -> list[str]:
    properties, required = schema.get("properties"), schema.get("required")
    names = list(properties) if isinstance(properties, dict) else []
    return [name for name in names if not isinstance(required, list) or name not in required]
