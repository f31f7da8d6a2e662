"""Whether arguments keep a tool's JSON Schema, as far as that can be said for sure.

Only keywords whose meaning is beyond dispute are read. A value that breaks one of them is surely invalid; a value that
keeps them all is valid only if the schema says nothing else.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal

from harness.checks.canonical import Number, Undecodable, canonical
from harness.vocabulary.content import JsonValue

_ANNOTATIONS = frozenset({"title", "description", "default", "examples", "$schema", "$comment", "deprecated"})


def keeps(schema: JsonValue, value: JsonValue) -> bool | None:
    """True: valid, False: not valid, None: cannot be said. `value` is as `canonical.decode` gives it."""
    if isinstance(schema, bool):
        return schema
    if not isinstance(schema, Mapping):
        return None
    certain = True
    for keyword, wanted in schema.items():
        if keyword in _ANNOTATIONS:
            continue
        rule = _RULES.get(keyword)
        answer = rule(schema, wanted, value) if rule is not None else None
        if answer is False:
            return False
        certain = certain and answer is True
    return True if certain else None


def _all(answers: list[bool | None]) -> bool | None:
    if False in answers:
        return False
    return None if None in answers else True


def _is_type(name: JsonValue, value: JsonValue) -> bool | None:
    test = _TYPES.get(name) if isinstance(name, str) else None
    return test(value) if test is not None else None


def _type(_: JsonValue, wanted: JsonValue, value: JsonValue) -> bool | None:
    answers = [_is_type(name, value) for name in (wanted if isinstance(wanted, (list, tuple)) else [wanted])]
    return True if True in answers else None if None in answers else False


def _properties(_: JsonValue, wanted: JsonValue, value: JsonValue) -> bool | None:
    if not isinstance(value, dict):
        return True
    return _all([keeps(schema, value[key]) for key, schema in wanted.items() if key in value])


def _required(_: JsonValue, wanted: JsonValue, value: JsonValue) -> bool | None:
    return not isinstance(value, dict) or all(key in value for key in wanted)


def _additional(schema: JsonValue, wanted: JsonValue, value: JsonValue) -> bool | None:
    if not isinstance(value, dict):
        return True
    if "patternProperties" in schema:
        return None
    return _all([keeps(wanted, member) for key, member in value.items() if key not in schema.get("properties", {})])


def _items(schema: JsonValue, wanted: JsonValue, value: JsonValue) -> bool | None:
    if "prefixItems" in schema:
        return None
    return _all([keeps(wanted, member) for member in value]) if isinstance(value, list) else True


def _enum(_: JsonValue, wanted: JsonValue, value: JsonValue) -> bool | None:
    try:
        return canonical(value) in {canonical(member) for member in wanted}
    except (Undecodable, RecursionError):
        return None


def _const(schema: JsonValue, wanted: JsonValue, value: JsonValue) -> bool | None:
    return _enum(schema, [wanted], value)


def _bound(measure: Callable[[JsonValue], Decimal | None], sign: int) -> Callable[..., bool | None]:
    def rule(_: JsonValue, wanted: JsonValue, value: JsonValue) -> bool | None:
        size = measure(value)
        return True if size is None else (size - Decimal(str(wanted))) * sign >= 0

    return rule


def _amount(value: JsonValue) -> Decimal | None:
    return Decimal(value) if isinstance(value, Number) else None


def _letters(value: JsonValue) -> Decimal | None:
    return Decimal(len(value)) if isinstance(value, str) and not isinstance(value, Number) else None


def _members(value: JsonValue) -> Decimal | None:
    return Decimal(len(value)) if isinstance(value, list) else None


_TYPES: dict[str, Callable[[JsonValue], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str) and not isinstance(value, Number),
    "number": lambda value: isinstance(value, Number),
    "integer": lambda value: isinstance(value, Number) and "e-" not in value,
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}
_RULES: dict[str, Callable[..., bool | None]] = {
    "type": _type,
    "properties": _properties,
    "required": _required,
    "additionalProperties": _additional,
    "items": _items,
    "enum": _enum,
    "const": _const,
    "minimum": _bound(_amount, 1),
    "maximum": _bound(_amount, -1),
    "minLength": _bound(_letters, 1),
    "maxLength": _bound(_letters, -1),
    "minItems": _bound(_members, 1),
    "maxItems": _bound(_members, -1),
}
