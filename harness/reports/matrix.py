"""The matrix: requirements down, transports and streaming modes across, how often each was kept in the cells.

A cell is `kept/judged`, `-` where nothing was judged. Where a promise is broken the word FAIL stands below the cell:
the matrix says the same in black and white. Made to fit the width that it is given, down to one column a table.
"""

from collections.abc import Iterator, Sequence

from harness.reports.totals import Cell, Totals
from harness.reports.wording import printable

_SHORT = {
    "openai-responses": "respon.",
    "openai-chat": "chat",
    "anthropic-messages": "anthro.",
    "xml-fallback": "xml",
}
_MODES = ("stream", "plain")
_LEAST_NAME = 20
_LONGEST_HEAD = 7
LEGEND = "kept/judged in each cell, - where nothing was judged, FAIL below a cell where a promise was broken"


def matrix_lines(totals: Totals, width: int) -> list[str]:
    """The matrix in lines of at most `width` columns (never less than 28); [] where nothing was judged."""
    if not totals.matrix:
        return []
    column = 1 + max(len(text) for text in _widest(totals))
    across = max((width - _LEAST_NAME) // column, 1)
    columns = list(totals.columns)
    lines = [LEGEND[:width]]
    for start in range(0, len(columns), across):
        lines += ["", *_table(totals, columns[start : start + across], column, width)]
    return lines


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
    return f"{cell.kept}/{cell.judged}" if cell.judged else "-"


def _head(column: str) -> tuple[str, str]:
    transport, _, mode = column.rpartition("-")
    if mode not in _MODES:
        return "", column[:_LONGEST_HEAD]
    return _SHORT.get(transport, transport)[:_LONGEST_HEAD], mode
