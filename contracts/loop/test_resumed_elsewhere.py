"""Decisions and cancels that reach a run which was killed before it stood still: taken at any point, once, and nothing
is begun that a cancel would end (loop.approval.once, loop.cancel.points, loop.crash.every-point)."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from harness.loop.drive import cancel_sync, resume_sync
from harness.loop.memory_store import MemoryStore
from harness.loop.ports import Ports, SyncPorts
from harness.loop.task import Decision, Task
from harness.vocabulary.content import AssistantMessage, Text, ToolCall, ToolResult
from harness.vocabulary.outcome import Status
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.settings import RunLimits
from harness.vocabulary.stream import StreamEvent, StreamFailed, TurnEnded
from harness.vocabulary.tools import Effect, OutcomeClass, ToolDeclaration, ToolDefinition, ToolOutcome
from harness.vocabulary.turn import FaultKind, ModelFault, ModelTurn, StopReason


def _tool(name: str, effect: Effect, *, approval: bool = False) -> ToolDeclaration:
    definition = ToolDefinition(name=name, description=name, parameters={"type": "object"})
    return ToolDeclaration(definition=definition, effect=effect, approval=approval)


TASK = Task(
    run_id="r",
    system="s",
    user="u",
    tools=(
        _tool("read", Effect.READ_ONLY),
        _tool("save", Effect.NON_IDEMPOTENT),
        _tool("pay", Effect.NON_IDEMPOTENT, approval=True),
    ),
    limits=RunLimits(max_steps=5, max_model_calls=6, max_tool_calls=6),
)
CALLS = (
    ToolCall("a", "save", ""),
    ToolCall("b", "pay", '{"n":1}'),
    ToolCall("c", "read", ""),
    ToolCall("d", "pay", ""),
)


class Crash(BaseException):
    """The process is gone."""


@dataclass
class World:
    """A model that is busy once, asks for four calls, and then answers."""

    crash_after: int = 0
    effects: int = 0
    attempts: int = 0
    waits: int = 0
    runs: list[str] = field(default_factory=list)
    done: list[tuple[str, str | None]] = field(default_factory=list)
    store: MemoryStore = field(default_factory=MemoryStore)

    def attempt(self, request: ModelRequest) -> Iterator[StreamEvent]:
        self.attempts += 1
        if self.attempts == 1:
            yield StreamFailed(0, ModelFault(kind=FaultKind.TRANSIENT, message="busy"))
        elif not any(isinstance(item, AssistantMessage) for item in request.items):
            yield TurnEnded(0, ModelTurn(message=AssistantMessage(CALLS), stop=StopReason.TOOL_CALLS))
        else:
            yield TurnEnded(0, ModelTurn(message=AssistantMessage((Text("Done."),)), stop=StopReason.END))

    def run(self, call: ToolCall, key: str) -> ToolOutcome:
        self.runs.append(call.call_id)
        return ToolOutcome(outcome=OutcomeClass.OK, content=(Text("Done."),))

    def wait(self, seconds: float) -> None:
        self.waits += 1

    def performed(self, effect: str, about: str | None) -> None:
        self.effects += 1
        self.done.append((effect, about))
        if self.effects == self.crash_after:
            raise Crash

    def ports(self) -> SyncPorts:
        return Ports(
            model=self,
            tools=self,
            store=self.store,
            now=lambda: 0.0,
            wait=self.wait,
            observe=lambda record: None,
            performed=self.performed,
        )


def killed(point: int) -> World:
    """A run on its way to its suspension, killed after an effect."""
    world = World(crash_after=point)
    with pytest.raises(Crash):
        resume_sync(TASK, world.ports())
    return world


def whole() -> World:
    """The same run, suspended."""
    world = World()
    assert resume_sync(TASK, world.ports()).waiting_for == ("b", "d")
    return world


POINTS = range(1, whole().effects + 1)
ASKED = whole().done.index(("ask_approval", "d")) + 1


@pytest.mark.parametrize("point", [point for point in POINTS if point >= ASKED])
def test_a_decision_counts_although_the_run_was_killed_before_its_suspension_was_stored(point: int) -> None:
    world = killed(point)
    decisions = [Decision(call_id="b", approve=True), Decision(call_id="d", approve=False)]
    outcome = resume_sync(TASK, world.ports(), decisions)
    assert (outcome.status, outcome.message) == (Status.COMPLETED, "Done.")
    assert (world.runs.count("a"), world.runs.count("b"), world.runs.count("d")) == (1, 1, 0)
    results = [item for item in outcome.conversation if isinstance(item, ToolResult)]
    assert [item.call_id for item in results] == ["a", "b", "c", "d"]
    assert [item.reason_code for item in results] == [None, None, None, "tool.denied"]


@pytest.mark.parametrize("point", POINTS)
def test_a_cancel_of_a_killed_run_begins_nothing_and_answers_every_call(point: int) -> None:
    world = killed(point)
    if world.store.load(TASK) is None:
        return
    before = (world.attempts, world.waits, len(world.runs))
    outcome = cancel_sync(TASK, world.ports(), "not needed")
    assert (outcome.status, outcome.reason) == (Status.CANCELLED, "not needed")
    assert (world.attempts, world.waits, len(world.runs)) == before
    calls = [call for item in outcome.conversation if isinstance(item, AssistantMessage) for call in item.calls]
    results = [item for item in outcome.conversation if isinstance(item, ToolResult)]
    assert [item.call_id for item in results] == [call.call_id for call in calls]
