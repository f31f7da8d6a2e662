"""The terminal's report, as lines of plain text: failure blocks, the matrix, the summary.

Meaning is in words; colour only repeats it, and only on a terminal, through rich, which is imported when it is first
needed. The failure block is that of scenarios.md, "A failure, as printed", word by word.
"""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from harness.reports.record import RunRecord
from harness.reports.result import CaseResult
from harness.reports.standing import standing
from harness.reports.totals import KEYS, Cell, Totals
from harness.reports.wording import counted, place, printable, replays, shown
from harness.vocabulary.verdict import Finding, VerdictName

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
_SHORT = {
    "openai-responses": "resp.",
    "openai-chat": "chat",
    "anthropic-messages": "anthr.",
    "xml-fallback": "xml",
}
_MODES = ("stream", "plain")
_LEAST_NAME = 20
_LONGEST_HEAD = 6
LEGEND = "how often kept, kept/judged if not always, - if never judged, FAIL below where one was broken"


def failure_lines(result: CaseResult, finding: Finding, width: int = WIDTH) -> list[str]:
    """The failure block of one finding."""
    names = (_WORDS[finding.verdict], result.case.transport, finding.check, f"[{finding.level}]")
    head = [*map(printable, names), shown(finding.source)]
    where = [printable(result.case.scenario), place(finding)]
    return [
        "  ".join(part for part in head if part),
        f"{_INDENT}scenario {', '.join(part for part in where if part)}",
        *_labelled("expected", finding.expected, width),
        *_labelled("actual", finding.actual, width),
        f"{_INDENT}replay    {replays(result)}",
    ]


def fault_lines(result: CaseResult, width: int = WIDTH) -> list[str]:
    """The block of a harness fault: it accuses the harness and says nothing of the subject."""
    return [
        f"HARNESS FAULT  {printable(result.case.transport)}  nothing is said of the subject",
        f"{_INDENT}scenario {printable(result.case.scenario)}",
        *_labelled("fault", result.fault or "", width),
        f"{_INDENT}replay    {replays(result)}",
    ]


def matrix_lines(totals: Totals, width: int) -> list[str]:
    """Requirements down, transports and streaming modes across; [] where nothing ran. A cell is how often a
    promise was kept, `kept/judged` where that was not always, `-` where it was never judged.

    Made to fit the width (28 columns at least), with several tables below each other where one would be too wide. What
    is broken says FAIL below its cell: the matrix says the same in black and white.
    """
    if not totals.matrix:
        return []
    column = 1 + max(len(text) for text in _widest(totals))
    across = max((width - _LEAST_NAME) // column, 1)
    columns = list(totals.columns)
    lines = [LEGEND[:width]]
    for start in range(0, len(columns), across):
        lines += ["", *_table(totals, columns[start : start + across], column, width)]
    return lines


def summary_lines(record: RunRecord) -> list[str]:
    """What the run comes to, and its totals."""
    totals = record.totals()
    end = standing(record, totals)
    names = totals.by_name()
    shape = f"{counted(totals.cases, 'case')} of {counted(len(totals.scenarios), 'scenario')} in {record.seconds:.2f} s"
    verdicts = ", ".join(f"{names[name]} {name.replace('_', ' ')}" for name in KEYS)
    explored = [f"{_INDENT}{totals.kills} points of a crash, {totals.resumes} resumes"] if totals.kills else []
    return [
        f"{end.word}  {end.sentence}",
        f"{_INDENT}{shape}; subject {shown(record.header['subject'])}, seed {record.header['seed']}, "
        f"depth {record.header['depth']}, level {record.level}",
        f"{_INDENT}{verdicts}",
        *explored,
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


def _widest(totals: Totals) -> Iterator[str]:
    for row in totals.matrix.values():
        yield from (_count(cell) for cell in row.values())
    for name in totals.columns:
        yield from _head(name)


def _table(totals: Totals, columns: Sequence[str], column: int, width: int) -> Iterator[str]:
    longest = max(len(check) for check in totals.matrix)
    name = max(min(longest, width - column * len(columns)), _LEAST_NAME)
    heads = [_head(one) for one in columns]
    for line in (0, 1):
        yield _line("requirement" if line else "", [head[line] for head in heads], name, column)
    for check in sorted(totals.matrix):
        cells = [totals.matrix[check].get(one, Cell()) for one in columns]
        yield from _row(printable(check), cells, name, column)


def _row(check: str, cells: Sequence[Cell], name: int, column: int) -> Iterator[str]:
    if len(check) > name:
        yield check
        check = ""
    yield _line(check, [_count(cell) for cell in cells], name, column)
    if any(cell.broken for cell in cells):
        yield _line("", ["FAIL" if cell.broken else "" for cell in cells], name, column)


def _line(name: str, cells: Sequence[str], width: int, column: int) -> str:
    return (name.ljust(width) + "".join(cell.rjust(column) for cell in cells)).rstrip()


def _count(cell: Cell) -> str:
    if cell.kept == cell.judged:
        return str(cell.kept) if cell.judged else "-"
    return f"{cell.kept}/{cell.judged}"


def _head(column: str) -> tuple[str, str]:
    transport, _, mode = column.rpartition("-")
    if mode not in _MODES:
        return "", column[:_LONGEST_HEAD]
    return _SHORT.get(transport, transport)[:_LONGEST_HEAD], mode
