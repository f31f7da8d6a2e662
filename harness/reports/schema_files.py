"""The published JSON Schemas (draft 2020-12) of what the harness writes: data files of the package, by name."""

import json
from difflib import get_close_matches
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).with_name("schemas")


class UnknownSchema(ValueError):
    """No schema goes by this name; the text gives those that there are."""


def schema_names() -> tuple[str, ...]:
    """All names, in alphabetical order."""
    return tuple(sorted(file.stem for file in _FOLDER.glob("*.json")))


def schema(name: str) -> dict[str, Any]:
    """The schema of a name. Raises UnknownSchema."""
    names = schema_names()
    if name not in names:
        near = get_close_matches(name, names, 1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise UnknownSchema(f"no schema is called {name!r}{hint}; the schemas are {', '.join(names)}")
    found: dict[str, Any] = json.loads((_FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return found
