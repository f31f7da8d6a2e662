"""The driver and its stores: order of effects, crash at every effect, resume, fencing (loop.md sections 1, 8 and 9)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.loop.drive import UnknownDecision, cancel_sync, resume_sync, run_sync
from harness.loop.memory_store import MemoryStore
from harness.loop.ports import CheckpointStore, Ports, StaleCheckpoint, SyncPorts
from harness.loop.sqlite_store import SqliteStore
from harness.loop.task import Decision, Task
from harness.vocabulary.content import AssistantMessage, Text, ToolCall, ToolResult
from harness.vocabulary.outcome import RunOutcome, Status
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.settings import RunLimits, RunSettings
from harness.vocabulary.stream import StreamEvent, TextDelta, TurnEnded
from harness.vocabulary.tools import Effect, OutcomeClass, ToolDeclaration, ToolDefinition, ToolOutcome
from harness.vocabulary.trace import CheckpointWritten, EventEmitted, Record
from harness.vocabulary.turn import ModelTurn, StopReason

_SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}


class Crash(BaseException):
    """The process is gone."""


@dataclass
class World:
    """A scripted model keyed by the length of the history, so that a repeated attempt gets the same reply."""

    turns: list[tuple[str, ...]]
    crash_after: int | None = None
    runs: list[str] = field(default_factory=list)
    requests: list[ModelRequest] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    effects: int = 0

    def attempt(self, request: ModelRequest) -> Iterator[StreamEvent]:
        self.requests.append(request)
        done = sum(isinstance(item, AssistantMessage) for item in request.items)
        names = self.turns[done] if done < len(self.turns) and request.tool_choice is None else ()
        calls = [ToolCall(f"c{done}_{place}", name, f'{{"n":{place}}}') for place, name in enumerate(names)]
        parts = tuple(calls) if calls else (Text("answer"),)
        stop = StopReason.TOOL_CALLS if calls else StopReason.END
        yield TurnEnded(0, ModelTurn(message=AssistantMessage(parts), stop=stop))

    def run(self, call: ToolCall, key: str) -> ToolOutcome:
        self.runs.append(f"{call.name}:{call.call_id}")
        return ToolOutcome(outcome=OutcomeClass.OK, content=(Text("r" * 300),))

    def performed(self, effect: str, about: str | None) -> None:
        self.effects += 1
        if self.crash_after == self.effects:
            self.crash_after = None
            raise Crash

    def ports(self, store: CheckpointStore) -> SyncPorts:
        return Ports(
            model=self,
            tools=self,
            store=store,
            now=lambda: 0.0,
            wait=lambda seconds: None,
            observe=self.records.append,
            performed=self.performed,
        )


def _tool(name: str, effect: Effect, approval: bool = False) -> ToolDeclaration:
    definition = ToolDefinition(name=name, description=name, parameters=_SCHEMA)
    return ToolDeclaration(definition=definition, effect=effect, approval=approval)


TOOLS = (
    _tool("read", Effect.READ_ONLY),
    _tool("put", Effect.IDEMPOTENT),
    _tool("pay", Effect.NON_IDEMPOTENT),
    _tool("ask", Effect.NON_IDEMPOTENT, approval=True),
)


def _task(**settings: int) -> Task:
    limits = RunLimits(max_steps=9, max_model_calls=12, max_tool_calls=6)
    return Task(run_id="r", system="s", user="u", tools=TOOLS, limits=limits, settings=RunSettings(**settings))


def _finish(world: World, task: Task, ports: SyncPorts) -> RunOutcome:
    """Drive to a terminal outcome: approve what waits, resume after a crash."""
    outcome: RunOutcome | None = None
    while outcome is None or outcome.status is Status.SUSPENDED:
        waiting = outcome.waiting_for if outcome else ()
        try:
            outcome = resume_sync(task, ports, [Decision(call_id=name, approve=True) for name in waiting])
        except Crash:
            outcome = None
    return outcome


def _essence(outcome: RunOutcome) -> object:
    return outcome.status, outcome.message, outcome.reason, outcome.details, list(outcome.conversation)


batches = st.lists(
    st.lists(st.sampled_from(["read", "put", "pay", "ask", "nope"]), min_size=1, max_size=3).map(tuple), max_size=4
)


@given(turns=batches)
def test_a_store_on_disk_gives_back_the_state_that_memory_keeps(
    turns: list[tuple[str, ...]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("store") / "runs.db"
    task = _task(max_result_bytes=256, context_budget_tokens=200)
    memory, disk = World(turns), World(turns)
    with SqliteStore(path) as store:
        one = _finish(memory, task, memory.ports(MemoryStore()))
        other = _finish(disk, task, disk.ports(store))
    assert _essence(one) == _essence(other)
    assert [list(request.items) for request in memory.requests] == [list(request.items) for request in disk.requests]


@given(turns=batches, kill=st.integers(min_value=1, max_value=60))
def test_a_run_killed_after_any_effect_reaches_the_same_end(
    turns: list[tuple[str, ...]], kill: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    task = _task()
    plain = World(turns)
    expected = _finish(plain, task, plain.ports(MemoryStore()))
    killed = World(turns, crash_after=kill)
    with SqliteStore(tmp_path_factory.mktemp("crash") / "runs.db") as store:
        outcome = _finish(killed, task, killed.ports(store))
    paid = [run for run in killed.runs if run.startswith(("pay", "ask"))]
    assert len(paid) == len(set(paid)), "a non-idempotent effect happened twice"
    results = [item for item in outcome.conversation if isinstance(item, ToolResult)]
    if not any(item.reason_code == "tool.outcome_unknown" for item in results):
        assert _essence(outcome) == _essence(expected)
    assert outcome.counters.tool_calls <= 6


def test_a_resolved_run_returns_its_outcome_again_and_runs_nothing() -> None:
    world, task = World([("ask",)]), _task()
    ports = world.ports(MemoryStore())
    assert run_sync(task, ports).waiting_for == ("c0_0",)
    approve = [Decision(call_id="c0_0", approve=True)]
    first = resume_sync(task, ports, approve)
    again = resume_sync(task, ports, approve)
    assert first.status is Status.COMPLETED and again == first
    assert world.runs == ["ask:c0_0"]


def test_a_decision_for_an_unknown_call_is_refused() -> None:
    world, task = World([("ask",)]), _task()
    ports = world.ports(MemoryStore())
    run_sync(task, ports)
    with pytest.raises(UnknownDecision, match="'nobody'"):
        resume_sync(task, ports, [Decision(call_id="nobody", approve=True)])


def test_a_run_stays_suspended_until_every_decision_is_in() -> None:
    world, task = World([("ask", "read", "ask")]), _task()
    ports = world.ports(MemoryStore())
    assert run_sync(task, ports).waiting_for == ("c0_0", "c0_2")
    assert resume_sync(task, ports, [Decision(call_id="c0_2", approve=False)]).waiting_for == ("c0_0",)
    done = resume_sync(task, ports, [Decision(call_id="c0_0", approve=True)])
    assert world.runs == ["read:c0_1", "ask:c0_0"]
    codes = [item.reason_code for item in done.conversation if isinstance(item, ToolResult)]
    assert codes == [None, None, "tool.denied"]


def test_cancelling_a_suspended_run_answers_its_pending_calls() -> None:
    world, task = World([("ask", "read")]), _task()
    ports = world.ports(MemoryStore())
    run_sync(task, ports)
    outcome = cancel_sync(task, ports, "user left")
    assert outcome.status is Status.CANCELLED and outcome.reason == "user left"
    codes = [item.reason_code for item in outcome.conversation if isinstance(item, ToolResult)]
    assert codes == ["tool.cancelled", None]


@pytest.mark.parametrize("kind", ["memory", "disk"])
def test_of_two_workers_resuming_one_run_one_wins(kind: str, tmp_path: Path) -> None:
    store: CheckpointStore = MemoryStore() if kind == "memory" else SqliteStore(tmp_path / "runs.db")
    world, task = World([("ask",)]), _task()
    run_sync(task, world.ports(store))
    stored = store.load(task)
    assert stored is not None
    mine = store.claim("r", stored.version)
    late = stored.version
    for attempt in (
        lambda: store.claim("r", late),
        lambda: store.write("r", late, "tool_pending", stored.state),
        lambda: store.mark_effect("r", late, "c0_0"),
    ):
        with pytest.raises(StaleCheckpoint, match="'r' is at version"):
            attempt()
    assert store.write("r", mine, "tool_pending", stored.state) == mine + 1
    assert store.load(task) is not None and not store.load(task).effects_sent  # type: ignore[union-attr]


def test_a_decision_taken_before_a_crash_may_be_sent_again() -> None:
    world, task = World([("ask",)]), _task()
    ports = world.ports(MemoryStore())
    run_sync(task, ports)
    approve = [Decision(call_id="c0_0", approve=True)]
    world.crash_after = world.effects + 4
    with pytest.raises(Crash):
        resume_sync(task, ports, approve)
    assert resume_sync(task, ports, approve).status is Status.COMPLETED
    assert world.runs.count("ask:c0_0") == 1


def test_refusals_stand_in_the_checkpoint_before_dispatch() -> None:
    world = World([("read",) * 3, ("put",) * 8])
    outcome = _finish(world, _task(), world.ports(MemoryStore()))
    pending = [r for r in world.records if isinstance(r, CheckpointWritten) and r.trigger == "tool_pending"]
    refused = [item for item in pending[1].conversation if isinstance(item, ToolResult)][3:]
    assert [item.reason_code for item in refused] == ["tool.budget_exhausted"] * 5
    assert outcome.counters.tool_calls == 6 and outcome.counters.refused_calls == 5


def test_a_broken_machine_ends_the_run_as_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError("lost")

    monkeypatch.setattr("harness.loop.batch.fault_of", broken)
    world = World([("read",)])
    outcome = run_sync(_task(), world.ports(MemoryStore()))
    assert (outcome.reason, outcome.error_class) == ("internal_error", "LoopInvariantError")
    answered = [item for item in outcome.conversation if isinstance(item, ToolResult)]
    assert [item.call_id for item in answered] == ["c0_0"]


@dataclass
class Scripted:
    """A model port that plays given streams."""

    streams: list[list[StreamEvent]]

    def attempt(self, request: ModelRequest) -> Iterable[StreamEvent]:
        return self.streams.pop(0)


_SAID = TurnEnded(1, ModelTurn(message=AssistantMessage((Text("hello"),)), stop=StopReason.END))


@pytest.mark.parametrize(
    "stream",
    [
        [TextDelta(0, 0, "hello")],
        [TextDelta(1, 0, "hello"), _SAID],
        [TextDelta(0, 0, "help"), _SAID],
        [TextDelta(0, 3, "hello"), _SAID],
        [TextDelta(0, 0, "hello"), _SAID, TextDelta(2, 0, "more")],
        [],
    ],
)
def test_a_broken_stream_contract_is_a_protocol_error_and_is_not_retried(stream: list[StreamEvent]) -> None:
    world = World([])
    ports = Ports(
        model=Scripted([stream]),
        tools=world,
        store=MemoryStore(),
        now=lambda: 0.0,
        wait=lambda seconds: None,
        observe=world.records.append,
    )
    outcome = run_sync(_task(), ports)
    assert (outcome.reason, outcome.error_class) == ("model_permanent_error", "ModelProtocolError")
    failed = [r for r in world.records if isinstance(r, EventEmitted) and r.name == "model.failed"]
    assert [event.fields["will_retry"] for event in failed] == [False]
