"""Verdicts: what a check says of one run, and what a requirement is."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeAlias

Level: TypeAlias = Literal["MUST", "SHOULD"]


class VerdictName(StrEnum):
    """UNTESTABLE: the occasion that a promise is about did not happen; it counts at the requirement's level."""

    PASS = "pass"
    FAIL = "fail"
    WARN = "warn"
    UNTESTABLE = "untestable"
    NOT_APPLICABLE = "not-applicable"
    INFO = "info"


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One promise. `check` is its checker's id (equal to `id`), or `planned` names the area that will prove it.

    `requires` are the capabilities a subject must declare for the promise to apply. `boundary` says that the rule has
    two sides, each to be shown by a scenario.
    """

    id: str
    level: Level
    statement: str
    source: str
    check: str | None = None
    planned: str | None = None
    requires: frozenset[str] = frozenset()
    boundary: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One verdict of one check on one run.

    `request` is the number of the model request that shows it (None: the run as a whole) and `pointer` a JSON Pointer
    into that request's payload. `expected` and `actual` are short sentences for a person.
    """

    check: str
    verdict: VerdictName
    level: Level = "MUST"
    source: str = ""
    expected: str = ""
    actual: str = ""
    request: int | None = None
    pointer: str = ""
