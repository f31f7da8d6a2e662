"""Is a run the same over a wire as without one? The first difference between two neutral traces, in words.

Differences that are permitted stand in `contracts/requirements/permitted-differences.toml`, or in the scenario itself;
each says where, on which arms, and why.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from harness.scenario.arms import ARM_NAMES, Arm, matching
from harness.scenario.format import Scenario
from harness.scenario.neutral import Entry, neutral
from harness.vocabulary.trace import Record
from harness.vocabulary.verdict import Finding, VerdictName

CHECK = "trace.equal"
FILE = "permitted-differences.toml"
_SOURCE = "design: the outcome and the neutral trace are equal over depths, transports and streaming modes"
_KEYS = {"at", "arms", "because"}
_MISSING = "nothing"
_OBJECTS = Arm("anthropic-messages", streaming=False)
"""The arm whose answers hold tool arguments as objects, never as text."""


class PermittedError(ValueError):
    """A file of permitted differences that cannot be read; the text names the file, the entry and the mend."""


@dataclass(frozen=True, slots=True)
class Permitted:
    """A place at which traces may differ: `at` is a kind of record and the keys below it, joined by dots, without the
    numbers of list members (`outcome.details.message`); `*` stands for one key. Everything below it may differ."""

    at: str
    arms: tuple[str, ...]
    because: str

    def covers(self, path: Sequence[str], arm: Arm) -> bool:
        """Whether a difference at `path` on `arm` is permitted."""
        patterns, steps = self.at.split("."), ".".join(path).split(".")
        return (
            len(steps) >= len(patterns)
            and all(fnmatchcase(step, pattern) for step, pattern in zip(steps, patterns, strict=False))
            and arm in matching(self.arms)
        )


@cache
def load_permitted(folder: Path) -> tuple[Permitted, ...]:
    """The permitted differences of a requirements folder. Raises PermittedError."""
    path = folder / FILE
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PermittedError(f"{path}: cannot be read: {error}; restore the file") from None
    rows = tables.get("difference", [])
    if set(tables) - {"difference"} or not isinstance(rows, list):
        raise PermittedError(f"{path}: expected only [[difference]] tables")
    return tuple(_row(path, place, row) for place, row in enumerate(rows, start=1))


def _row(path: Path, place: int, row: Mapping[str, Any]) -> Permitted:
    where = f"{path}: difference {place}"
    if set(row) != _KEYS or not all(isinstance(row[key], str) for key in ("at", "because")):
        raise PermittedError(f"{where}: write `at`, `arms` and `because`, and nothing else")
    for pattern in row["arms"]:
        if not matching([pattern]):
            raise PermittedError(f"{where}: no arm fits {pattern!r}; the arms are {', '.join(ARM_NAMES)}")
    return Permitted(row["at"], tuple(row["arms"]), row["because"])


def permitted_by(scenario: Scenario) -> tuple[Permitted, ...]:
    """The differences that a scenario permits itself."""
    return tuple(Permitted(one.at, tuple(one.arms), one.because) for one in scenario.permitted_differences)


def compare(trace: Sequence[Record], twin: Sequence[Record], arm: Arm, permitted: Sequence[Permitted]) -> Finding:
    """The finding on a run over a wire and the same scenario at depth sim."""
    objects = arm == _OBJECTS
    here, there = neutral(trace, objects=objects), neutral(twin, objects=objects)
    for place, pair in enumerate(zip(here, there, strict=False)):
        for expected, actual, path in _differences(*pair):
            if not any(one.covers(path, arm) for one in permitted):
                return _differs(f"{_where(here, place)}, {'.'.join(path)}", expected, actual)
    if len(here) != len(there):
        place = min(len(here), len(there))
        longer = (here if len(here) > len(there) else there)[place]
        said = f"{longer[0]} {_short(longer[1])}"
        ended = "the end of the run"
        return _differs(_where(here, place), *((said, ended) if len(there) > len(here) else (ended, said)))
    words = f"{len(here)} records"
    return Finding(
        check=CHECK, verdict=VerdictName.PASS, source=_SOURCE, expected="the trace of depth sim", actual=words
    )


def _differs(where: str, expected: str, actual: str) -> Finding:
    return Finding(
        check=CHECK,
        verdict=VerdictName.FAIL,
        source=_SOURCE,
        expected=f"as at depth sim, {where}: {expected}",
        actual=actual,
    )


def _differences(here: Entry, there: Entry) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """What differs between two entries: expected (without a wire), actual, and the path."""
    if here[0] != there[0]:
        yield f"{there[0]} {_short(there[1])}", f"{here[0]} {_short(here[1])}", (here[0],)
        return
    yield from _inside(here[1], there[1], (here[0],))


def _inside(here: Any, there: Any, path: tuple[str, ...]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    if isinstance(here, dict) and isinstance(there, dict):
        for key in [*there, *[key for key in here if key not in there]]:
            yield from _inside(here.get(key, _MISSING), there.get(key, _MISSING), (*path, str(key)))
    elif isinstance(here, list) and isinstance(there, list) and len(here) == len(there):
        for mine, other in zip(here, there, strict=True):
            yield from _inside(mine, other, path)
    elif here != there or isinstance(here, bool) != isinstance(there, bool):
        yield _short(there), _short(here), path


def _where(entries: Sequence[Entry], place: int) -> str:
    """The place of a record as a person counts: the number of the model request before it."""
    number = sum(kind == "request" for kind, _ in entries[: place + 1])
    return f"record {place + 1}, request {number}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 160 else f"{text[:157]}..."
