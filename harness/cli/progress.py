"""Progress of long work on standard error: a bar in a terminal, now and then a plain line anywhere else."""

import sys
import time
from typing import Any

from harness.reports.result import CaseResult

_PLAIN_EVERY = 10.0
"""Seconds between plain lines."""


class Progress:
    """Told of each finished case. Silent for short runs without a terminal."""

    def __init__(self, total: int) -> None:
        self._total, self._done, self._broken = total, 0, 0
        self._begun = self._last = time.monotonic()
        self._bar: Any = _bar(total) if sys.stderr.isatty() and total > 1 else None

    def advance(self, result: CaseResult, broken: bool) -> None:
        """One more case is done."""
        self._done += 1
        self._broken += broken
        if self._bar is not None:
            words = f"{result.case.item_id}" + (f"  [red]{self._broken} broken[/red]" if self._broken else "")
            self._bar.update(0, advance=1, description=words)
        elif time.monotonic() - self._last >= _PLAIN_EVERY:
            self._last = time.monotonic()
            self._line(result)

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()

    def _line(self, result: CaseResult) -> None:
        spent = self._last - self._begun
        left = spent / self._done * (self._total - self._done)
        counts = f"{self._done}/{self._total} cases, {self._broken} broken"
        print(f"{counts}, about {left:.0f} s left, at {result.case.item_id}", file=sys.stderr, flush=True)


def _bar(total: int) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    bar = Bar(
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
        console=Console(stderr=True),
        transient=True,
    )
    bar.add_task("", total=total)
    bar.start()
    return bar
