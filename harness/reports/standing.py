"""What a run comes to, in one word and one sentence: the same in every report.

The word follows the exit codes of scenarios.md, "Command line". A run that was cut, or in which nothing was judged,
never counts as kept.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from harness.reports.record import RunRecord
from harness.reports.totals import Totals
from harness.reports.wording import counted

KEPT, INCOMPLETE, FAULT, BROKEN, STALE = "KEPT", "INCOMPLETE", "HARNESS FAULT", "BROKEN", "STALE BASELINE"
NOTHING_RAN, NOTHING_JUDGED = "NOTHING RAN", "NOTHING JUDGED"


@dataclass(frozen=True, slots=True)
class Standing:
    """`word` is one of the constants of this module; `sentence` says all that is wrong, the gravest first."""

    word: str
    sentence: str


def standing(record: RunRecord, totals: Totals | None = None) -> Standing:
    """What the run comes to. `totals` spares a second count where the caller has them."""
    totals = record.totals() if totals is None else totals
    wrong = list(_wrong(record, totals)) or [_nothing_wrong(totals)]
    sentence = "; ".join(words for _, words in wrong)
    if totals.verdicts["expected"]:
        sentence += f"; {counted(totals.verdicts['expected'], 'failure')} expected by the baseline"
    return Standing(wrong[0][0], sentence)


def _wrong(record: RunRecord, totals: Totals) -> Iterator[tuple[str, str]]:
    if not record.complete:
        selected = counted(record.header["selected"], "selected case")
        yield INCOMPLETE, f"the run was cut: {totals.cases} of {selected} in the record"
    if totals.faults:
        yield FAULT, f"the harness itself failed in {counted(totals.faults, 'case')}, of which nothing is said"
    if totals.broken_cases:
        broken = counted(len(totals.broken_checks()), "promise")
        yield BROKEN, f"{broken} broken in {totals.broken_cases} of {counted(totals.cases, 'case')}"
    if record.stale:
        yield STALE, f"{counted(len(record.stale), 'entry', 'entries')} of the baseline stale"


def _nothing_wrong(totals: Totals) -> tuple[str, str]:
    if not totals.cases:
        return NOTHING_RAN, "no case ran"
    if not any(totals.verdicts[name] for name in ("pass", "warn", "untestable", "expected")):
        return NOTHING_JUDGED, f"no promise applied in {counted(totals.cases, 'case')}"
    return KEPT, f"no promise broken in {counted(totals.cases, 'case')}"
