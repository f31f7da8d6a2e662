"""Two run records side by side: what fails now and did not, what no longer fails, what came and went, what is slower.

A promise of a case is compared by its item and its check. A record that was cut is no basis: whoever compares is told.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from harness.reports.record import RunRecord
from harness.reports.result import CaseResult, RunLevel

_SLOWER_RATIO = 2.0
_SLOWER_SECONDS = 0.25
"""A case is slower if it takes twice as long and at least this much more: shorter times are noise."""


@dataclass(frozen=True, slots=True, order=True)
class Promise:
    """One check of one case."""

    item: str
    check: str


@dataclass(frozen=True, slots=True)
class Slower:
    """A case that takes longer, in seconds."""

    item: str
    before: float
    after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What changed from one record to another. `appeared` and `disappeared` are items."""

    newly_failing: tuple[Promise, ...]
    newly_passing: tuple[Promise, ...]
    still_failing: tuple[Promise, ...]
    appeared: tuple[str, ...]
    disappeared: tuple[str, ...]
    slower: tuple[Slower, ...]
    complete: bool

    @property
    def worse(self) -> bool:
        """Whether the second record is not as good as the first, or cannot be relied on."""
        return bool(self.newly_failing) or not self.complete


def compare(before: RunRecord, after: RunRecord) -> Comparison:
    """The comparison. A promise of a case that only the second record has counts as newly failing if it fails."""
    old, new = _cases(before), _cases(after)
    failed, fails = _failing(old, before.level), _failing(new, after.level)
    known = {Promise(item, check) for item, result in new.items() for check, _ in result.verdicts()}
    return Comparison(
        newly_failing=tuple(sorted(fails - failed)),
        newly_passing=tuple(sorted(one for one in failed - fails if one in known)),
        still_failing=tuple(sorted(fails & failed)),
        appeared=tuple(sorted(new.keys() - old.keys())),
        disappeared=tuple(sorted(old.keys() - new.keys())),
        slower=tuple(_slower(old, new)),
        complete=before.complete and after.complete,
    )


def _cases(record: RunRecord) -> dict[str, CaseResult]:
    return {result.case.item_id: result for result in record.results}


def _failing(cases: Mapping[str, CaseResult], level: RunLevel) -> set[Promise]:
    broken = {Promise(item, one.check) for item, result in cases.items() for one in result.broken(level)}
    return broken | {Promise(item, "harness.fault") for item, result in cases.items() if result.fault is not None}


def _slower(old: Mapping[str, CaseResult], new: Mapping[str, CaseResult]) -> list[Slower]:
    found = [Slower(item, old[item].seconds, new[item].seconds) for item in sorted(old.keys() & new.keys())]
    return [one for one in found if one.after > one.before * _SLOWER_RATIO and one.after - one.before > _SLOWER_SECONDS]
