"""What a driver needs from outside: a model, tools, a store, a clock, and somebody to tell.

The async ports serve real transports; the sync ones serve depth `sim`, where there is no wire and no event loop.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from harness.loop.state import LoopState
from harness.loop.task import Task
from harness.vocabulary.content import ToolCall
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.stream import StreamEvent
from harness.vocabulary.tools import CallRecord, ToolOutcome
from harness.vocabulary.trace import Record


class ModelPort(Protocol):
    """One model attempt as a stream of neutral events; faults come as `StreamFailed`, never as exceptions."""

    def attempt(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        """The events of one attempt."""
        ...


class ToolPort(Protocol):
    """Runs one call. `key` is the idempotency key: the same for every run of the same call."""

    async def run(self, call: ToolCall, key: str) -> ToolOutcome:
        """The typed outcome; an exception is the executor's own fault."""
        ...


class SyncModelPort(Protocol):
    """`ModelPort` without an event loop."""

    def attempt(self, request: ModelRequest) -> Iterable[StreamEvent]:
        """The events of one attempt."""
        ...


class SyncToolPort(Protocol):
    """`ToolPort` without an event loop."""

    def run(self, call: ToolCall, key: str) -> ToolOutcome:
        """The typed outcome."""
        ...


@dataclass(frozen=True, slots=True)
class Stored:
    """A checkpoint as it was read: its version, the state, and the calls whose effect was marked as sent."""

    version: int
    state: LoopState
    effects_sent: frozenset[str]


class StaleCheckpoint(Exception):
    """Another worker has written this run since it was read: this one has to stop and change nothing."""


class CheckpointStore(Protocol):
    """Durable states of runs. A write is a compare-and-set on the version and returns the new one."""

    def write(self, run_id: str, version: int, trigger: str, state: LoopState) -> int:
        """Store `state` as the successor of `version`. Raises StaleCheckpoint."""
        ...

    def claim(self, run_id: str, version: int) -> int:
        """Take over a run that was read at `version`, before any effect. Returns the new version. Raises
        StaleCheckpoint."""
        ...

    def mark_effect(self, run_id: str, version: int, call_id: str) -> None:
        """Make durable that the effect of a call may happen from now on. Raises StaleCheckpoint."""
        ...

    def load(self, task: Task) -> Stored | None:
        """The newest checkpoint of the task's run, or None."""
        ...


Model = TypeVar("Model")
Tools = TypeVar("Tools")


def _never_cancelled() -> str | None:
    return None


def _nothing(effect: str, about: str | None) -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports(Generic[Model, Tools]):
    """All that a driver needs. `wait` returns an awaitable under the async driver. `cancelled` is polled at the
    cancellation points and gives a reason once somebody cancels. `performed` hears of each effect after it was done
    (its name, and the call id, trigger or event name); what it raises goes straight through, as a crash would.
    `told_call` gets the telemetry of each disposed call once, in the order of the ledger, right behind the checkpoint
    that makes it durable: a process that dies in between has not told it, and nobody tells it later. What it raises
    goes straight through too."""

    model: Model
    tools: Tools
    store: CheckpointStore
    now: Callable[[], float]
    wait: Callable[[float], Awaitable[None] | None]
    observe: Callable[[Record], None]
    cancelled: Callable[[], str | None] = _never_cancelled
    performed: Callable[[str, str | None], None] = _nothing
    told_call: Callable[[CallRecord], None] | None = None


AsyncPorts = Ports[ModelPort, ToolPort]
SyncPorts = Ports[SyncModelPort, SyncToolPort]
