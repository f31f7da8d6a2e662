"""The terminal's report, as lines of plain text: failure blocks and the summary (the matrix is in `matrix`).

Meaning is in words; colour only repeats it, and only on a terminal, through rich, which is imported when it is first
needed. The failure block is that of scenarios.md, "A failure, as printed", word by word.
"""

import textwrap
from collections.abc import Iterable
from typing import TextIO

from harness.reports.matrix import matrix_lines
from harness.reports.record import RunRecord
from harness.reports.result import CaseResult
from harness.reports.standing import standing
from harness.reports.totals import KEYS
from harness.reports.wording import counted, place, printable, replays, shown
from harness.vocabulary.verdict import Finding, VerdictName

__all__ = ["failure_lines", "fault_lines", "matrix_lines", "summary_lines", "write_lines"]

WIDTH = 120
"""Columns of a failure block. Its first line and its replay line are never broken: they are searched and pasted."""
_INDENT = " " * 6
_HANGING = " " * 16
_WORDS = {
    VerdictName.FAIL: "FAIL",
    VerdictName.WARN: "WARN",
    VerdictName.UNTESTABLE: "UNTESTABLE",
    VerdictName.INFO: "INFO",
    VerdictName.PASS: "PASS",
    VerdictName.NOT_APPLICABLE: "NOT APPLICABLE",
}
_STYLES = (
    ("FAIL", "bold red"),
    ("UNTESTABLE", "bold red"),
    ("BROKEN", "bold red"),
    ("HARNESS FAULT", "bold magenta"),
    ("INCOMPLETE", "bold magenta"),
    ("STALE", "bold yellow"),
    ("NOTHING", "bold yellow"),
    ("WARN", "yellow"),
    ("KEPT", "bold green"),
)


def failure_lines(result: CaseResult, finding: Finding, width: int = WIDTH) -> list[str]:
    """The failure block of one finding."""
    head = (_WORDS[finding.verdict], result.case.transport, finding.check, f"[{finding.level}]", shown(finding.source))
    where = ", ".join(part for part in (result.case.scenario, place(finding)) if part)
    return [
        "  ".join(part for part in head if part),
        f"{_INDENT}scenario {where}",
        *_labelled("expected", finding.expected, width),
        *_labelled("actual", finding.actual, width),
        f"{_INDENT}replay    {replays(result)}",
    ]


def fault_lines(result: CaseResult, width: int = WIDTH) -> list[str]:
    """The block of a harness fault: it accuses the harness and says nothing of the subject."""
    return [
        f"HARNESS FAULT  {result.case.transport}  nothing is said of the subject",
        f"{_INDENT}scenario {result.case.scenario}",
        *_labelled("fault", result.fault or "", width),
        f"{_INDENT}replay    {replays(result)}",
    ]


def summary_lines(record: RunRecord) -> list[str]:
    """What the run comes to, and its totals."""
    totals = record.totals()
    end = standing(record, totals)
    names = totals.by_name()
    shape = f"{counted(totals.cases, 'case')} of {counted(len(totals.scenarios), 'scenario')} in {record.seconds:.2f} s"
    verdicts = ", ".join(f"{names[name]} {name.replace('_', ' ')}" for name in KEYS)
    return [
        f"{end.word}  {end.sentence}",
        f"{_INDENT}{shape}; subject {printable(record.header['subject'])}, seed {record.header['seed']}, "
        f"depth {record.header['depth']}, level {record.level}",
        f"{_INDENT}{verdicts}",
    ]


def write_lines(lines: Iterable[str], out: TextIO) -> None:
    """Write the lines: coloured where `out` is a terminal, plain text elsewhere. What the stream's encoding lacks is
    written as an escape."""
    if out.isatty():
        _write_coloured(lines, out)
        return
    encoding = out.encoding or "utf-8"
    for line in lines:
        out.write(line.encode(encoding, "backslashreplace").decode(encoding) + "\n")


def _labelled(label: str, text: str, width: int) -> list[str]:
    return textwrap.wrap(
        shown(text) or "(nothing said)",
        width=max(width, len(_HANGING) + 20),
        initial_indent=f"{_INDENT}{label:<10}",
        subsequent_indent=_HANGING,
        break_on_hyphens=False,
    )


def _write_coloured(lines: Iterable[str], out: TextIO) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(file=out, highlight=False, markup=False, emoji=False)
    for line in lines:
        text = Text(line)
        for word, style in _STYLES:
            if line.lstrip().startswith(word):
                text.stylize(style, len(line) - len(line.lstrip()), line.index(word) + len(word))
                break
        console.print(text, soft_wrap=True)
