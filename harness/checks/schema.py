"""Whether arguments keep a tool's JSON Schema, as far as that can be said for sure.

Only keywords whose meaning is beyond dispute are read. A value that breaks one of them is surely invalid; a value that
keeps them all is valid only if the schema says nothing else. A schema is compiled once for all calls of its tool.
"""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import TypeAlias

from harness.checks.canonical import Number, Undecodable, canonical
from harness.vocabulary.content import JsonValue

Rule: TypeAlias = Callable[[JsonValue], bool | None]
"""True: valid, False: not valid, None: cannot be said. Values are as `canonical.decode` gives them."""

_ANNOTATIONS = frozenset({"title", "description", "default", "examples", "$schema", "$comment", "deprecated"})


def rule_of(schema: JsonValue) -> Rule:
    """The rule that a schema makes."""
    if isinstance(schema, bool):
        return _always(schema)
    if not isinstance(schema, Mapping):
        return _always(None)
    makers = [
        (_MAKERS.get(keyword, _unread), wanted) for keyword, wanted in schema.items() if keyword not in _ANNOTATIONS
    ]
    return _all([maker(wanted, schema) for maker, wanted in makers])


def _always(answer: bool | None) -> Rule:
    return lambda value: answer


def _all(rules: Sequence[Rule]) -> Rule:
    def check(value: JsonValue) -> bool | None:
        certain: bool | None = True
        for rule in rules:
            answer = rule(value)
            if answer is False:
                return False
            if answer is None:
                certain = None
        return certain

    return check


def _unread(wanted: JsonValue, schema: JsonValue) -> Rule:
    return _always(None)


def _type(wanted: JsonValue, schema: JsonValue) -> Rule:
    names = wanted if isinstance(wanted, (list, tuple)) else [wanted]
    tests = [_TYPES[name] for name in names if name in _TYPES]
    otherwise = False if len(tests) == len(names) else None
    if len(tests) == 1 and otherwise is False:
        return tests[0]
    return lambda value: True if any(test(value) for test in tests) else otherwise


def _properties(wanted: JsonValue, schema: JsonValue) -> Rule:
    rules = {key: rule_of(member) for key, member in wanted.items()}

    def check(value: JsonValue) -> bool | None:
        if not isinstance(value, dict):
            return True
        certain: bool | None = True
        for key, member in value.items():
            rule = rules.get(key)
            answer = rule(member) if rule is not None else True
            if answer is False:
                return False
            certain = certain if answer else None
        return certain

    return check


def _required(wanted: JsonValue, schema: JsonValue) -> Rule:
    return lambda value: not isinstance(value, dict) or all(key in value for key in wanted)


def _additional(wanted: JsonValue, schema: JsonValue) -> Rule:
    if "patternProperties" in schema:
        return _always(None)
    known, rule = frozenset(schema.get("properties", ())), rule_of(wanted)

    def check(value: JsonValue) -> bool | None:
        if not isinstance(value, dict) or value.keys() <= known:
            return True
        return _every([member for key, member in value.items() if key not in known], rule)

    return check


def _items(wanted: JsonValue, schema: JsonValue) -> Rule:
    if "prefixItems" in schema:
        return _always(None)
    rule = rule_of(wanted)
    return lambda value: _every(value, rule) if isinstance(value, list) else True


def _every(members: Sequence[JsonValue], rule: Rule) -> bool | None:
    answers = [rule(member) for member in members]
    return False if False in answers else None if None in answers else True


def _enum(wanted: JsonValue, schema: JsonValue) -> Rule:
    def check(value: JsonValue) -> bool | None:
        try:
            return canonical(value) in {canonical(member) for member in wanted}
        except (Undecodable, RecursionError):
            return None

    return check


def _const(wanted: JsonValue, schema: JsonValue) -> Rule:
    return _enum([wanted], schema)


def _bound(measure: Callable[[JsonValue], Decimal | None], sign: int) -> Callable[[JsonValue, JsonValue], Rule]:
    def maker(wanted: JsonValue, schema: JsonValue) -> Rule:
        def check(value: JsonValue) -> bool | None:
            size = measure(value)
            return True if size is None else (size - Decimal(str(wanted))) * sign >= 0

        return check

    return maker


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
_MAKERS: dict[str, Callable[[JsonValue, JsonValue], Rule]] = {
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
