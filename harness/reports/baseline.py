"""The baseline of expected failures: `expected-failures.toml`, a table `[[expected]]` an entry.

An entry expects that a check fails for a subject on a transport (`*` for any), says why, and when that ends. While it
stands, such a failure does not fail the run; an entry that is expired, or whose check is kept, is stale, and that does.
Rule: scenarios.md, "Verdicts". What is wrong with the file itself is a fault of configuration.
"""

import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from harness.reports.case import Case
from harness.reports.result import CaseResult
from harness.reports.wording import counted
from harness.vocabulary.verdict import VerdictName

ANY = "*"
_TEXTS = ("check", "transport", "subject", "reason")
KEYS = (*_TEXTS, "expires")
_FAILED = frozenset({VerdictName.FAIL, VerdictName.WARN, VerdictName.UNTESTABLE})
"""A `warn` counts: with `--level should` it is what an entry is there for."""


class BaselineError(ValueError):
    """A baseline that cannot be used; the text names file, entry and mend."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One expected failure. It counts on its last day, `expires`, too."""

    check: str
    transport: str
    subject: str
    reason: str
    expires: date

    def covers(self, case: Case, subject: str | None) -> bool:
        """Whether the entry speaks of this case. A subject that is not known (None) is taken to be the entry's."""
        return self.transport in (ANY, case.transport) and (subject is None or self.subject in (ANY, subject))

    def __str__(self) -> str:
        return f"{self.check} on {self.transport} for {self.subject} ({self.reason})"


@dataclass(frozen=True, slots=True)
class Baseline:
    """The entries of a file, and the day on which they are read."""

    path: Path
    entries: tuple[Entry, ...]
    today: date

    def listed(self, case: Case, subject: str, checks: Collection[str]) -> frozenset[str]:
        """Those of `checks` whose failure is expected in this case. An expired entry still counts here: it fails the
        run as stale, not as a second failure."""
        return frozenset(one.check for one in self.entries if one.check in checks and one.covers(case, subject))

    def stale(self, results: Sequence[CaseResult], subject: str | None = None) -> list[str]:
        """What is wrong with the entries in the light of a run of `subject`, a sentence each: expired ones, and those
        whose check was judged in a case that they cover and failed in none."""
        return [
            f"{self.path}: {entry}: {why}" for entry in self.entries for why in self._stale(entry, results, subject)
        ]

    def _stale(self, entry: Entry, results: Sequence[CaseResult], subject: str | None) -> Iterator[str]:
        if entry.expires < self.today:
            yield f"expired on {entry.expires}; mend the subject, or decide anew and give a later day"
            return
        verdicts = [
            {verdict for check, verdict in result.verdicts() if check == entry.check}
            for result in results
            if result.fault is None and entry.covers(result.case, subject)
        ]
        failed = sum(not _FAILED.isdisjoint(names) for names in verdicts)
        kept = sum(VerdictName.PASS in names for names in verdicts)
        if kept and not failed:
            yield f"kept in {counted(kept, 'case')} and broken in none; remove the entry"


def load_baseline(path: Path, known_checks: Collection[str], today: date) -> Baseline:
    """The baseline at `path`. Raises BaselineError."""
    entries: dict[tuple[str, str, str], Entry] = {}
    for number, row in enumerate(_rows(path), start=1):
        entry = _entry(f"{path}: entry {number}", row, known_checks)
        key = (entry.check, entry.transport, entry.subject)
        if key in entries:
            raise BaselineError(f"{path}: entry {number}: {entry.check} is expected there already; keep one of the two")
        entries[key] = entry
    return Baseline(path, tuple(entries.values()), today)


def _rows(path: Path) -> list[Any]:
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BaselineError(f"{path}: cannot be read: {error.strerror}; mend --expected-failures") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BaselineError(f"{path}: not TOML: {error}") from None
    for key in tables:
        if key != "expected":
            raise BaselineError(f"{path}: unknown key {key!r}; write [[expected]] tables only")
    rows = tables.get("expected", [])
    if not isinstance(rows, list):
        raise BaselineError(f"{path}: `expected` is one table; write [[expected]], with two brackets")
    return rows


def _entry(where: str, row: Any, known_checks: Collection[str]) -> Entry:
    for problem in _problems(row, known_checks):
        raise BaselineError(f"{where}: {problem}")
    return Entry(**{key: row[key] for key in _TEXTS}, expires=_day(row["expires"]))


def _problems(row: Any, known_checks: Collection[str]) -> Iterator[str]:
    if not isinstance(row, Mapping):
        yield "not a table; write [[expected]] with its keys below"
        return
    for key in row:
        if key not in KEYS:
            yield f"unknown key {key!r}{_nearest(key, KEYS)}; the keys are {', '.join(KEYS)}"
    for key in _TEXTS:
        if not isinstance(row.get(key), str) or not row[key].strip():
            also = f", or {ANY!r} for any" if key in ("transport", "subject") else ""
            yield f"`{key}` is missing or empty; write a text{also}"
    if _day(row.get("expires")) == date.min:
        yield "`expires` is missing or not a day; write one, as in expires = 2030-01-31"
    if row["check"] not in known_checks:
        hint = _nearest(row["check"], known_checks)
        yield f"no check is called {row['check']!r}{hint}; `harness list --requirements` shows them"


def _day(value: Any) -> date:
    """The day that is meant; `date.min` for what is none."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        return date.min


def _nearest(name: str, known: Collection[str]) -> str:
    close = get_close_matches(name, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
