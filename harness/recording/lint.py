"""Captured traffic judged as a whole: counts by transport, and what to report.

It adds up; what is right or wrong with one exchange is said in `judging`.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from harness.recording.exchange import Exchange
from harness.recording.judging import Finding, Judged, judged
from harness.wire.dialects import load

COUNTS = ("exchanges", "accepted", "rejected", "unparsed", "round_trip_failed", "recorded_ok_rejected",
          "recorded_fault_missed")  # fmt: skip


@dataclass(slots=True)
class LintResult:
    """What all exchanges came to. `answered` counts those that the provider answered 2xx with a body, `whole` those of
    them that parse and round-trip; both by transport too. `beyond` counts refusals that only the provider could give,
    by what they are about; `faults` are exchanges at which this judge itself failed: they are counted nowhere else."""

    total: Counter[str] = field(default_factory=Counter)
    by_transport: dict[str, Counter[str]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    unanswered_rejected: int = 0
    beyond: Counter[str] = field(default_factory=Counter)
    faults: list[tuple[Exchange, Exception]] = field(default_factory=list)

    def add(self, one: Judged) -> None:
        """Count one exchange."""
        own = self.by_transport.setdefault(one.exchange.transport, Counter())
        for counter in (self.total, own):
            counter.update(_counted(one))
        self.findings.extend(one.findings)
        self.beyond.update([one.beyond] if one.beyond else [])
        self.unanswered_rejected += one.exchange.status is None and one.accepted is False

    @property
    def share(self) -> float:
        """Percent of the exchanges answered 2xx that parse and round-trip; 100 where there is none."""
        answered = self.total["answered"]
        return 100.0 * self.total["whole"] / answered if answered else 100.0

    def as_json(self) -> dict[str, Any]:
        """The machine-readable result (`harness schema lint`)."""
        return {
            **_row(self.total),
            "by_transport": {name: _row(counts) for name, counts in sorted(self.by_transport.items())},
            "findings": [
                {"id": one.id, "transport": one.transport, "rule": one.rule, "where": one.where, "message": said(one)}
                for one in self.findings
            ],
        }


def said(finding: Finding) -> str:
    """A finding's message with its mend."""
    return f"{finding.message}; {finding.mend}" if finding.mend else finding.message


def _row(counts: Counter[str]) -> dict[str, int]:
    return {name: counts[name] for name in COUNTS}


def _counted(one: Judged) -> dict[str, int]:
    kinds = {finding.kind for finding in one.findings}
    return {
        "exchanges": 1,
        "accepted": int(one.accepted is True),
        "rejected": int(one.accepted is False),
        "unparsed": int(one.parsed is False),
        "round_trip_failed": int(one.round_trip is False),
        "recorded_ok_rejected": int("recorded_ok_rejected" in kinds),
        "recorded_fault_missed": int("recorded_fault_missed" in kinds),
        "answered": int(one.succeeded),
        "whole": int(one.succeeded and one.whole),
    }


def lint(
    exchanges: Iterable[Exchange], each: Callable[[], None] = lambda: None, *, dialect: str | None = None
) -> LintResult:
    """Judge all exchanges in their order; `each` is called after every one. `dialect` is the server's, where hosts do
    not tell. A fault of the judge at one exchange leaves the others judged. Raises DialectError for a dialect that
    there is not."""
    if dialect is not None:
        load(dialect)
    result = LintResult()
    for exchange in exchanges:
        try:
            result.add(judged(exchange, dialect=dialect))
        except Exception as error:
            result.faults.append((exchange, error))
        each()
    return result
