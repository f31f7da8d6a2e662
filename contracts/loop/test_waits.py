"""Waits between attempts across a kill: what the provider asked for is waited for, once, and never past the deadline
(loop.model.retry-after, loop.crash.every-point)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.loop.drive import resume_sync
from harness.loop.memory_store import MemoryStore
from harness.loop.ports import CheckpointStore, Ports, SyncPorts
from harness.loop.sqlite_store import SqliteStore
from harness.loop.task import Task
from harness.vocabulary.content import AssistantMessage, Text
from harness.vocabulary.outcome import RunOutcome
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.settings import RunLimits
from harness.vocabulary.stream import StreamEvent, StreamFailed, TurnEnded
from harness.vocabulary.tools import ToolOutcome
from harness.vocabulary.turn import FaultKind, ModelFault, ModelTurn, StopReason

BEGUN = 0.1
"""The run's clock at the start: no round number, so that a sum and a difference need not meet again."""


class Crash(BaseException):
    """The process is gone."""


@dataclass
class World:
    """A provider that is busy `asked` times and then answers; a process that is killed after effect `crash_after` and
    comes back `down` seconds later."""

    asked: list[float]
    crash_after: int = 0
    down: float = 0.0
    clock: float = BEGUN
    attempts: list[float] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    stored: list[int] = field(default_factory=list)
    effects: int = 0
    unstored: bool = True
    rested: float = 0.0

    def attempt(self, request: ModelRequest) -> Iterator[StreamEvent]:
        self.attempts.append(self.clock)
        if len(self.attempts) > len(self.asked):
            turn = ModelTurn(message=AssistantMessage((Text("Hello."),)), stop=StopReason.END)
            yield TurnEnded(0, turn)
            return
        fault = ModelFault(
            kind=FaultKind.TRANSIENT, message="busy", status=429, retry_after=self.asked[len(self.attempts) - 1]
        )
        yield StreamFailed(0, fault)

    def run(self, call: object, key: str) -> ToolOutcome:
        raise AssertionError("this model calls no tool")

    def wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.clock += seconds

    def performed(self, effect: str, about: str | None) -> None:
        self.effects += 1
        self.unstored = effect == "call_model" or (self.unstored and effect != "write_checkpoint")
        if not self.unstored and len(self.attempts) <= len(self.asked):
            self.stored.append(self.effects)
        if self.effects == self.crash_after:
            self.rested = sum(self.waits)
            raise Crash

    def ports(self, store: CheckpointStore) -> SyncPorts:
        return Ports(
            model=self,
            tools=self,
            store=store,
            now=lambda: self.clock,
            wait=self.wait,
            observe=lambda record: None,
            performed=self.performed,
        )


def driven(world: World, store: CheckpointStore, deadline: float | None = None) -> RunOutcome:
    """Drive to the end, through a kill."""
    limits = RunLimits(max_steps=3, max_model_calls=5, max_tool_calls=1, deadline=deadline)
    task = Task(run_id="r", system="s", user="u", limits=limits)
    while True:
        try:
            return resume_sync(task, world.ports(store))
        except Crash:
            world.clock += world.down


def points_behind_a_failure(asked: list[float], deadline: float | None = None) -> list[int]:
    """The effects after which a run may be killed with its last attempt in the store."""
    world = World(asked)
    driven(world, MemoryStore(), deadline)
    return world.stored


STORES: dict[str, Callable[[Path], CheckpointStore]] = {
    "memory": lambda folder: MemoryStore(),
    "disk": lambda folder: SqliteStore(folder / "runs.db"),
}


@pytest.mark.parametrize("kind", STORES)
def test_a_run_killed_at_any_point_makes_the_attempts_of_the_whole_run_at_the_same_times(
    kind: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    whole = World([30.0, 7.3])
    expected = driven(whole, MemoryStore())
    assert whole.waits == [30.0, 7.3]
    for point in points_behind_a_failure(whole.asked):
        world = World(whole.asked, crash_after=point)
        outcome = driven(world, STORES[kind](tmp_path_factory.mktemp("store")))
        assert (world.attempts, world.waits) == (whole.attempts, whole.waits), f"killed after effect {point}"
        assert (outcome.message, outcome.counters) == (expected.message, expected.counters)


@given(asked=st.floats(0, 1e4), down=st.floats(0, 2e4), place=st.integers(0, 20))
def test_time_that_passed_while_nobody_ran_counts_as_waited(asked: float, down: float, place: int) -> None:
    points = points_behind_a_failure([asked])
    world = World([asked], crash_after=points[place % len(points)], down=down)
    driven(world, MemoryStore())
    first, second = world.attempts
    assert second - first == pytest.approx(max(asked, world.rested + down), abs=1e-6)


@pytest.mark.parametrize("down", [0.0, 5.0])
def test_a_wait_past_the_deadline_is_not_begun_after_a_kill_either(down: float) -> None:
    whole = World([31.0])
    expected = driven(whole, MemoryStore(), deadline=30.0)
    for point in points_behind_a_failure([31.0], deadline=30.0):
        world = World([31.0], crash_after=point, down=down)
        outcome = driven(world, MemoryStore(), deadline=30.0)
        assert world.waits == [] and len(world.attempts) == 1
        assert (outcome.reason, outcome.details) == (expected.reason, expected.details)
