"""The report as one self-contained page: the verdict, the matrix of promises by wire, and each case that has something
to say. It asks nothing of the network and runs no text of a run: data stands as escaped JSON, the script is fixed, and
a content security policy lets nothing else in. Works from the run record alone.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.redaction.scrub import redact
from harness.reports.record import RunRecord
from harness.reports.result import CaseResult
from harness.reports.standing import standing
from harness.reports.totals import KEYS
from harness.reports.wording import place, replay, whole
from harness.vocabulary.verdict import Finding, Requirement

_FOLDER = Path(__file__).parent / "page"
_MOST_CASES = 2000
"""Cases with findings that are shown; the record has all of them."""


def html_report(record: RunRecord, requirements: Mapping[str, Requirement]) -> str:
    """The page. `requirements` give each promise its statement and its source."""
    script, style = ((_FOLDER / name).read_text(encoding="utf-8") for name in ("report.js", "report.css"))
    page = (_FOLDER / "report.html").read_text(encoding="utf-8")
    policy = (
        "default-src 'none'; "
        f"script-src 'sha256-{_digest(script)}'; style-src 'sha256-{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    data = _escaped(json.dumps(_data(record, requirements), ensure_ascii=True, separators=(",", ":")))
    for mark, text in (("{policy}", policy), ("{style}", style), ("{script}", script), ("{data}", data)):
        page = page.replace(mark, text, 1)
    return page


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _escaped(text: str) -> str:
    """JSON that cannot end its element, nor begin another."""
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _data(record: RunRecord, requirements: Mapping[str, Requirement]) -> dict[str, Any]:
    totals, header = record.totals(), record.header
    end = standing(record, totals)
    columns = list(totals.columns)
    told = [result for result in record.results if result.findings or result.fault is not None]
    return {
        "word": end.word,
        "sentence": _clean(end.sentence),
        "facts": [
            ["subject", _clean(str(header["subject"]))],
            ["seed", str(header["seed"])],
            ["depth", str(header["depth"])],
            ["level", record.level],
            ["cases", f"{totals.cases} of {len(totals.scenarios)} scenarios"],
            ["seconds", f"{record.seconds:.2f}"],
            *[[name.replace("_", " "), str(totals.by_name()[name])] for name in KEYS],
        ],
        "columns": columns,
        "rows": [
            [check, [_cell(totals.matrix[check].get(column)) for column in columns]] for check in sorted(totals.matrix)
        ],
        "rules": {
            one.id: [one.level, one.statement, one.source] for one in requirements.values() if one.id in totals.matrix
        },
        "cases": [_case(result) for result in sorted(told, key=lambda one: not one.broken(record.level))[:_MOST_CASES]],
        "left": max(0, len(told) - _MOST_CASES),
        "stale": [_clean(entry) for entry in record.stale],
    }


def _cell(cell: Any) -> list[int]:
    return [0, 0, 0] if cell is None else [cell.kept, cell.judged, cell.broken]


def _case(result: CaseResult) -> dict[str, Any]:
    return {
        "scenario": result.case.scenario,
        "column": result.case.column,
        "replay": replay(result),
        "node": result.node,
        "outcome": result.outcome or "",
        "fault": _clean(result.fault or ""),
        "findings": [_finding(one, one.check in result.listed) for one in result.findings],
    }


def _finding(one: Finding, listed: bool) -> list[str]:
    word = "expected" if listed else str(one.verdict)
    return [word, one.check, one.level, _clean(place(one)), _clean(one.expected), _clean(one.actual)]


def _clean(text: str) -> str:
    return whole(redact(text))
