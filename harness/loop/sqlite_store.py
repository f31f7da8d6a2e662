"""Checkpoints in one SQLite file: WAL, one writer at a time, compare-and-set on the version of a run.

`synchronous=NORMAL` survives a killed process; `FULL` also survives a power cut. Items and records are written once,
so a checkpoint costs what is new, not what there is.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from harness.loop.persist import dump_head, dump_item, dump_record, load_item, load_record, load_state
from harness.loop.ports import StaleCheckpoint, Stored
from harness.loop.state import LoopState
from harness.loop.task import Task

_SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (run_id TEXT PRIMARY KEY, version INTEGER NOT NULL, trigger TEXT NOT NULL,
    items INTEGER NOT NULL, records INTEGER NOT NULL, head TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS items (run_id TEXT, place INTEGER, body TEXT NOT NULL, PRIMARY KEY (run_id, place));
CREATE TABLE IF NOT EXISTS records (run_id TEXT, place INTEGER, body TEXT NOT NULL, PRIMARY KEY (run_id, place));
CREATE TABLE IF NOT EXISTS effects (run_id TEXT, call_id TEXT, PRIMARY KEY (run_id, call_id));
"""


class SqliteStore:
    """A `CheckpointStore` on `path`, created if need be. Close it, or use it as a context manager."""

    def __init__(self, path: str | Path, *, synchronous: Literal["NORMAL", "FULL"] = "NORMAL") -> None:
        self._db = sqlite3.connect(path, isolation_level=None, timeout=10.0)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute(f"PRAGMA synchronous={synchronous}")
        self._db.executescript(_SCHEMA)

    def __enter__(self) -> "SqliteStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the file."""
        self._db.close()

    def write(self, run_id: str, version: int, trigger: str, state: LoopState) -> int:
        """See CheckpointStore."""
        with self._transaction():
            stored = self._checked(run_id, version)
            self._append(run_id, stored, state)
            row = (run_id, version + 1, trigger, len(state.history), len(state.ledger), dump_head(state))
            self._db.execute("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?)", row)
        return version + 1

    def claim(self, run_id: str, version: int) -> int:
        """See CheckpointStore."""
        with self._transaction():
            self._checked(run_id, version)
            self._db.execute("UPDATE runs SET version = ? WHERE run_id = ?", (version + 1, run_id))
        return version + 1

    def mark_effect(self, run_id: str, version: int, call_id: str) -> None:
        """See CheckpointStore."""
        with self._transaction():
            self._checked(run_id, version)
            self._db.execute("INSERT OR IGNORE INTO effects VALUES (?, ?)", (run_id, call_id))

    def load(self, task: Task) -> Stored | None:
        """See CheckpointStore."""
        row = self._db.execute("SELECT version, head FROM runs WHERE run_id = ?", (task.run_id,)).fetchone()
        if row is None:
            return None
        items = [load_item(body) for body in self._bodies("items", task.run_id)]
        records = [load_record(body) for body in self._bodies("records", task.run_id)]
        sent = self._db.execute("SELECT call_id FROM effects WHERE run_id = ?", (task.run_id,)).fetchall()
        return Stored(row[0], load_state(task, row[1], items, records), frozenset(call_id for (call_id,) in sent))

    def _append(self, run_id: str, stored: tuple[int, int, int], state: LoopState) -> None:
        whole = state.history.whole
        items = [(run_id, place, dump_item(whole[place])) for place in range(stored[1], len(whole))]
        entries = state.ledger.records.entries
        records = [(run_id, place, dump_record(entries[place])) for place in range(stored[2], len(state.ledger))]
        self._db.executemany("INSERT INTO items VALUES (?, ?, ?)", items)
        self._db.executemany("INSERT INTO records VALUES (?, ?, ?)", records)

    def _checked(self, run_id: str, version: int) -> tuple[int, int, int]:
        stored = self._stored(run_id)
        if stored[0] != version:
            raise StaleCheckpoint(f"run {run_id!r} is at version {stored[0]}, not {version}")
        return stored

    def _stored(self, run_id: str) -> tuple[int, int, int]:
        row = self._db.execute("SELECT version, items, records FROM runs WHERE run_id = ?", (run_id,)).fetchone()
        return row or (0, 0, 0)

    def _bodies(self, table: Literal["items", "records"], run_id: str) -> list[str]:
        rows = self._db.execute(f"SELECT body FROM {table} WHERE run_id = ? ORDER BY place", (run_id,))
        return [body for (body,) in rows]

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")
