"""What is wrong with a scenario file: its line, what, and the mend. Several problems of one file are told together."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, get_args, get_origin

from pydantic import ValidationError

from harness.scenario.document import Path
from harness.scenario.format import Scenario
from harness.scenario.format_base import Part

_KINDS = {
    "string_type": "a text (quote it)",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}
_SCALARS = frozenset(_KINDS) - {"list_type", "dict_type", "model_type", "model_attributes_type"} | {"literal_error"}


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing to mend; `line` counts from 1."""

    line: int
    what: str
    mend: str


class ScenarioError(ValueError):
    """A scenario file that cannot be run. Its text has one line a problem: `file:line: what; mend`."""

    def __init__(self, file: str, problems: Sequence[Problem]) -> None:
        self.file = file
        self.problems = tuple(sorted(problems))
        super().__init__("\n".join(f"{file}:{one.line}: {one.what}; {one.mend}" for one in self.problems))


@dataclass(frozen=True, slots=True)
class Placed:
    """A problem by its path in the document; `load` turns the path into a line."""

    path: Path
    what: str
    mend: str


def nearest(word: str, known: Sequence[str]) -> str:
    """A mend for an unknown word: the nearest known one, or all of them."""
    close = get_close_matches(word, known, n=1, cutoff=0.6)
    return f"did you mean `{close[0]}`?" if close else f"write one of {', '.join(known)}"


def placed(error: ValidationError, value: Any) -> Iterator[Placed]:
    """The problems of a validation error, one for each place in the document."""
    found: dict[Path, list[tuple[str, str, str]]] = {}
    for detail in error.errors(include_url=False):
        path, rest = _resolve(value, detail["loc"])
        what, mend = _told(detail, path, rest)
        at = (*path, str(rest[-1])) if detail["type"] == "missing" and rest else path
        found.setdefault(at, []).append((detail["type"], what, mend))
    for path, told in found.items():
        deeper = any(other[: len(path)] == path and len(other) > len(path) for other in found)
        kept = [one for one in told if not (deeper and one[0] in _SCALARS)]
        if kept:
            whats = list(dict.fromkeys(what for _, what, _ in kept))
            mends = list(dict.fromkeys(mend for _, _, mend in kept))
            yield Placed(path, whats[0], _joined(mends))


def _joined(mends: list[str]) -> str:
    if len(mends) > 1 and all(mend.startswith("write ") for mend in mends):
        return "write " + " or ".join(mend.removeprefix("write ") for mend in mends)
    return " or ".join(mends)


def _resolve(value: Any, loc: Sequence[str | int]) -> tuple[Path, tuple[str | int, ...]]:
    """The part of `loc` that the document holds, and what follows. Names of union members are not in the document."""
    path: list[str | int] = []
    for place, step in enumerate(loc):
        inside = isinstance(value, dict) and step in value
        inside = inside or (isinstance(value, list) and isinstance(step, int) and step < len(value))
        if inside:
            value = value[step]
            path.append(step)
        elif place == len(loc) - 1:
            return tuple(path), (step,)
    return tuple(path), ()


def _told(detail: Any, path: Path, rest: Sequence[str | int]) -> tuple[str, str]:
    kind, context, name = detail["type"], detail.get("ctx", {}), _name(path)
    if kind == "extra_forbidden":
        return f"unknown key `{path[-1]}`{_inside(path[:-1])}", nearest(str(path[-1]), _keys_at(path[:-1]))
    if kind == "missing":
        return f"`{rest[-1]}` is missing{_inside(path)}", f"add `{rest[-1]}`"
    if kind == "value_error":
        what, _, mend = str(context["error"]).partition("; ")
        return f"{name} {what}", mend or "mend it"
    shown = f"{name} is {_short(detail['input'])}"
    if kind == "literal_error":
        return shown, f"write {context['expected']}"
    if kind in _KINDS:
        return shown, f"write {_KINDS[kind]}"
    return shown, detail["msg"].replace("Input should", "it should").replace("String should", "it should")


def _name(path: Path) -> str:
    return f"`{'.'.join(map(str, path))}`" if path else "the scenario"


def _inside(path: Path) -> str:
    return f" in {_name(path)}" if path else ""


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _keys_at(path: Path) -> tuple[str, ...]:
    """The keys that the format knows at a path of the document."""
    part: type[Part] = Scenario
    skip = False
    for step in path:
        field = None if skip or isinstance(step, int) else _fields(part).get(step)
        skip = False
        if field is not None:
            part = _part_in(field.annotation) or part
            skip = _is_mapping(field.annotation)
    return tuple(_fields(part))


def _fields(part: type[Part]) -> dict[str, Any]:
    return {field.alias or name: field for name, field in part.model_fields.items()}


def _part_in(annotation: Any) -> type[Part] | None:
    if isinstance(annotation, type) and issubclass(annotation, Part):
        return annotation
    return next((part for inner in get_args(annotation) if (part := _part_in(inner))), None)


def _is_mapping(annotation: Any) -> bool:
    return get_origin(annotation) is dict or any(get_origin(inner) is dict for inner in get_args(annotation))
