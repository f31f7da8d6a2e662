"""JSON shapes by place: what a schema allows at each place of a document, and what documents have there.

A place is a JSON Pointer in which `*` stands for any member of an array or of a free mapping, and `{x}` for the member
of a union whose `type` (else `role`) is x: `/content/*{tool_use}/name`. A schema is opened only where documents lead:
the SDKs' types recurse. It knows no provider.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.vocabulary.content import JsonObject, JsonValue

_TAGS = ("type", "role")
_ANY = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})
_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "boolean"),
    (str, "string"),
    (int, "integer"),
    (float, "number"),
    (list, "array"),
    (dict, "object"),
)
_NO_TAG = ""
_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Known:
    """What a schema says of a place.

    `kinds` are JSON types. `values` are the strings it allows, None if any. `tags` names the members of the union that
    stands there. `required` and `optional` are the fields of its object; `extra`: it may have others. `free`: any JSON
    may stand below.
    """

    kinds: frozenset[str]
    values: frozenset[str] | None = None
    tags: frozenset[str] = frozenset()
    required: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    extra: bool = False
    free: bool = False

    @property
    def fields(self) -> frozenset[str]:
        """All fields of its object."""
        return self.required | self.optional


class Ground:
    """A JSON Schema, opened place by place. `closed`: `additionalProperties: true` is everywhere and says nothing, as
    in the schema of a response model."""

    def __init__(self, schema: JsonObject, *, closed: bool = True) -> None:
        self._schema: Mapping[str, Any] = schema
        self._closed = closed
        self._nodes: dict[str, tuple[Mapping[str, Any], ...]] = {"": tuple(self._members(schema))}
        self._known: dict[str, Known] = {}

    def at(self, place: str) -> Known | None:
        """What is known of a place; None for one that the schema does not have. Ask for the places above it first."""
        if place not in self._known:
            nodes = self._nodes.get(place)
            if nodes is None:
                return None
            self._known[place] = self._open(place, nodes)
        return self._known[place]

    def _open(self, place: str, nodes: tuple[Mapping[str, Any], ...]) -> Known:
        kinds = frozenset(kind for node in nodes for kind in _kinds(node))
        objects = [node for node in nodes if node.get("properties")]
        union = not place.endswith("}") and (len(objects) > 1 or place.endswith("*"))
        members: dict[str, list[Mapping[str, Any]]] = {}
        for node in objects if union else ():
            for tag in self._tags(node):
                members.setdefault(tag, []).append(node)
        plain = members.pop(_NO_TAG, []) if union else objects
        for tag, tagged in members.items():
            self._nodes[f"{place}{{{tag}}}"] = tuple(tagged)
        required = self._fields(place, plain)
        self._items(place, nodes)
        fields = frozenset(name for node in plain for name in node["properties"])
        free = any(not _kinds_said(node) or _is_free(node) for node in nodes) and not objects
        extra = not self._closed and any(node.get("additionalProperties") for node in plain)
        return Known(kinds, _values(nodes), frozenset(members), required, fields - required, extra, free)

    def _tags(self, node: Mapping[str, Any]) -> tuple[str, ...]:
        said = {key: self._said(node, key) for key in _TAGS}
        required = next((key for key in _TAGS if said[key] and key in node.get("required", ())), None)
        if required is None:
            return (_NO_TAG,)
        # What is known by its role may say its type too (`message`), and is then read by that.
        return tuple(sorted(said[required] | said[_TAGS[0]]))

    def _said(self, node: Mapping[str, Any], key: str) -> frozenset[str]:
        given = node["properties"].get(key)
        return (given and _values(tuple(self._members(given)))) or _NONE

    def _fields(self, place: str, objects: list[Mapping[str, Any]]) -> frozenset[str]:
        """Makes the places of the fields; the fields that all these objects require."""
        found: dict[str, list[Mapping[str, Any]]] = {}
        for node in objects:
            for name, value in node["properties"].items():
                found.setdefault(name, []).extend(self._members(value))
        self._nodes |= {f"{place}/{escaped(name)}": tuple(nodes) for name, nodes in found.items()}
        return frozenset.intersection(*(frozenset(node.get("required", ())) for node in objects)) if objects else _NONE

    def _items(self, place: str, nodes: tuple[Mapping[str, Any], ...]) -> None:
        inside = [node["items"] for node in nodes if isinstance(node.get("items"), Mapping)]
        free = (node["additionalProperties"] for node in nodes if not node.get("properties") and _is_mapping(node))
        found = [one for value in (*inside, *free) for one in self._members(value)]
        if found:
            self._nodes[f"{place}/*"] = tuple(found)

    def _members(self, node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """The node without references and unions."""
        while "$ref" in node:
            node = self._schema["$defs"][node["$ref"].rsplit("/", 1)[-1]]
        inner = [one for key in ("anyOf", "oneOf", "allOf") for one in node.get(key, ())]
        if inner:
            for one in inner:
                yield from self._members(one)
        else:
            yield node


def _kinds_said(node: Mapping[str, Any]) -> list[str]:
    said = node.get("type", [])
    if said:
        return [said] if isinstance(said, str) else list(said)
    values = [node["const"]] if "const" in node else node.get("enum", [])
    return sorted({kind_of(value) for value in values})


def _kinds(node: Mapping[str, Any]) -> list[str]:
    kinds = _kinds_said(node) or sorted(_ANY)
    return [*kinds, "integer"] if "number" in kinds else kinds


def _is_mapping(node: Mapping[str, Any]) -> bool:
    return isinstance(node.get("additionalProperties"), Mapping) and bool(node["additionalProperties"])


def _is_free(node: Mapping[str, Any]) -> bool:
    return node.get("type") == "object" and not node.get("properties") and not _is_mapping(node)


def _values(nodes: tuple[Mapping[str, Any], ...]) -> frozenset[str] | None:
    """The strings that the nodes allow; None where any string may stand, or none at all."""
    texts = [node for node in nodes if "string" in _kinds(node)]
    if not texts or any("const" not in node and "enum" not in node for node in texts):
        return None
    said = [value for node in texts for value in ([node["const"]] if "const" in node else node["enum"])]
    return frozenset(value for value in said if isinstance(value, str))


@dataclass(slots=True)
class Seen:
    """What documents have at one place, each with the origin of the first document that has it.

    `values` only where the schema has a list of them; `tags` of its union, those that the schema does not know
    included. `objects` counts objects, `fields` how many of them have each field.
    """

    kinds: dict[str, str] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    objects: int = 0
    fields: dict[str, int] = field(default_factory=dict)


class Shape:
    """What some documents have, by place, as far as a schema knows the way there (and one step further)."""

    def __init__(self, ground: Ground) -> None:
        self.places: dict[str, Seen] = {}
        self._ground = ground

    def add(self, value: JsonValue, origin: str = "", place: str = "") -> None:
        """Look at one document. `origin` tells a person where it is from."""
        known = self._ground.at(place)
        seen = self.places.setdefault(place, Seen())
        kind = kind_of(value)
        seen.kinds.setdefault(kind, origin)
        if known is None or known.free or kind not in known.kinds:
            return
        if isinstance(value, str) and known.values is not None:
            seen.values.setdefault(value, origin)
        elif isinstance(value, list):
            for one in value:
                self.add(one, origin, f"{place}/*")
        elif isinstance(value, Mapping):
            self._object(value, origin, place, seen, known)

    def _object(self, value: Mapping[str, JsonValue], origin: str, place: str, seen: Seen, known: Known) -> None:
        said = [tag for key in _TAGS if isinstance(tag := value.get(key), str)] if known.tags else []
        tag = next((one for one in said if one in known.tags), None)
        if tag is not None:
            seen.tags.setdefault(tag, origin)
            self.add(value, origin, f"{place}{{{tag}}}")
            return
        if said and not known.fields:
            seen.tags.setdefault(said[0], origin)
            return
        seen.objects += 1
        mapping = not known.fields and self._ground.at(f"{place}/*") is not None
        for name, inner in value.items():
            if known.extra and name not in known.fields:
                continue
            seen.fields[name] = seen.fields.get(name, 0) + 1
            self.add(inner, origin, f"{place}/*" if mapping else f"{place}/{escaped(name)}")


def kind_of(value: JsonValue) -> str:
    """The JSON type of a value."""
    return next((name for kind, name in _KINDS if isinstance(value, kind)), "null")


def escaped(name: str) -> str:
    """A field's name as a step of a JSON Pointer."""
    return name.replace("~", "~0").replace("/", "~1")
