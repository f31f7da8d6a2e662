"""The one JSON object of `harness run --format json`, made from a run record. Its schema is `schemas/run.json`; its
keys are stable: scenarios.md, "Machine-readable output".
"""

from typing import Any

from harness.redaction.scrub import redact
from harness.reports.record import RunRecord
from harness.reports.result import CaseResult
from harness.reports.wording import place, replay, whole
from harness.vocabulary.verdict import Finding


def run_object(record: RunRecord) -> dict[str, Any]:
    """The object. `failures` are the findings that fail the run, `faults` what the harness itself did wrong."""
    totals, header = record.totals(), record.header
    return {
        "subject": _clean(header["subject"]),
        "seed": header["seed"],
        "depth": header["depth"],
        "level": record.level,
        "transports": list(header["transports"]),
        "streaming": list(header["streaming"]),
        "scenarios": len(totals.scenarios),
        "cases": totals.cases,
        "broken_cases": totals.broken_cases,
        "crash": {"points": totals.kills, "resumes": totals.resumes},
        "totals": totals.by_name(),
        "failures": [_failure(result, finding) for result, finding in record.broken()],
        "faults": [_fault(result) for result in record.results if result.fault is not None],
        "stale": [_clean(entry) for entry in record.stale],
        "complete": record.complete,
        "seconds": round(record.seconds, 3),
    }


def _failure(result: CaseResult, finding: Finding) -> dict[str, Any]:
    return {
        **_case(result),
        "check": finding.check,
        "verdict": str(finding.verdict),
        "level": finding.level,
        "expected": _clean(finding.expected),
        "actual": _clean(finding.actual),
        "where": _clean(place(finding)),
        "replay": replay(result),
    }


def _fault(result: CaseResult) -> dict[str, Any]:
    return {**_case(result), "message": _clean(result.fault or ""), "replay": replay(result)}


def _case(result: CaseResult) -> dict[str, Any]:
    case = result.case
    return {"scenario": case.scenario, "transport": case.transport, "streaming": case.streaming}


def _clean(text: str) -> str:
    return whole(redact(text))
