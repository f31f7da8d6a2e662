"""The append-only ledger of disposed calls: telemetry, and the source from which counters are rebuilt on resume."""

from collections.abc import Iterator
from dataclasses import dataclass

from harness.vocabulary.tools import CallRecord


class Records:
    """Shared storage of ledgers. Appended to, never edited."""

    __slots__ = ("entries",)

    def __init__(self, entries: list[CallRecord] | None = None) -> None:
        self.entries: list[CallRecord] = entries if entries is not None else []


@dataclass(frozen=True, slots=True, eq=False)
class Ledger:
    """The first `length` records of a shared list; an append that is not at its end branches it."""

    records: Records
    length: int = 0

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[CallRecord]:
        return (self.records.entries[place] for place in range(self.length))

    def append(self, record: CallRecord) -> "Ledger":
        """This ledger with one more record."""
        at_end = len(self.records.entries) == self.length
        records = self.records if at_end else Records(self.records.entries[: self.length])
        records.entries.append(record)
        return Ledger(records, self.length + 1)
