"""The last event of a run says what its outcome says, whatever was killed on the way: told behind the checkpoint, and
again to whoever resumes a run that stands still (vocabulary.events, loop.crash.every-point)."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from harness.loop.drive import cancel_sync, resume_sync
from harness.loop.memory_store import MemoryStore
from harness.loop.ports import Ports, SyncPorts
from harness.loop.task import Decision, Task
from harness.vocabulary.content import AssistantMessage, Text, ToolCall
from harness.vocabulary.outcome import RunOutcome, Status
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.settings import RunLimits
from harness.vocabulary.stream import StreamEvent, StreamFailed, TurnEnded
from harness.vocabulary.tools import Effect, OutcomeClass, ToolDeclaration, ToolDefinition, ToolOutcome
from harness.vocabulary.trace import EventEmitted, Record
from harness.vocabulary.turn import FaultKind, ModelFault, ModelTurn, StopReason

PAY = ToolDeclaration(
    definition=ToolDefinition(name="pay", description="Pays.", parameters={"type": "object"}),
    effect=Effect.NON_IDEMPOTENT,
    approval=True,
)
TASK = Task(
    run_id="r",
    system="s",
    user="u",
    tools=(PAY,),
    limits=RunLimits(max_steps=5, max_model_calls=5, max_tool_calls=5),
)
ENDS = {
    Status.COMPLETED: "run.completed",
    Status.FAILED: "run.failed",
    Status.CANCELLED: "run.cancelled",
    Status.SUSPENDED: "run.suspended",
}


class Crash(BaseException):
    """The process is gone."""


@dataclass
class World:
    """A model that asks for two payments and then answers (or breaks); `crash_after` counts effects."""

    breaks: bool = False
    crash_after: int = 0
    effects: int = 0
    records: list[Record] = field(default_factory=list)
    store: MemoryStore = field(default_factory=MemoryStore)

    def attempt(self, request: ModelRequest) -> Iterator[StreamEvent]:
        if not any(isinstance(item, AssistantMessage) for item in request.items):
            calls = (ToolCall("a", "pay", '{"n":1}'), ToolCall("b", "pay", '{"n":2}'))
            yield TurnEnded(0, ModelTurn(message=AssistantMessage(calls), stop=StopReason.TOOL_CALLS))
        elif self.breaks:
            yield StreamFailed(0, ModelFault(kind=FaultKind.PERMANENT, message="no"))
        else:
            yield TurnEnded(0, ModelTurn(message=AssistantMessage((Text("Paid."),)), stop=StopReason.END))

    def run(self, call: ToolCall, key: str) -> ToolOutcome:
        return ToolOutcome(outcome=OutcomeClass.OK, content=(Text("Done."),))

    def performed(self, effect: str, about: str | None) -> None:
        self.effects += 1
        if self.effects == self.crash_after:
            raise Crash

    def ports(self) -> SyncPorts:
        return Ports(
            model=self,
            tools=self,
            store=self.store,
            now=lambda: 0.0,
            wait=lambda seconds: None,
            observe=self.records.append,
            performed=self.performed,
        )

    @property
    def events(self) -> list[str]:
        return [one.name for one in self.records if isinstance(one, EventEmitted)]

    def resumed(self, *approved: str, refused: tuple[str, ...] = ()) -> RunOutcome:
        """The outcome of a resume; after a kill, of the resume of a worker that knows of no decision."""
        decisions = [Decision(call_id=name, approve=True) for name in approved]
        decisions += [Decision(call_id=name, approve=False) for name in refused]
        try:
            return resume_sync(TASK, self.ports(), decisions)
        except Crash:
            return resume_sync(TASK, self.ports())


def lives(world: World) -> Iterator[RunOutcome]:
    """A run through a suspension, a half decision and its end."""
    yield world.resumed()
    yield world.resumed("b")
    yield world.resumed("a")


@pytest.mark.parametrize("breaks", [False, True])
def test_each_life_ends_with_the_event_of_its_outcome_wherever_the_run_was_killed(breaks: bool) -> None:
    whole = World(breaks)
    assert [outcome.status for outcome in lives(whole)][:2] == [Status.SUSPENDED, Status.SUSPENDED]
    for point in range(1, whole.effects + 1):
        world = World(breaks, crash_after=point)
        for outcome in lives(world):
            told = [one for one in world.records if isinstance(one, EventEmitted)][-1]
            assert told.name == ENDS[outcome.status], f"killed after effect {point}"
            assert told.fields.get("waiting_for", []) == list(outcome.waiting_for)


def test_a_run_that_goes_on_at_once_does_not_say_that_it_waits() -> None:
    world = World()
    world.resumed()
    before = len(world.events)
    assert world.resumed("a", "b").status is Status.COMPLETED
    assert "run.suspended" not in world.events[before:]
    assert world.events[before:].count("run.completed") == 1


def test_a_suspended_run_that_is_cancelled_does_not_say_that_it_waits() -> None:
    world = World()
    world.resumed()
    before = len(world.events)
    assert cancel_sync(TASK, world.ports(), "not needed").status is Status.CANCELLED
    assert world.events[before:] == ["run.resumed", "run.cancelled"]


def test_a_bare_resume_says_again_where_the_run_stands_and_does_nothing() -> None:
    world = World()
    for expected in ("run.suspended", "run.completed"):
        outcome = world.resumed() if expected == "run.suspended" else world.resumed("a", refused=("b",))
        written, before = world.store.load(TASK), len(world.records)
        again = world.resumed()
        assert again == outcome
        assert world.events[-1] == expected
        stored = world.store.load(TASK)
        assert written is not None and stored is not None and stored.state == written.state
        assert {type(one).__name__ for one in world.records[before:]} == {"EventEmitted", "RunEnded"}
