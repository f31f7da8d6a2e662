"""Properties of the pure loop over generated models: whatever a model does, the budgets hold, every call is answered
once and in order, the history only grows, and each request is legal on every wire.

A generated model is a list of turns; a turn is text, nothing, a fault, or a batch of calls by tool and argument, so
that batches overrun budgets, repeat each other, name unknown tools and carry broken arguments.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from hypothesis import given
from hypothesis import strategies as st

from harness.loop.drive import run_sync
from harness.loop.memory_store import MemoryStore
from harness.loop.ports import Ports, SyncPorts
from harness.loop.task import Task
from harness.transports.registry import TRANSPORT_IDS, adapter
from harness.vocabulary.content import AssistantMessage, Item, Text, ToolCall, ToolResult
from harness.vocabulary.control import ReasonCode
from harness.vocabulary.outcome import Reason, RunOutcome, Status
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.settings import RunLimits, RunSettings
from harness.vocabulary.stream import StreamEvent, StreamFailed, TurnEnded
from harness.vocabulary.tools import Effect, OutcomeClass, ToolDeclaration, ToolDefinition, ToolOutcome
from harness.vocabulary.turn import FaultKind, ModelFault, ModelTurn, StopReason
from harness.wire.registry import codec

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False}
ARGUMENTS = ('{"n":1}', '{"n":2}', '{"n": 1.0}', "", "{half", '{"n":"x"}')
Batch: TypeAlias = tuple[tuple[str, str], ...]
Move: TypeAlias = Batch | str
calls = st.tuples(st.sampled_from(["read", "put", "pay", "no-such"]), st.sampled_from(ARGUMENTS))
batches = st.lists(calls, min_size=1, max_size=6).map(tuple) | st.builds(
    lambda one, n: (one,) * n, calls, st.integers(1, 6)
)
"""Batches of any calls, and of one call over and over."""
moves: st.SearchStrategy[list[Move]] = st.lists(
    batches | st.sampled_from(["text", "empty", "busy", "broken"]), max_size=12
)
outcomes = st.lists(st.sampled_from(list(OutcomeClass)), min_size=1, max_size=5)


@st.composite
def limits(draw: st.DrawFn) -> RunLimits:
    """Small limits, so that they are met; each reserve below its limit."""
    steps, calls, tools = (draw(st.integers(1, 9)) for _ in range(3))
    return RunLimits(
        max_steps=steps,
        max_model_calls=calls,
        max_tool_calls=tools,
        synthesis_reserve_steps=draw(st.integers(0, steps - 1)),
        synthesis_reserve_model_calls=draw(st.integers(0, calls - 1)),
        synthesis_reserve_tool_calls=draw(st.integers(0, tools - 1)),
    )


@dataclass
class World:
    """A model that makes its moves in order and then answers; tools whose outcomes come round."""

    moves: list[Move]
    outcomes: list[OutcomeClass]
    requests: list[ModelRequest] = field(default_factory=list)
    histories: list[tuple[Item, ...]] = field(default_factory=list)
    runs: list[ToolCall] = field(default_factory=list)

    def attempt(self, request: ModelRequest) -> Iterator[StreamEvent]:
        self.requests.append(request)
        self.histories.append(tuple(request.items))
        move = self.moves[len(self.requests) - 1] if len(self.requests) <= len(self.moves) else "text"
        if move in ("busy", "broken"):
            kind = FaultKind.TRANSIENT if move == "busy" else FaultKind.PROTOCOL
            yield StreamFailed(0, ModelFault(kind=kind, message="no"))
            return
        yield TurnEnded(0, _turn(move, len(self.requests)))

    def run(self, call: ToolCall, key: str) -> ToolOutcome:
        self.runs.append(call)
        return ToolOutcome(outcome=self.outcomes[len(self.runs) % len(self.outcomes)], content=(Text("r" * 40),))

    def ports(self) -> SyncPorts:
        return Ports(
            model=self,
            tools=self,
            store=MemoryStore(),
            now=lambda: 0.0,
            wait=lambda seconds: None,
            observe=lambda record: None,
        )


def _turn(move: Move, n: int) -> ModelTurn:
    if isinstance(move, str):
        text = (Text("The answer."),) if move == "text" else ()
        return ModelTurn(message=AssistantMessage(text), stop=StopReason.END)
    calls = tuple(ToolCall(f"c{n}_{place}", tool, raw) for place, (tool, raw) in enumerate(move))
    return ModelTurn(message=AssistantMessage(calls), stop=StopReason.TOOL_CALLS)


def _tool(name: str, effect: Effect) -> ToolDeclaration:
    return ToolDeclaration(definition=ToolDefinition(name=name, description=name, parameters=SCHEMA), effect=effect)


TOOLS = (_tool("read", Effect.READ_ONLY), _tool("put", Effect.IDEMPOTENT), _tool("pay", Effect.NON_IDEMPOTENT))


def driven(world: World, bounds: RunLimits, **settings: Any) -> RunOutcome:
    task = Task(
        run_id="r", system="Be exact.", user="Go.", tools=TOOLS, limits=bounds, settings=RunSettings(**settings)
    )
    return run_sync(task, world.ports())


@given(moves, outcomes, limits())
def test_no_limit_is_ever_passed(made: list[Move], outcomes: list[OutcomeClass], bounds: RunLimits) -> None:
    """loop.budget.fit-before-dispatch, loop.budget.hard-stop, loop.budget.accounting."""
    world = World(made, outcomes)
    outcome = driven(world, bounds)
    assert len(world.runs) <= bounds.max_tool_calls
    assert len(world.requests) <= bounds.max_model_calls
    assert outcome.counters.steps <= bounds.max_steps
    assert outcome.counters.tool_calls == len(world.runs)
    assert outcome.counters.model_calls == len(world.requests)
    assert outcome.status in (Status.COMPLETED, Status.FAILED)


@given(moves, outcomes, limits())
def test_every_call_is_answered_once_and_in_order(
    made: list[Move], outcomes: list[OutcomeClass], bounds: RunLimits
) -> None:
    """loop.tools.every-call-answered: in every outcome, whatever ended the run."""
    items = list(driven(World(made, outcomes), bounds).conversation)
    place = 0
    while place < len(items):
        item = items[place]
        calls = item.calls if isinstance(item, AssistantMessage) else ()
        results = items[place + 1 : place + 1 + len(calls)]
        assert [one.call_id for one in results if isinstance(one, ToolResult)] == [call.call_id for call in calls]
        place += 1 + len(calls)
    assert sum(isinstance(one, ToolResult) for one in items) == sum(
        len(one.calls) for one in items if isinstance(one, AssistantMessage)
    )


@given(moves, outcomes, limits())
def test_the_refused_are_counted_and_never_run(
    made: list[Move], outcomes: list[OutcomeClass], bounds: RunLimits
) -> None:
    """loop.budget.refusal-is-a-result."""
    world = World(made, outcomes)
    outcome = driven(world, bounds)
    refused = [
        item.call_id
        for item in outcome.conversation
        if isinstance(item, ToolResult) and item.reason_code == ReasonCode.BUDGET_EXHAUSTED
    ]
    assert len(refused) == outcome.counters.refused_calls
    assert not set(refused) & {call.call_id for call in world.runs}


@given(moves, outcomes, limits())
def test_the_history_only_grows_and_the_prefix_is_frozen(
    made: list[Move], outcomes: list[OutcomeClass], bounds: RunLimits
) -> None:
    """loop.context.prefix-frozen; a run this small elides nothing."""
    world = World(made, outcomes)
    driven(world, bounds)
    for before, after in zip(world.histories, world.histories[1:], strict=False):
        assert after[: len(before)] == before
    assert len({(request.system, len(request.tools)) for request in world.requests}) <= 1


@given(moves, outcomes, limits())
def test_each_request_is_legal_on_every_wire(made: list[Move], outcomes: list[OutcomeClass], bounds: RunLimits) -> None:
    """wire.legal: whatever the model did, nothing is sent that a provider would refuse."""
    world = World(made, outcomes)
    driven(world, bounds)
    for request, items in zip(world.requests, world.histories, strict=True):
        for transport in TRANSPORT_IDS:
            payload = json.loads(adapter(transport).render(_at(request, items), stream=True))
            assert codec(transport).judge(payload) == []


def _at(request: ModelRequest, items: tuple[Item, ...]) -> ModelRequest:
    return replace(request, items=items)


PAY = ("pay", '{"n":1}')


@given(moves, outcomes, st.integers(1, 6), st.integers(2, 6))
def test_no_signature_runs_as_often_as_the_threshold(
    made: list[Move], outcomes: list[OutcomeClass], times: int, threshold: int
) -> None:
    """loop.breaker.hard-limit-before-dispatch, for a tool that is no observation: nothing restarts its count."""
    world = World([(PAY,) * times, *made], outcomes)
    bounds = RunLimits(max_steps=20, max_model_calls=20, max_tool_calls=40)
    outcome = driven(world, bounds, identical_call_threshold=threshold)
    paid = sum((call.name, call.arguments) == PAY for call in world.runs)
    assert paid < threshold
    if times >= threshold:
        assert (paid, outcome.reason) == (0, Reason.TOOL_LOOP_DETECTED)


@given(moves, outcomes, limits())
def test_synthesis_allows_no_tool_and_the_run_ends_with_it(
    made: list[Move], outcomes: list[OutcomeClass], bounds: RunLimits
) -> None:
    """loop.synthesis.tool-choice, loop.breaker.no-extra-allowance: no ordinary request follows a synthesis one."""
    world = World(made, outcomes)
    driven(world, bounds)
    modes = [request.tool_choice for request in world.requests]
    assert modes == sorted(modes, key=lambda mode: mode is not None)
    assert all((request.control is not None) == (request.tool_choice == "none") for request in world.requests)


@given(moves, outcomes, limits())
def test_two_runs_of_one_world_are_equal(made: list[Move], outcomes: list[OutcomeClass], bounds: RunLimits) -> None:
    """The machine holds no clock and no randomness."""
    ends = [driven(World(made, outcomes), bounds) for _ in range(2)]
    assert list(ends[0].conversation) == list(ends[1].conversation)
    assert (ends[0].status, ends[0].reason, ends[0].counters) == (ends[1].status, ends[1].reason, ends[1].counters)
