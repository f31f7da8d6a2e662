"""Messages rules of schemas: what an input schema must be, and what strict tools and output formats can be compiled
from.

Of the strict compiler only what is published or recorded is judged: closed objects, no recursion, no bounds, no schema
that is a bare boolean, at most 16 unions.
"""

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from harness.wire.anthropic_messages.view import View
from harness.wire.events import dump
from harness.wire.rules import Hit, Rule
from harness.wire.schema_walk import circle, subschemas, unions

_KEY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_COMBINATORS = ("oneOf", "allOf", "anyOf")
_BOUNDS: dict[str, tuple[str, ...]] = {
    "number": ("exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"),
    "string": ("maxLength", "minLength"),
}
_BOUNDS["integer"] = _BOUNDS["number"]
_MOST_UNIONS = 16
_REPORTS = "public reports of this text"
_RECORDED = "recorded 400 answer of api.anthropic.com"
_STRICT = "documentation of structured outputs; public reports of this text"


def _schemas(view: View) -> Iterator[tuple[int, dict[str, Any]]]:
    for i, tool in view.tools:
        schema = tool.get("input_schema")
        if isinstance(schema, dict):
            yield i, schema


def _untyped(view: View) -> Iterator[Hit]:
    for i, tool in view.tools:
        schema = tool.get("input_schema")
        if isinstance(schema, dict) and "type" not in schema:
            yield Hit(f"/tools/{i}/input_schema", {"i": i})


def _mistyped(view: View) -> Iterator[Hit]:
    for i, tool in view.tools:
        schema = tool.get("input_schema")
        if isinstance(schema, dict) and schema.get("type", "object") != "object":
            yield Hit(f"/tools/{i}/input_schema/type", {"i": i})


def _invalid(view: View) -> Iterator[Hit]:
    for i, schema in _schemas(view):
        if schema.get("type") == "object" and not _is_schema(dump(schema)):
            yield Hit(f"/tools/{i}/input_schema", {"i": i})


@lru_cache(maxsize=256)
def _is_schema(text: bytes) -> bool:
    """Whether a JSON text is a schema of draft 2020-12. Loops ask with the same tools again and again."""
    from jsonschema_rs import meta

    # The draft is set last: a `$schema` out of a capture would be fetched from wherever it points.
    return bool(meta.is_valid(json.loads(text) | {"$schema": "https://json-schema.org/draft/2020-12/schema"}))


def _combined(view: View) -> Iterator[Hit]:
    for i, schema in _schemas(view):
        if any(key in schema for key in _COMBINATORS):
            yield Hit(f"/tools/{i}/input_schema", {"i": i})


def _odd_keys(view: View) -> Iterator[Hit]:
    for i, schema in _schemas(view):
        properties = schema.get("properties")
        if isinstance(properties, dict) and any(not _KEY.fullmatch(key) for key in properties):
            yield Hit(f"/tools/{i}/input_schema/properties", {"i": i})


def _strict(view: View) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Each schema that is compiled: its pointer, its place as the provider writes it, the schema."""
    for i, tool in view.tools:
        if tool.get("strict") is True and isinstance(tool.get("input_schema"), dict):
            yield f"/tools/{i}/input_schema", f"tools.{i}.custom", tool["input_schema"]
    for pointer, place, form in view.formats():
        if isinstance(form.get("schema"), dict):
            yield f"{pointer}/schema", f"{place}.schema", form["schema"]


def _circular(view: View) -> Iterator[Hit]:
    for pointer, place, schema in _strict(view):
        names = circle(schema)
        if names:
            yield Hit(pointer, {"place": place, "circle": " -> ".join(names)})


def _open(view: View) -> Iterator[Hit]:
    for pointer, place, schema in _strict(view):
        objects = (one for one in subschemas(schema) if isinstance(one, dict) and one.get("type") == "object")
        if any(one.get("additionalProperties") is not False for one in objects):
            yield Hit(pointer, {"place": place})


def _bare(view: View) -> Iterator[Hit]:
    for pointer, place, schema in _strict(view):
        if any(isinstance(one, bool) for one in subschemas(schema)):
            yield Hit(pointer, {"place": place})


def _bounded(view: View) -> Iterator[Hit]:
    for pointer, place, schema in _strict(view):
        for one in subschemas(schema):
            kind = one.get("type") if isinstance(one, dict) else None
            found = [key for key in _BOUNDS.get(kind, ()) if key in one] if isinstance(kind, str) else []
            if found:
                words = "properties {} are" if len(found) > 1 else "property '{}' is"
                yield Hit(pointer, {"place": place, "kind": kind, "what": words.format(", ".join(found))})
                break


def _many_unions(view: View) -> Iterator[Hit]:
    found = [(pointer, unions(schema)) for pointer, _, schema in _strict(view)]
    total = sum(number for _, number in found)
    if total > _MOST_UNIONS:
        yield Hit(found[0][0], {"found": total, "most": _MOST_UNIONS})


SCHEMA_RULES: tuple[Rule[View], ...] = (
    Rule(
        id="wire.anthropic-messages.schema-typed",
        statement="An input schema says its type.",
        message="tools.{i}.custom.input_schema.type: Field required",
        source="recorded 400 answer of api.anthropic.com",
        mend='add "type": "object"',
        find=_untyped,
    ),
    Rule(
        id="wire.anthropic-messages.schema-object",
        statement="An input schema is of type object.",
        message="tools.{i}.custom.input_schema.type: Input should be 'object'",
        source="API reference, tools[].input_schema",
        mend="give the parameters as an object schema",
        find=_mistyped,
    ),
    Rule(
        id="wire.anthropic-messages.schema-valid",
        statement="An input schema is a valid JSON Schema of draft 2020-12.",
        message="tools.{i}.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12 "
        "(https://json-schema.org/draft/2020-12). Learn more about tool use at "
        "https://docs.claude.com/en/docs/tool-use.",
        source="github.com/anthropics/claude-code/issues/86664",
        mend="check the schema against the draft's meta-schema",
        find=_invalid,
    ),
    Rule(
        id="wire.anthropic-messages.schema-not-combined",
        statement="An input schema has no oneOf, allOf or anyOf at its top.",
        message="tools.{i}.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level",
        source=_REPORTS,
        mend="describe one object, and move the alternatives into its properties",
        find=_combined,
    ),
    Rule(
        id="wire.anthropic-messages.schema-property-keys",
        statement="Property names of an input schema are 1 to 64 letters, digits, _, . and -.",
        message="tools.{i}.custom.input_schema.properties: Property keys should match pattern "
        "'^[a-zA-Z0-9_.-]{{1,64}}$'",
        source=_REPORTS,
        mend="rename the properties",
        find=_odd_keys,
    ),
    Rule(
        id="wire.anthropic-messages.strict-not-circular",
        statement="A strict schema does not refer to itself.",
        message="{place}: Invalid schema: Circular reference detected in schema definitions: {circle}. "
        "Self-referencing or mutually-referencing definitions are not supported.",
        source=_RECORDED,
        recorded="400 for claude-sonnet-4-6",
        mend="write the nesting out to the depth that is needed, or leave strict out",
        find=_circular,
    ),
    Rule(
        id="wire.anthropic-messages.strict-no-bare-schema",
        statement="No part of a strict schema is a bare true or false.",
        message="{place}: For 'object' type, property 'properties' is not supported",
        source=_RECORDED,
        recorded="400 for claude-sonnet-4-6",
        mend="give every property a type",
        find=_bare,
    ),
    Rule(
        id="wire.anthropic-messages.strict-closed",
        statement="Every object of a strict schema has additionalProperties false.",
        message="{place}: For 'object' type, 'additionalProperties' must be explicitly set to false",
        source=_STRICT,
        mend="add additionalProperties: false to every object, or leave strict out",
        find=_open,
    ),
    Rule(
        id="wire.anthropic-messages.strict-no-bounds",
        statement="A strict schema bounds no numbers and no lengths.",
        message="{place}: For '{kind}' type, {what} not supported",
        source=_STRICT,
        mend="say the bounds in the description, or leave strict out",
        find=_bounded,
    ),
    Rule(
        id="wire.anthropic-messages.strict-few-unions",
        statement="Strict schemas of a request have at most 16 parameters with unions.",
        message="Schemas contains too many parameters with union types ({found} parameters with type arrays or anyOf). "
        "This causes exponential compilation cost. Reduce the number of nullable or union-typed parameters (limit: "
        "{most} parameters with unions).",
        source=_RECORDED,
        recorded="400 for claude-sonnet-4-6 with 17",
        mend="make parameters plain, or leave strict out",
        find=_many_unions,
    ),
)
