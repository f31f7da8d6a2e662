"""The telemetry of calls: each disposed call is told once, in order, whichever driver runs it and however often it
dies (loop.md section 3, "Retry or recursion")."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.loop.drive import cancel_sync, resume, resume_sync
from harness.loop.memory_store import MemoryStore
from harness.loop.ports import CheckpointStore, Ports
from harness.loop.sqlite_store import SqliteStore
from harness.loop.task import Decision, Task
from harness.recording.call_records import read_calls
from harness.recording.told_calls import call_line
from harness.vocabulary.content import AssistantMessage, Text, ToolCall, ToolResult
from harness.vocabulary.outcome import RunOutcome, Status
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.settings import RunLimits
from harness.vocabulary.stream import StreamEvent, TurnEnded
from harness.vocabulary.tools import CallRecord, Effect, OutcomeClass, ToolDeclaration, ToolDefinition, ToolOutcome
from harness.vocabulary.turn import ModelTurn, StopReason

SECRET = "the-customer's-own-words"
TAKES = {"read": 0.25, "pay": 2.0}
"""How many seconds a tool takes."""


class Crash(BaseException):
    """The process is gone."""


@dataclass
class World:
    """A scripted model, tools that take time, and whoever hears of the calls."""

    turns: list[tuple[str, ...]]
    crash_after: int | None = None
    told: list[CallRecord] = field(default_factory=list)
    at: float = 1000.0
    effects: int = 0

    def attempt(self, request: ModelRequest) -> Iterator[StreamEvent]:
        done = sum(isinstance(item, AssistantMessage) for item in request.items)
        tools = self.turns[done] if done < len(self.turns) and request.tool_choice is None else ()
        calls = [
            ToolCall(f"c{done}_{n}", tool, json.dumps({"n": [done, n], "q": SECRET})) for n, tool in enumerate(tools)
        ]
        stop = StopReason.TOOL_CALLS if calls else StopReason.END
        message = AssistantMessage(tuple(calls) if calls else (Text("answer"),))
        yield TurnEnded(0, ModelTurn(message=message, stop=stop))

    def run(self, call: ToolCall, key: str) -> ToolOutcome:
        self.at += TAKES.get(call.name, 0.0)
        failed = call.name == "pay"
        return ToolOutcome(outcome=OutcomeClass.ERROR if failed else OutcomeClass.OK, content=(Text(SECRET),))

    def performed(self, effect: str, about: str | None) -> None:
        self.effects += 1
        if self.crash_after == self.effects:
            self.crash_after = None
            raise Crash

    def ports(self, store: CheckpointStore) -> Ports[Any, Any]:
        return Ports(
            model=self,
            tools=self,
            store=store,
            now=lambda: self.at,
            wait=lambda seconds: None,
            observe=lambda record: None,
            performed=self.performed,
            told_call=self.told.append,
        )


class AsyncSide:
    """The same world behind an event loop."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def attempt(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        for event in self._world.attempt(request):
            yield event

    async def run(self, call: ToolCall, key: str) -> ToolOutcome:
        return self._world.run(call, key)


def _tool(name: str, effect: Effect, **promises: Any) -> ToolDeclaration:
    definition = ToolDefinition(name=name, description=name, parameters={"type": "object"})
    return ToolDeclaration(definition=definition, effect=effect, **promises)


TASK = Task(
    run_id="run-7",
    system="s",
    user="u",
    tools=(
        _tool("read", Effect.READ_ONLY),
        _tool("pay", Effect.NON_IDEMPOTENT),
        _tool("ask", Effect.IDEMPOTENT, approval=True),
        _tool("never", Effect.IDEMPOTENT, denied="policy"),
    ),
    limits=RunLimits(max_steps=9, max_model_calls=12, max_tool_calls=6),
)
ONE_OF_EACH = [("read", "read", "ask"), ("never", "nope", "pay")]
batches = st.lists(
    st.lists(st.sampled_from(["read", "pay", "ask", "never", "nope"]), min_size=1, max_size=3).map(tuple), max_size=4
)


def _finish(world: World, store: CheckpointStore) -> RunOutcome:
    """Drive to a terminal outcome: approve what waits, resume after a crash."""
    outcome: RunOutcome | None = None
    while outcome is None or outcome.status is Status.SUSPENDED:
        waiting = outcome.waiting_for if outcome else ()
        try:
            outcome = resume_sync(TASK, world.ports(store), [Decision(call_id=one, approve=True) for one in waiting])
        except Crash:
            outcome = None
    return outcome


def _answered(outcome: RunOutcome) -> list[str]:
    return [item.call_id for item in outcome.conversation if isinstance(item, ToolResult)]


@given(turns=batches)
def test_each_disposed_call_is_told_once_and_in_order(turns: list[tuple[str, ...]]) -> None:
    world = World(turns)
    outcome = _finish(world, MemoryStore())
    assert [call.call_id for call in world.told] == _answered(outcome)
    assert len({call.span_id for call in world.told}) == len(world.told)
    assert len({call.trace_id for call in world.told}) <= 1


@given(turns=batches, kill=st.integers(min_value=1, max_value=60))
def test_a_killed_run_tells_each_call_once_and_with_the_ids_of_the_whole_run(
    turns: list[tuple[str, ...]], kill: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    whole, killed = World(turns), World(turns, crash_after=kill)
    _finish(whole, MemoryStore())
    with SqliteStore(tmp_path_factory.mktemp("killed") / "runs.db") as store:
        outcome = _finish(killed, store)
    assert [call.call_id for call in killed.told] == _answered(outcome)
    ids = [(call.trace_id, call.span_id) for call in whole.told]
    assert [(call.trace_id, call.span_id) for call in killed.told][: len(ids)] == ids[: len(killed.told)]


def test_both_drivers_tell_the_same() -> None:
    one, other = World(ONE_OF_EACH), World(ONE_OF_EACH)
    _finish(one, MemoryStore())

    async def finish() -> None:
        ports = replace(other.ports(MemoryStore()), model=AsyncSide(other), tools=AsyncSide(other))
        outcome = await resume(TASK, ports)
        while outcome.status is Status.SUSPENDED:
            approved = [Decision(call_id=name, approve=True) for name in outcome.waiting_for]
            outcome = await resume(TASK, ports, approved)

    asyncio.run(finish())
    assert one.told == other.told
    assert len(one.told) == 6


def test_a_record_says_how_the_call_went_and_how_long_it_took() -> None:
    world = World([("read", "read", "pay", "never", "nope")])
    _finish(world, MemoryStore())
    shown = [(call.tool, call.outcome, call.latency_ms, call.ended_at, call.counted) for call in world.told]
    assert shown == [
        ("read", OutcomeClass.OK, 250.0, 1000.25, True),
        ("read", OutcomeClass.OK, 250.0, 1000.5, True),
        ("pay", OutcomeClass.ERROR, 2000.0, 1002.5, True),
        ("never", None, None, 1002.5, False),
        ("nope", OutcomeClass.ERROR, None, 1002.5, True),
    ]
    assert all(len(call.trace_id) == 32 and len(call.span_id) == 16 for call in world.told)


def test_calls_that_a_cancel_answers_are_told_too() -> None:
    world, store = World([("ask", "ask")]), MemoryStore()
    resume_sync(TASK, world.ports(store))
    assert world.told == []
    cancel_sync(TASK, world.ports(store), "enough")
    assert [(call.call_id, call.counted) for call in world.told] == [("c0_0", False), ("c0_1", False)]
    resume_sync(TASK, world.ports(store))
    assert len(world.told) == 2, "a run that has ended told its calls again"


def test_another_run_has_other_ids() -> None:
    worlds = [World([("read", "pay")]), World([("read", "pay")])]
    for number, world in enumerate(worlds):
        resume_sync(replace(TASK, run_id=f"run-{number}"), world.ports(MemoryStore()))
    assert len({call.trace_id for world in worlds for call in world.told}) == 2
    assert len({call.span_id for world in worlds for call in world.told}) == 4


def test_a_line_holds_no_argument_and_is_read_back_as_it_was() -> None:
    world = World(ONE_OF_EACH)
    _finish(world, MemoryStore())
    lines = [json.dumps(call_line(call, scenario="s", arm="sim")) for call in world.told]
    assert SECRET not in "".join(lines)
    unsaid = {"extra": {}, "call_id": "", "ended_at": None}
    assert [one.call for one in read_calls(lines, "calls.jsonl")] == [call._replace(**unsaid) for call in world.told]


def _exported(world: World) -> list[Any]:
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from harness.subjects.otel import CallSpans

    exporter = InMemorySpanExporter()
    spans = CallSpans(exporter)
    for call in world.told:
        spans(call)
    return list(exporter.get_finished_spans())


def test_spans_follow_the_conventions_and_hold_no_argument() -> None:
    world = World([("read", "pay", "never")])
    _finish(world, MemoryStore())
    read, pay = _exported(world)
    assert (read.name, pay.name) == ("execute_tool read", "execute_tool pay")
    assert (
        dict(pay.attributes).items()
        >= {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "pay",
            "gen_ai.tool.call.id": "c0_1",
            "gen_ai.tool.type": "function",
            "error.type": "error",
        }.items()
    )
    assert "error.type" not in read.attributes
    assert (pay.status.status_code.name, read.status.status_code.name) == ("ERROR", "UNSET")
    assert (pay.start_time, pay.end_time) == (1_000_250_000_000, 1_002_250_000_000)
    assert [f"{span.context.span_id:016x}" for span in (read, pay)] == [call.span_id for call in world.told[:2]]
    assert {f"{span.context.trace_id:032x}" for span in (read, pay)} == {world.told[0].trace_id}
    assert SECRET not in read.to_json() + pay.to_json()


def test_exported_spans_are_read_back_as_the_calls_that_they_were() -> None:
    world = World([("read", "pay"), ("pay", "nope")])
    _finish(world, MemoryStore())
    document = {"resourceSpans": [{"scopeSpans": [{"spans": list(map(_otlp, _exported(world)))}]}]}
    unsaid = {"extra": {}, "call_id": "", "ended_at": None}
    found = [one.call for one in read_calls([json.dumps(document)], "spans.json")]
    assert found == [call._replace(**unsaid) for call in world.told]


def _otlp(span: Any) -> dict[str, Any]:
    """A span in OTLP's JSON encoding: 64-bit integers are strings."""
    kinds = {bool: ("boolValue", bool), int: ("intValue", str), str: ("stringValue", str)}
    attributes = []
    for key, value in span.attributes.items():
        kind, written = kinds[type(value)]
        attributes.append({"key": key, "value": {kind: written(value)}})
    return {
        "traceId": f"{span.context.trace_id:032x}",
        "spanId": f"{span.context.span_id:016x}",
        "startTimeUnixNano": str(span.start_time),
        "endTimeUnixNano": str(span.end_time),
        "attributes": attributes,
    }


def test_without_the_sdk_the_error_names_the_extra(tmp_path: Path) -> None:
    code = "import sys; sys.modules['opentelemetry.sdk'] = None\nimport harness.subjects.otel"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert ran.returncode == 1
    assert "pip install 'run-loop-harness[otel]'" in ran.stderr.splitlines()[-1]
