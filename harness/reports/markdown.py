"""A Markdown summary of a run record, made for a job summary: the verdict first, the matrix, what failed.

Text of a run is never markup: it stands escaped, or in a code block that it cannot close. The summary keeps within a
limit of bytes and says so where it had to leave something out. Rules: review.md, "Reports and CI".
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace as changed
from itertools import accumulate

from harness.reports.record import RunRecord
from harness.reports.result import CaseResult
from harness.reports.standing import standing
from harness.reports.terminal import failure_lines, fault_lines
from harness.reports.totals import KEYS, Cell, Totals
from harness.reports.wording import counted, shown
from harness.vocabulary.verdict import Finding

LIMIT = 1_000_000
"""Below the 1 MiB that a job summary may have on GitHub."""
_LONGEST_TEXT = 4000
"""Characters of one text of a finding; the record has it whole."""
_MARKUP = re.compile(r"([\\`*_\[\]|~$])")
_NOTICE = "\n**truncated**: {left} left out here; the run record has all of it.\n"
_NOTICE_ROOM = len(_NOTICE) + 20


def markdown_summary(record: RunRecord, limit_bytes: int = LIMIT) -> str:
    """The summary, in at most `limit_bytes` bytes of UTF-8."""
    blocks = list(_blocks(record))
    sizes = list(accumulate(len(block.encode()) for block in blocks))
    room = limit_bytes if sizes[-1] <= limit_bytes else limit_bytes - _NOTICE_ROOM
    kept = blocks[: bisect_right(sizes, room)]
    left = len(blocks) - len(kept)
    text = "".join(kept) + (_NOTICE.format(left=counted(left, "part")) if left else "")
    return text.encode()[:limit_bytes].decode(errors="ignore")


def _blocks(record: RunRecord) -> Iterator[str]:
    """Parts that stand or fall whole, each with its line end."""
    totals = record.totals()
    end = standing(record, totals)
    yield f"**{end.word}**: {_text(end.sentence)}.\n"
    yield _facts(record, totals)
    yield from (f"- stale: {_text(entry)}\n" for entry in record.stale)
    yield from _matrix(totals)
    yield from _failures(record)


def _facts(record: RunRecord, totals: Totals) -> str:
    header, names = record.header, totals.by_name()
    facts = (
        f"subject {header['subject']}, seed {header['seed']}, depth {header['depth']}, level {record.level}; "
        f"{counted(totals.cases, 'case')} of {counted(len(totals.scenarios), 'scenario')} in {record.seconds:.2f} s"
    )
    verdicts = ", ".join(f"{names[name]} {name.replace('_', ' ')}" for name in KEYS)
    return f"\n{_text(facts)}\n\n{_text(verdicts)}\n\n"


def _matrix(totals: Totals) -> Iterator[str]:
    if not totals.matrix:
        return
    columns = list(totals.columns)
    head = "| requirement | " + " | ".join(_text(column) for column in columns) + " |\n"
    yield "## Promises kept\n\n" + head + "| --- |" + " --- |" * len(columns) + "\n"
    for check in sorted(totals.matrix):
        row = totals.matrix[check]
        yield f"| {_text(check)} | " + " | ".join(_cell(row.get(column, Cell())) for column in columns) + " |\n"


def _cell(cell: Cell) -> str:
    if not cell.judged:
        return "–"
    return f"{'**FAIL** ' if cell.broken else ''}{cell.kept}/{cell.judged}"


def _failures(record: RunRecord) -> Iterator[str]:
    title = "\n## Failures\n"
    for result in record.results:
        for lines in _told(result, record):
            yield title + _code(lines)
            title = ""


def _told(result: CaseResult, record: RunRecord) -> Iterator[list[str]]:
    if result.fault is not None:
        yield fault_lines(changed(result, fault=_bounded(result.fault)))
    for finding in result.broken(record.level):
        yield failure_lines(result, _bounded_finding(finding))


def _bounded_finding(finding: Finding) -> Finding:
    return changed(
        finding,
        source=_bounded(finding.source),
        expected=_bounded(finding.expected),
        actual=_bounded(finding.actual),
        pointer=_bounded(finding.pointer),
    )


def _bounded(text: str) -> str:
    # Redacted before the cut, so that no half of a key survives it.
    text = shown(text)
    more = len(text) - _LONGEST_TEXT
    return text if more <= 0 else f"{text[:_LONGEST_TEXT]} … (truncated: {more} more characters)"


def _code(lines: list[str]) -> str:
    text = "\n".join(lines)
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"\n{fence}text\n{text}\n{fence}\n"


def _text(text: str) -> str:
    """Text that neither Markdown nor HTML reads as markup; redacted, on one line."""
    plain = shown(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MARKUP.sub(r"\\\1", plain)
