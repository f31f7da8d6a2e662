"""Checkpoints in memory: the store of depth `sim` and of tests that need no file."""

from harness.loop.ports import StaleCheckpoint, Stored
from harness.loop.state import LoopState
from harness.loop.task import Task


class MemoryStore:
    """Keeps the newest state of each run. States are values, so a reference is enough."""

    def __init__(self) -> None:
        self._runs: dict[str, tuple[int, LoopState]] = {}
        self._sent: dict[str, set[str]] = {}

    def write(self, run_id: str, version: int, trigger: str, state: LoopState) -> int:
        """See CheckpointStore."""
        self._check(run_id, version)
        self._runs[run_id] = (version + 1, state)
        return version + 1

    def claim(self, run_id: str, version: int) -> int:
        """See CheckpointStore."""
        self._check(run_id, version)
        self._runs[run_id] = (version + 1, self._runs[run_id][1])
        return version + 1

    def mark_effect(self, run_id: str, version: int, call_id: str) -> None:
        """See CheckpointStore."""
        self._check(run_id, version)
        self._sent.setdefault(run_id, set()).add(call_id)

    def load(self, task: Task) -> Stored | None:
        """See CheckpointStore."""
        if task.run_id not in self._runs:
            return None
        version, state = self._runs[task.run_id]
        return Stored(version, state, frozenset(self._sent.get(task.run_id, ())))

    def _check(self, run_id: str, version: int) -> None:
        stored = self._runs[run_id][0] if run_id in self._runs else 0
        if stored != version:
            raise StaleCheckpoint(f"run {run_id!r} is at version {stored}, not {version}")
