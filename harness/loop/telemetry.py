"""The telemetry of a run's calls, as the driver tells it: ledger records with ids and times, each told once, in order.

Ids are made from the run's id and the place of the call in the run, so that a resumed run goes on with the ids that it
would have had. Their lengths are those of W3C Trace Context: 32 and 16 hex digits. The machine knows none of this.
"""

import hashlib
from collections.abc import Callable

from harness.loop.ledger import Ledger
from harness.vocabulary.tools import CallRecord


def trace_id_of(run_id: str) -> str:
    """32 hex digits, the same for each life of one run."""
    return _digest(f"trace\0{run_id}")[:32]


def span_id_of(run_id: str, number: int) -> str:
    """16 hex digits for the call of this number, from 0 over the whole run."""
    return _digest(f"span\0{number}\0{run_id}")[:16]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class CallTeller:
    """Tells the ledger of one run to `hear`; the first `told` records of it were told by earlier lives."""

    __slots__ = ("_ended", "_hear", "_run_id", "_told", "_trace_id")

    def __init__(self, hear: Callable[[CallRecord], None], run_id: str, told: int) -> None:
        self._hear, self._run_id, self._told = hear, run_id, told
        self._trace_id = trace_id_of(run_id)
        self._ended: dict[str, float] = {}

    def finished(self, call_id: str, at: float) -> None:
        """A call has run; `at` in seconds of the run's clock."""
        self._ended[call_id] = at

    def tell(self, ledger: Ledger, at: float) -> None:
        """Tell what was not told yet. A call that never ran, or ran in an earlier life, has ended `at`."""
        while self._told < len(ledger):
            number = self._told
            record = ledger.records.entries[number]
            self._told += 1
            self._hear(
                record._replace(
                    trace_id=self._trace_id,
                    span_id=span_id_of(self._run_id, number),
                    ended_at=self._ended.pop(record.call_id, at),
                )
            )
