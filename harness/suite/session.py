"""One pytest session as one run record: header, a case a line in collection order, footer.

Only the controlling process writes. No footer is written when the session was cut: every consumer then says so.
"""

import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import __version__
from harness.reports.record import RecordWriter
from harness.reports.result import CaseResult, from_json
from harness.reports.totals import Totals
from harness.suite.order import InOrder
from harness.suite.plan import RunPlan
from harness.suite.runner import CaseRunner

if TYPE_CHECKING:
    from harness.recording.told_calls import CallFile

RECORD_NAME = "run.jsonl"
_PACKAGES = ("anthropic", "openai", "httpx2", "pydantic", "pytest")


class RunSession:
    """Collects the results of a session. `totals`, `results` and `stale` are there when it has finished."""

    def __init__(self, plan: RunPlan, runner: CaseRunner) -> None:
        self.plan, self._runner = plan, runner
        self.totals = Totals(level=plan.level)
        self.results: list[CaseResult] = []
        self.stale: list[str] = []
        self._order = InOrder(self._keep)
        self._writer: RecordWriter | None = None
        self._call_file: CallFile | None = None
        self._calls: dict[str, Sequence[dict[str, Any]]] = {}
        self._begun = time.perf_counter()

    def begin(self, nodes: Sequence[str]) -> None:
        """The cases that will come, in collection order. Opens the record; a second call changes nothing."""
        if self._writer is None and self.plan.output:
            self._writer = RecordWriter(Path(self.plan.output) / RECORD_NAME)
            self._writer.header(self._header(len(nodes)))
        if self._call_file is None and self.plan.calls:
            # Most runs tell no calls: they need not load how they are written.
            from harness.recording.told_calls import CallFile

            self._call_file = CallFile(Path(self.plan.calls))
        self._order.expect(nodes)

    def take(self, node: str, line: dict[str, Any], calls: Sequence[dict[str, Any]] = ()) -> None:
        """The result of one case and the telemetry of its calls, as they travelled."""
        result = from_json(line)
        if self._call_file is not None:
            self._calls[result.run] = calls
        self._order.take(node, result)

    def finish(self, complete: bool) -> None:
        """Close the record, with its footer if nothing was cut."""
        self._order.finish()
        baseline = self._runner.baseline
        self.stale = baseline.stale(self.results) if baseline else []
        if self._writer is not None and complete:
            self._writer.footer(self._footer())

    def _keep(self, result: CaseResult) -> None:
        self.results.append(result)
        self.totals.add(result)
        if self._writer is not None:
            self._writer.case(result)
        if self._call_file is not None:
            self._call_file.add(self._calls.pop(result.run, ()))

    def _header(self, selected: int) -> dict[str, Any]:
        arms = self.plan.arms()
        return {
            "harness": __version__,
            "python": ".".join(map(str, sys.version_info[:3])),
            "packages": {name: version(name) for name in _PACKAGES},
            "subject": self.plan.subject,
            "seed": self.plan.seed,
            "depth": self.plan.depth,
            "level": self.plan.level,
            "transports": list(dict.fromkeys(arm.transport for arm in arms)),
            "streaming": list(dict.fromkeys("stream" if arm.streaming else "plain" for arm in arms if arm.wire)),
            "selected": selected,
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
        }

    def _footer(self) -> dict[str, Any]:
        return {
            "totals": self.totals.by_name(),
            "cases": self.totals.cases,
            "scenarios": len(self.totals.scenarios),
            "broken_cases": self.totals.broken_cases,
            "faults": self.totals.faults,
            "stale": self.stale,
            "seconds": round(time.perf_counter() - self._begun, 3),
        }
