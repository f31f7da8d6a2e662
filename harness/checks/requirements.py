"""The promises, read from `contracts/requirements/*.toml`: one file an area, one table a rule.

A file is `[[requirement]]` tables with the keys of `vocabulary.verdict.Requirement`. The id of a rule names its area
(`loop.budget.hard-stop` stands in `budget.toml`). This module knows the form of the data, not the checkers.
"""

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from harness.vocabulary.capabilities import CAPABILITIES
from harness.vocabulary.verdict import Requirement

OTHER_TABLES = frozenset({"permitted-differences.toml"})
"""Files of the same folder that hold no requirements."""
KEYS = ("id", "level", "statement", "source", "check", "planned", "requires", "boundary")
LEVELS = ("MUST", "SHOULD")
_ID = re.compile(r"[a-z]+(\.[a-z]+)?\.[a-z]+(-[a-z]+)*\Z")


class RequirementError(ValueError):
    """A requirement file that cannot be read; the text names the file, the id and the mend."""


def load_requirements(folder: Path) -> dict[str, Requirement]:
    """Every requirement under `folder`, by id, in the order of file names and tables. Raises `RequirementError`."""
    files = sorted(path for path in folder.glob("*.toml") if path.name not in OTHER_TABLES)
    if not files:
        raise RequirementError(f"{folder}: no requirement file here; expected one *.toml an area")
    found: dict[str, Requirement] = {}
    homes: dict[str, Path] = {}
    for path in files:
        for requirement in _read(path):
            if requirement.id in found:
                raise RequirementError(
                    f"{path}: {requirement.id}: stands in {homes[requirement.id].name} already; keep one of the two"
                )
            found[requirement.id], homes[requirement.id] = requirement, path
    return found


def unproven(requirements: Mapping[str, Requirement], checks: Collection[str]) -> list[str]:
    """What is not tied together: checks without a requirement, requirements that name no checker and are not planned,
    or whose checker does not exist, or that are planned though a checker exists. Empty when all is tied."""
    gaps = [
        f"{check}: a check without a requirement; add it to contracts/requirements"
        for check in checks
        if check not in requirements
    ]
    for requirement in requirements.values():
        if requirement.check is None and requirement.planned is None:
            gaps.append(f"{requirement.id}: neither `check` nor `planned`; say which")
        if requirement.check is not None and requirement.check not in checks:
            gaps.append(f"{requirement.id}: names a check that does not exist; write it or mark the rule as planned")
        if requirement.planned is not None and requirement.id in checks:
            gaps.append(f"{requirement.id}: planned, though a check exists; name it under `check`")
    return gaps


def _read(path: Path) -> Iterator[Requirement]:
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RequirementError(f"{path}: not TOML: {error}") from None
    rows = tables.get("requirement")
    if set(tables) != {"requirement"} or not isinstance(rows, list) or not rows:
        raise RequirementError(f"{path}: expected only [[requirement]] tables, at least one")
    for place, row in enumerate(rows, start=1):
        yield _requirement(path, place, row)


def _requirement(path: Path, place: int, row: Mapping[str, Any]) -> Requirement:
    name = row.get("id")
    where = f"{path}: {name if isinstance(name, str) else f'requirement {place}'}"
    for problem in _problems(path.stem, row):
        raise RequirementError(f"{where}: {problem}")
    return Requirement(
        id=row["id"],
        level=row["level"],
        statement=row["statement"],
        source=row["source"],
        check=row.get("check"),
        planned=row.get("planned"),
        requires=frozenset(row.get("requires", ())),
        boundary=row.get("boundary", False),
    )


def _problems(area: str, row: Mapping[str, Any]) -> Iterator[str]:
    for key in row:
        if key not in KEYS:
            yield f"unknown key {key!r}{_nearest(key, KEYS)}; the keys are {', '.join(KEYS)}"
    for key in ("id", "level", "statement", "source"):
        if not isinstance(row.get(key), str) or not row[key].strip():
            yield f"`{key}` is missing or empty; write a text"
    yield from _id_problems(area, row["id"])
    if row["level"] not in LEVELS:
        yield f"level is {row['level']!r}; write MUST or SHOULD"
    yield from _proof_problems(row)
    yield from _capability_problems(row.get("requires", []))
    if not isinstance(row.get("boundary", False), bool):
        yield "`boundary` is not true or false; write one of them"


def _id_problems(area: str, name: str) -> Iterator[str]:
    if _ID.match(name) is None:
        yield "the id is not of the form area.rule-name, lower case; mend it"
    elif area not in name.split(".")[:-1]:
        yield f"the id belongs to another area; move it to {name.split('.')[-2]}.toml"


def _proof_problems(row: Mapping[str, Any]) -> Iterator[str]:
    given = [key for key in ("check", "planned") if key in row]
    if len(given) != 1:
        yield "write either `check` (the same id) or `planned` (the area that will prove it)"
    elif not isinstance(row[given[0]], str) or not row[given[0]]:
        yield f"`{given[0]}` is empty; write a text"
    elif given == ["check"] and row["check"] != row["id"]:
        yield f"check is {row['check']!r}; a check has the id of its requirement"


def _capability_problems(requires: Any) -> Iterator[str]:
    if not isinstance(requires, list):
        yield "`requires` is not a list; write a list of capabilities"
        return
    for name in requires:
        if name not in CAPABILITIES:
            hint = _nearest(str(name), CAPABILITIES)
            yield f"unknown capability {name!r}{hint}; see harness/vocabulary/capabilities.py"


def _nearest(name: str, known: Collection[str]) -> str:
    close = get_close_matches(name, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
