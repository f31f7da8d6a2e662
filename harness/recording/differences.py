"""Where two neutral values differ first: a JSON Pointer and both sides, short enough for a person.

It knows dataclasses, mappings, sequences and scalars, and nothing of what they mean.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

_LONGEST = 60
"""Characters of a value that are shown; a longer one is shown around the place where it differs."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where two values differ. `pointer` is "" where the values differ as a whole."""

    pointer: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.pointer or 'the whole'} was {self.before}, came back as {self.after}"


def first_difference(before: Any, after: Any) -> Difference | None:
    """The first place, in the order of the fields, where the values differ; None where they are equal."""
    return None if before == after else next(_differences(before, after, ""), None)


def _differences(before: Any, after: Any, pointer: str) -> Iterator[Difference]:
    if is_dataclass(before) and type(before) is type(after):
        for field in fields(before):
            one, other = getattr(before, field.name), getattr(after, field.name)
            yield from _differences(one, other, f"{pointer}/{field.name}")
    elif isinstance(before, Mapping) and isinstance(after, Mapping) and before.keys() == after.keys():
        for key, value in before.items():
            yield from _differences(value, after[key], f"{pointer}/{_escaped(str(key))}")
    elif isinstance(before, list | tuple) and isinstance(after, list | tuple) and len(before) == len(after):
        for place, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from _differences(one, other, f"{pointer}/{place}")
    elif before != after or type(before) is not type(after):
        yield Difference(pointer, *_shown(before, after))


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _shown(before: Any, after: Any) -> tuple[str, str]:
    if isinstance(before, list | tuple) and isinstance(after, list | tuple):
        return _kinds(before), _kinds(after)
    texts = repr(before), repr(after)
    common = next((i for i, pair in enumerate(zip(*texts, strict=False)) if pair[0] != pair[1]), min(map(len, texts)))
    start = max(0, common - _LONGEST // 2) if max(map(len, texts)) > _LONGEST else 0
    return _cut(texts[0], start), _cut(texts[1], start)


def _kinds(values: list[Any] | tuple[Any, ...]) -> str:
    """A sequence of another length: what stands in it, not all that it holds."""
    shown = ", ".join(type(value).__name__ for value in values[:8])
    return f"{len(values)} of [{shown}{', …' if len(values) > 8 else ''}]"


def _cut(text: str, start: int) -> str:
    end = start + _LONGEST
    return ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")
