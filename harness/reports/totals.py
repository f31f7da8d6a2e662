"""Counting: verdicts of a run, and verdicts by requirement and column, folded result by result."""

from collections import Counter
from dataclasses import dataclass, field

from harness.reports.result import CaseResult, RunLevel
from harness.vocabulary.verdict import VerdictName

KEYS = ("pass", "fail", "warn", "untestable", "not_applicable", "info", "expected")
"""Names of the totals, in the order in which they are shown. `expected` are failures that the baseline lists; they
are in no other total."""


@dataclass(slots=True)
class Cell:
    """One requirement in one column of the matrix: in how many cases it was kept, and in how many it was judged."""

    kept: int = 0
    judged: int = 0
    broken: int = 0


@dataclass(slots=True)
class Totals:
    """Grows with `add`. `matrix` is by check id, then by column."""

    level: RunLevel = "must"
    verdicts: Counter[str] = field(default_factory=Counter)
    cases: int = 0
    broken_cases: int = 0
    faults: int = 0
    kills: int = 0
    resumes: int = 0
    scenarios: dict[str, None] = field(default_factory=dict)
    columns: dict[str, None] = field(default_factory=dict)
    matrix: dict[str, dict[str, Cell]] = field(default_factory=dict)

    def add(self, result: CaseResult) -> None:
        """Count one case."""
        self.cases += 1
        self.faults += result.fault is not None
        self.kills += result.kills
        self.resumes += result.resumes
        self.scenarios[result.case.scenario] = None
        self.columns[result.case.column] = None
        broken = {found.check for found in result.broken(self.level)}
        expected = {found.check for found in result.expected(self.level)}
        self.broken_cases += bool(broken)
        for check, verdict in result.verdicts():
            self.verdicts["expected" if check in expected else str(verdict).replace("-", "_")] += 1
            self._place(check, result.case.column, verdict, check in broken)

    def _place(self, check: str, column: str, verdict: VerdictName, broken: bool) -> None:
        cell = self.matrix.setdefault(check, {}).setdefault(column, Cell())
        if verdict in (VerdictName.NOT_APPLICABLE, VerdictName.INFO):
            return
        cell.judged += 1
        cell.kept += verdict is VerdictName.PASS
        cell.broken += broken

    def by_name(self) -> dict[str, int]:
        """The totals of `harness run --format json`, zeros included."""
        return {name: self.verdicts[name] for name in KEYS}

    def broken_checks(self) -> set[str]:
        """Requirements that were not kept somewhere."""
        return {check for check, row in self.matrix.items() if any(cell.broken for cell in row.values())}
