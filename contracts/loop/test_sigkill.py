"""Real processes, a real file, SIGKILL: what was recorded stays, what must not happen twice does not.

A child runs a task over a SQLite file and says each effect boundary that it passes. Half the children are killed while
they stand at a boundary, half at a seeded moment after they began. Then the run is resumed from the file, again and
again where that child is killed too. HARNESS_KILLS sets how many children are killed (default 60).
"""

import os
import random
import select
import signal
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from harness.loop.drive import resume_sync
from harness.loop.ports import Ports, SyncPorts
from harness.loop.sqlite_store import SqliteStore
from harness.loop.task import Task
from harness.vocabulary.content import AssistantMessage, Text, ToolCall, ToolResult
from harness.vocabulary.control import ReasonCode
from harness.vocabulary.outcome import RunOutcome, Status
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.settings import RunLimits, RunSettings
from harness.vocabulary.stream import StreamEvent, TurnEnded
from harness.vocabulary.tools import Effect, OutcomeClass, ToolDeclaration, ToolDefinition, ToolOutcome
from harness.vocabulary.turn import ModelTurn, StopReason

KILLS = int(os.environ.get("HARNESS_KILLS", "60"))
SEED = int(os.environ.get("HARNESS_SEED", "1"))
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}
TURNS: tuple[tuple[str, ...], ...] = (
    ("read", "pay"),
    ("put", "pay", "read"),
    ("change",),
    ("pay", "pay"),
    ("read", "put", "change", "pay"),
)

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked: POSIX only")


def _tool(name: str, effect: Effect) -> ToolDeclaration:
    return ToolDeclaration(definition=ToolDefinition(name=name, description=name, parameters=SCHEMA), effect=effect)


TASK = Task(
    run_id="r",
    system="s",
    user="u",
    tools=(
        _tool("read", Effect.READ_ONLY),
        _tool("put", Effect.IDEMPOTENT),
        _tool("change", Effect.CONDITIONAL),
        _tool("pay", Effect.NON_IDEMPOTENT),
    ),
    limits=RunLimits(max_steps=20, max_model_calls=20, max_tool_calls=40),
    settings=RunSettings(),
)


@dataclass
class World:
    """A model that answers by the length of the history, and tools whose effects are lines of a file."""

    effects: Path
    boundary: int = 0
    """The effect at which to stand still; 0: nowhere."""
    told: int = -1
    held: int = -1
    passed: int = field(default=0)

    def attempt(self, request: ModelRequest) -> Iterator[StreamEvent]:
        done = sum(isinstance(item, AssistantMessage) for item in request.items)
        names = TURNS[done] if done < len(TURNS) else ()
        calls = tuple(ToolCall(f"c{done}_{n}", name, f'{{"n":{10 * done + n}}}') for n, name in enumerate(names))
        stop = StopReason.TOOL_CALLS if calls else StopReason.END
        yield TurnEnded(0, ModelTurn(message=AssistantMessage(calls or (Text("Done."),)), stop=stop))

    def run(self, call: ToolCall, key: str) -> ToolOutcome:
        file = os.open(self.effects, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(file, f"{call.name} {call.call_id}\n".encode())
        os.close(file)
        return ToolOutcome(outcome=OutcomeClass.OK, content=(Text(f"{call.name} did {call.arguments}"),))

    def performed(self, effect: str, about: str | None) -> None:
        self.passed += 1
        if self.told >= 0:
            os.write(self.told, b".")
        if self.passed == self.boundary:
            os.read(self.held, 1)

    def ports(self, store: SqliteStore) -> SyncPorts:
        return Ports(
            model=self,
            tools=self,
            store=store,
            now=lambda: 0.0,
            wait=lambda seconds: None,
            observe=lambda record: None,
            performed=self.performed,
        )


def finish(folder: Path, world: World) -> RunOutcome:
    return resume_sync(TASK, world.ports(SqliteStore(str(folder / "runs.db"))))


def killed_child(folder: Path, boundary: int, delay: float) -> int:
    """Fork a child that goes on with the run, kill it, and return how many boundaries it had passed."""
    told, tell = os.pipe()
    hold, held = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(told)
            finish(folder, World(folder / "effects", boundary, tell, hold))
            code = 0
        finally:
            os._exit(code)
    os.close(tell)
    passed = 0
    waited = None if boundary else delay
    while select.select([told], [], [], waited)[0]:
        more = os.read(told, 4096)
        passed += len(more)
        if not more or (boundary and passed >= boundary):
            break
        waited = None if boundary else 0.0
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    for end in (told, hold, held):
        os.close(end)
    return passed


def recorded(folder: Path) -> dict[str, str]:
    """The results that the file holds."""
    stored = SqliteStore(str(folder / "runs.db")).load(TASK)
    items = stored.state.conversation if stored is not None else ()
    return {item.call_id: item.text for item in items if isinstance(item, ToolResult)}


def test_killed_runs_lose_no_result_and_repeat_no_effect(tmp_path: Path) -> None:
    random_ = random.Random(SEED)
    whole_folder = tmp_path / "whole"
    whole_folder.mkdir()
    world = World(whole_folder / "effects")
    whole = finish(whole_folder, world)
    points, hit, kills, run = world.passed, Counter[int](), 0, 0
    assert whole.status is Status.COMPLETED
    while kills < KILLS:
        run += 1
        folder = tmp_path / f"run{run}"
        folder.mkdir()
        known: dict[str, str] = {}
        for _ in range(random_.randint(1, 3)):
            at_boundary = kills % 2 == 0
            boundary = random_.randint(1, points) if at_boundary else 0
            passed = killed_child(folder, boundary, random_.uniform(0, 0.03))
            kills += 1
            hit[passed] += 1
            now = recorded(folder)
            assert known.items() <= now.items(), "a recorded result was lost"
            known = now
        _check(folder, whole, known)
    assert len(hit) > min(points, KILLS) // 4, f"too few points were hit: {sorted(hit)}"


def _check(folder: Path, whole: RunOutcome, known: dict[str, str]) -> None:
    outcome = finish(folder, World(folder / "effects"))
    results = {item.call_id: item for item in outcome.conversation if isinstance(item, ToolResult)}
    effects = Counter((folder / "effects").read_text(encoding="utf-8").split("\n"))
    paid = {line: times for line, times in effects.items() if line.startswith("pay ")}
    assert all(times == 1 for times in paid.values()), f"an effect happened twice: {paid}"
    assert outcome.status is Status.COMPLETED
    assert {name: results[name].text for name in known} == known, "a recorded result was lost"
    unknown = [name for name, item in results.items() if item.reason_code == ReasonCode.OUTCOME_UNKNOWN]
    assert len(results) == sum(map(len, TURNS))
    if not unknown:
        assert list(outcome.conversation) == list(whole.conversation)
        assert outcome.counters == whole.counters
