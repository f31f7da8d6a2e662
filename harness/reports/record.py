"""The run record: JSON Lines, written while a run goes on, so that a run that is cut leaves what it found.

A header, one case a line, a footer. No footer, or fewer cases than were selected, means that the run was cut. Its
schema is `schemas/run-record.json`; rules: scenarios.md, "The run record". Nothing is written unredacted.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any, NoReturn, cast

from harness.redaction.scrub import redact
from harness.reports.result import CaseResult, RunLevel, from_json, to_json
from harness.reports.totals import Totals
from harness.reports.wording import whole
from harness.vocabulary.verdict import Finding

FORMAT = 1
"""Goes up when a reader of the old form would misread the new one."""
_Types = Mapping[str, type | tuple[type, ...]]
_HEADER: _Types = {
    "harness": str,
    "python": str,
    "packages": dict,
    "subject": str,
    "seed": int,
    "depth": str,
    "level": str,
    "transports": list,
    "streaming": list,
    "selected": int,
    "started": str,
}
_FOOTER: _Types = {
    "totals": dict,
    "cases": int,
    "scenarios": int,
    "broken_cases": int,
    "faults": int,
    "stale": list,
    "seconds": (int, float),
}
_CASE: _Types = {
    "scenario": str,
    "transport": str,
    "streaming": (bool, NoneType),
    "run": str,
    "node": str,
    "outcome": (str, NoneType),
    "verdicts": dict,
    "findings": list,
    "listed": list,
    "fault": (str, NoneType),
    "seconds": (int, float),
}
_FINDING: _Types = {
    "check": str,
    "verdict": str,
    "level": str,
    "source": str,
    "expected": str,
    "actual": str,
    "request": (int, NoneType),
    "pointer": str,
}


class RecordError(ValueError):
    """A record that cannot be read or written; the text names the file, the line and the mend."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A record as read. `footer` is None where the run was cut."""

    header: Mapping[str, Any]
    results: tuple[CaseResult, ...]
    footer: Mapping[str, Any] | None = None

    @property
    def complete(self) -> bool:
        """Whether the run came to its end: it has a footer, and no case that was selected is missing."""
        return self.footer is not None and len(self.results) >= self.header["selected"]

    @property
    def level(self) -> RunLevel:
        """The level from which on a promise that is not kept fails this run."""
        return cast(RunLevel, self.header["level"])

    @property
    def stale(self) -> tuple[str, ...]:
        """What is stale in the baseline; () where the run was cut, for then it is not known."""
        return tuple(self.footer["stale"]) if self.footer else ()

    @property
    def seconds(self) -> float:
        """How long the run took; for a run that was cut, the time of the cases that it has."""
        return float(self.footer["seconds"]) if self.footer else sum(result.seconds for result in self.results)

    def totals(self) -> Totals:
        """The results, counted anew."""
        totals = Totals(level=self.level)
        for result in self.results:
            totals.add(result)
        return totals

    def broken(self) -> Iterator[tuple[CaseResult, Finding]]:
        """Every finding that fails the run, with its case."""
        for result in self.results:
            for finding in result.broken(self.level):
                yield result, finding


def check_writable(path: Path) -> None:
    """Whether a record could be written at `path`; an older one there is left as it is. Raises RecordError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("ab").close()
    except OSError as error:
        raise _unwritable(path, error) from None


class RecordWriter:
    """Writes a record line by line; each line is in the file when the call returns. An older record at `path` is
    replaced at once. Raises RecordError where `path` cannot be written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"")
        except OSError as error:
            raise _unwritable(path, error) from None

    def header(self, header: Mapping[str, Any]) -> None:
        """The first line: what is run, with what. Kind and format version are added here."""
        self._write({"kind": "header", "format": FORMAT, **_redacted(header)})

    def case(self, result: CaseResult) -> None:
        """One case."""
        self._write(to_json(result))

    def footer(self, footer: Mapping[str, Any]) -> None:
        """The last line: the run came to its end."""
        self._write({"kind": "footer", **_redacted(footer)})

    def _write(self, line: Mapping[str, Any]) -> None:
        # Opened for each line: nothing is held open by a run that is cut, and nothing waits in a buffer.
        text = whole(json.dumps(line, ensure_ascii=False, allow_nan=False, separators=(",", ":")))
        try:
            with self._path.open("ab") as file:
                file.write(text.encode() + b"\n")
        except OSError as error:
            raise _unwritable(self._path, error) from None


def read_record(path: Path) -> RunRecord:
    """The record at `path`. A last line that was cut while it was written is left out. Raises RecordError."""
    lines = list(_lines(path))
    if not lines:
        raise RecordError(f"{path}: line 1: no header: the run was cut before it began; run it again")
    header = _header(path, *lines[0])
    results: list[CaseResult] = []
    for number, line in lines[1:]:
        if line.get("kind") == "footer":
            return RunRecord(header, tuple(results), _footer(path, number, line, lines[-1][0], len(results)))
        results.append(_case(path, number, line))
    return RunRecord(header, tuple(results))


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        *whole_lines, rest = path.read_bytes().split(b"\n")
    except OSError as error:
        raise RecordError(f"{path}: no record can be read: {error.strerror}; `harness run` writes one") from None
    for number, raw in enumerate(whole_lines, start=1):
        line = _object(raw)
        if line is None:
            _damaged(path, number, "not a JSON object")
        yield number, line
    last = _object(rest)
    if last is not None:
        yield len(whole_lines) + 1, last


def _object(raw: bytes) -> dict[str, Any] | None:
    try:
        line = json.loads(raw.decode(), parse_constant=_no_number)
    except (ValueError, RecursionError):
        return None
    return line if isinstance(line, dict) else None


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _header(path: Path, number: int, line: dict[str, Any]) -> dict[str, Any]:
    if line.get("kind") != "header":
        _damaged(path, number, "the first line is not a header")
    if line.get("format") != FORMAT:
        raise RecordError(
            f"{path}: line {number}: format {line.get('format')!r}, this version reads {FORMAT}; "
            "read it with the version that wrote it, or run again"
        )
    _typed(path, number, line, _HEADER)
    if line["level"] not in ("must", "should"):
        _damaged(path, number, f"level is {line['level']!r}, not must or should")
    return line


def _footer(path: Path, number: int, line: dict[str, Any], last: int, cases: int) -> dict[str, Any]:
    _typed(path, number, line, _FOOTER)
    if number != last:
        _damaged(path, number + 1, "a line after the footer")
    if line["cases"] != cases:
        _damaged(path, number, f"the footer counts {line['cases']} cases, but {cases} stand before it")
    return line


def _case(path: Path, number: int, line: dict[str, Any]) -> CaseResult:
    if line.get("kind") != "case":
        _damaged(path, number, f"kind is {line.get('kind')!r}, not case or footer")
    _typed(path, number, line, _CASE)
    for finding in line["findings"]:
        _typed(path, number, finding, _FINDING)
    try:
        return from_json(line)
    except (KeyError, TypeError, ValueError) as error:
        _damaged(path, number, f"not a case: {error}")


def _typed(path: Path, number: int, line: Any, types: _Types) -> None:
    if not isinstance(line, dict):
        _damaged(path, number, "a finding is not an object")
    for key, kind in types.items():
        if key not in line:
            _damaged(path, number, f"no `{key}`")
        if not isinstance(line[key], kind):
            _damaged(path, number, f"`{key}` is {line[key]!r:.60}")


def _damaged(path: Path, number: int, problem: str) -> NoReturn:
    raise RecordError(f"{path}: line {number}: {problem}; the record is damaged: run again")


def _unwritable(path: Path, error: OSError) -> RecordError:
    return RecordError(f"{path}: the record cannot be written: {error.strerror}; choose another --output folder")


def _redacted(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {key: _redacted(inner) for key, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [_redacted(inner) for inner in value]
    return value
