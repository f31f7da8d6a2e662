"""What one case came to, as it travels between processes and stands in the run record.

Verdicts that say no more than their name (pass, not-applicable) are kept as lists of check ids; the others keep their
whole finding. Rules: scenarios.md, "Verdicts".
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

from harness.redaction.scrub import redact
from harness.reports.case import Case
from harness.vocabulary.verdict import Finding, VerdictName

RunLevel: TypeAlias = Literal["must", "should"]
"""From which level on a promise that is not kept fails the run."""
_BARE = (VerdictName.PASS, VerdictName.NOT_APPLICABLE)
_JUDGED = frozenset({VerdictName.PASS, VerdictName.FAIL, VerdictName.WARN, VerdictName.UNTESTABLE})


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """`bare` holds check ids by verdict; `findings` the verdicts with something to say. `listed` are checks whose
    failure the baseline expects. `fault` is the harness's own fault, in words. `node` is the pytest id that reruns the
    case from the working directory ("" where there is none). `kills` and `resumes` are the crash explorer's counts."""

    case: Case
    run: str
    node: str = ""
    bare: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    listed: frozenset[str] = frozenset()
    outcome: str | None = None
    fault: str | None = None
    seconds: float = 0.0
    kills: int = 0
    resumes: int = 0

    def broken(self, level: RunLevel = "must") -> tuple[Finding, ...]:
        """The findings that fail the run: not kept, at this level, and not expected."""
        return tuple(found for found in self.findings if breaks(found, level) and found.check not in self.listed)

    def expected(self, level: RunLevel = "must") -> tuple[Finding, ...]:
        """The findings that would fail the run, but that the baseline expects."""
        return tuple(found for found in self.findings if breaks(found, level) and found.check in self.listed)

    def verdicts(self) -> list[tuple[str, VerdictName]]:
        """Every verdict: check id and name."""
        bare = [(check, VerdictName(name)) for name, checks in self.bare.items() for check in checks]
        return bare + [(found.check, found.verdict) for found in self.findings]

    def counts(self) -> Counter[str]:
        """How many verdicts of each name."""
        return Counter(str(verdict) for _, verdict in self.verdicts())


def breaks(finding: Finding, level: RunLevel) -> bool:
    """Whether a verdict fails a run at this level. `untestable` counts at the level of its requirement."""
    if finding.verdict is VerdictName.FAIL:
        return True
    if finding.verdict is VerdictName.UNTESTABLE and finding.level == "MUST":
        return True
    return level == "should" and finding.verdict in (VerdictName.WARN, VerdictName.UNTESTABLE)


def judged(findings: Sequence[Finding]) -> bool:
    """Whether anything was looked at, or declared absent: a case without that has proven nothing."""
    return any(found.verdict in _JUDGED or found.verdict is VerdictName.NOT_APPLICABLE for found in findings)


def split(findings: Sequence[Finding]) -> tuple[dict[str, tuple[str, ...]], tuple[Finding, ...]]:
    """Findings as a result keeps them: the bare check ids by verdict, and the rest whole."""
    bare = {
        str(name): tuple(found.check for found in findings if found.verdict is name)
        for name in _BARE
        if any(found.verdict is name for found in findings)
    }
    return bare, tuple(found for found in findings if found.verdict not in _BARE)


def to_json(result: CaseResult) -> dict[str, Any]:
    """The record's `case` line. Free text is redacted: it may quote what a subject sent."""
    return {
        "kind": "case",
        "scenario": result.case.scenario,
        "transport": result.case.transport,
        "streaming": result.case.streaming,
        "run": result.run,
        "node": result.node,
        "outcome": result.outcome,
        "verdicts": {name: list(checks) for name, checks in result.bare.items()},
        "findings": [_finding_json(found) for found in result.findings],
        "listed": sorted(result.listed),
        "fault": None if result.fault is None else redact(result.fault),
        "seconds": round(result.seconds, 4),
        **({"kills": result.kills, "resumes": result.resumes} if result.kills else {}),
    }


def from_json(line: Mapping[str, Any]) -> CaseResult:
    """The result of a `case` line. Raises KeyError, TypeError or ValueError where the line is not one."""
    return CaseResult(
        case=Case(line["scenario"], line["transport"], line["streaming"]),
        run=line["run"],
        node=line["node"],
        bare={str(VerdictName(name)): tuple(checks) for name, checks in line["verdicts"].items()},
        findings=tuple(_finding(found) for found in line["findings"]),
        listed=frozenset(line["listed"]),
        outcome=line["outcome"],
        fault=line["fault"],
        seconds=line["seconds"],
        kills=line.get("kills", 0),
        resumes=line.get("resumes", 0),
    )


def _finding_json(finding: Finding) -> dict[str, Any]:
    return {
        **asdict(finding),
        "verdict": str(finding.verdict),
        "expected": redact(finding.expected),
        "actual": redact(finding.actual),
        "pointer": redact(finding.pointer),
    }


def _finding(found: Mapping[str, Any]) -> Finding:
    return Finding(**{**found, "verdict": VerdictName(found["verdict"])})
