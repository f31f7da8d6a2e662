"""The reference loop as a subject: in process, without a wire (depth sim) or through the official SDK clients over an
in-memory transport (depth wire).

The one place where the loop, the transports and a scenario meet. It holds no rule of the loop: it starts, resumes and
cancels as the world says, and goes on from the store after a crash.
"""

from collections.abc import AsyncIterator, Callable, Generator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from harness.loop import drive
from harness.loop.memory_store import MemoryStore
from harness.loop.ports import CheckpointStore, Ports, StaleCheckpoint, Stored
from harness.loop.task import Decision, Task
from harness.scenario.crash import SimulatedCrash
from harness.scenario.interventions import Ruling
from harness.scenario.subject import Depth, World
from harness.vocabulary.capabilities import CAPABILITIES
from harness.vocabulary.content import ToolCall
from harness.vocabulary.outcome import RunOutcome, Status
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.stream import StreamEvent
from harness.vocabulary.tools import ToolOutcome
from harness.vocabulary.trace import Intervened

if TYPE_CHECKING:
    from harness.transports.client import ModelClient

BASE_URL = {
    "openai-responses": "https://provider.invalid/v1",
    "openai-chat": "https://provider.invalid/v1",
    "xml-fallback": "https://provider.invalid/v1",
    "anthropic-messages": "https://provider.invalid",
}
"""Nothing is ever looked up: the in-memory transport answers."""


@dataclass(frozen=True, slots=True)
class Begin:
    """Start the run."""


@dataclass(frozen=True, slots=True)
class Resume:
    """Go on from the store. `late` is a worker that read the store before another one wrote; `read` what it read."""

    decisions: tuple[Decision, ...] = ()
    late: bool = False
    read: Stored | None = None


@dataclass(frozen=True, slots=True)
class Cancel:
    """Cancel a suspended run."""

    reason: str


Move: TypeAlias = Begin | Resume | Cancel
Session: TypeAlias = Generator[Move, RunOutcome, RunOutcome]
_BREAKS = (SimulatedCrash, StaleCheckpoint)
_SYNC = (drive.run_sync, drive.resume_sync, drive.cancel_sync)
_ASYNC = (drive.run, drive.resume, drive.cancel)


class Reference:
    """The reference loop. `store` makes the checkpoint store of a run."""

    name = "reference"
    capabilities = frozenset(CAPABILITIES)
    depths: frozenset[Depth] = frozenset({"sim", "wire"})

    def __init__(self, store: Callable[[], CheckpointStore] = MemoryStore) -> None:
        self._store = store

    def run(self, world: World) -> RunOutcome:
        """See `harness.scenario.subject.Subject`."""
        store, task = self._store(), task_of(world)
        if world.depth == "sim":
            return _run_sim(world, task, store)
        # A run without a wire has no event loop: its start would pay for nothing.
        import asyncio

        return asyncio.run(_run_wire(world, task, store))


def task_of(world: World) -> Task:
    """The loop's task of a world."""
    plan = world.plan
    return Task(
        run_id=world.run_id,
        system=plan.system,
        user=plan.user,
        tools=plan.tools,
        history=plan.history,
        limits=plan.limits,
        settings=plan.settings,
    )


def _run_sim(world: World, task: Task, store: CheckpointStore) -> RunOutcome:
    ports: Ports[Any, Any] = _ports(world, store, world.model(), world.tools, world.clock.advance)
    session = _session(world, task, store)
    step = _next(session, None)
    while not isinstance(step, RunOutcome):
        try:
            came: RunOutcome | BaseException = _made(step, task, ports, _SYNC)
        except _BREAKS as broken:
            came = broken
        step = _next(session, came)
    return step


async def _run_wire(world: World, task: Task, store: CheckpointStore) -> RunOutcome:
    # The SDK behind the client costs most of a cold start: only a run over a wire pays for it.
    from harness.provider.memory import InMemoryTransport
    from harness.transports.client import ModelClient

    async def wait(seconds: float) -> None:
        world.clock.advance(seconds)

    arm, transport = world.arm, InMemoryTransport(world.provider())
    client = ModelClient(
        arm.transport, base_url=BASE_URL[arm.transport], stream=arm.streaming, http_transport=transport
    )
    ports: Ports[Any, Any] = _ports(world, store, _ToldModel(client, world), _AsyncTools(world), wait)
    session = _session(world, task, store)
    step = _next(session, None)
    try:
        while not isinstance(step, RunOutcome):
            try:
                came: RunOutcome | BaseException = await _made(step, task, ports, _ASYNC)
            except _BREAKS as broken:
                came = broken
            step = _next(session, came)
    finally:
        await client.aclose()
    return step


def _next(session: Session, came: RunOutcome | BaseException | None) -> Move | RunOutcome:
    """The session's next move after what the last one came to, or the outcome that ends it."""
    try:
        if isinstance(came, BaseException):
            return session.throw(came)
        return next(session) if came is None else session.send(came)
    except StopIteration as stop:
        outcome: RunOutcome = stop.value
        return outcome


def _made(move: Move, task: Task, ports: Ports[Any, Any], verbs: tuple[Any, Any, Any]) -> Any:
    """What a move comes to: an outcome, or the awaitable of one."""
    run, resume, cancel = verbs
    if isinstance(move, Begin):
        return run(task, ports)
    if isinstance(move, Cancel):
        return cancel(task, ports, move.reason)
    if move.late:
        ports = replace(ports, store=_LateStore(ports.store, move.read))
    return resume(task, ports, move.decisions)


def _session(world: World, task: Task, store: CheckpointStore) -> Session:
    """The moves of one run, until it ends or nobody resumes it."""
    outcome = yield from _surviving(Begin(), world, task, store)
    while outcome.status is Status.SUSPENDED:
        action = world.suspended(outcome.waiting_for)
        if action.cancel is not None:
            outcome = yield from _surviving(Cancel(action.cancel), world, task, store)
            continue
        if not action.times:
            return outcome
        for _ in range(action.times):
            resume = Resume(tuple(map(_decision, action.rulings)))
            outcome = yield from _surviving(resume, world, task, store)
    return outcome


def _surviving(move: Move, world: World, task: Task, store: CheckpointStore) -> Session:
    """One move, made again from the store if the process is killed in it."""
    while True:
        try:
            return (yield move)
        except SimulatedCrash:
            world.crashed()
            move = Resume() if isinstance(move, Begin) else move
            if world.crash.by_two:
                return (yield from _by_two(move, world, store.load(task)))


def _by_two(move: Move, world: World, read: Stored | None) -> Session:
    """Two workers resume: one goes on to the end, then the other, which read the store before that, wakes up."""
    outcome = yield move
    world.record(Intervened(do="resume", details={"worker": 2}))
    try:
        yield Resume(late=True, read=read)
    except StaleCheckpoint:
        world.record(Intervened(do="fenced", details={"worker": 2}))
    return outcome


def _decision(ruling: Ruling) -> Decision:
    if ruling.reason is None:
        return Decision(call_id=ruling.call_id, approve=ruling.approve, by=ruling.by)
    return Decision(call_id=ruling.call_id, approve=ruling.approve, reason=ruling.reason, by=ruling.by)


def _ports(world: World, store: CheckpointStore, model: Any, tools: Any, wait: Callable[[float], Any]) -> Any:
    return Ports(
        model=model,
        tools=tools,
        store=store,
        now=world.clock.now,
        wait=wait,
        observe=world.record,
        cancelled=world.cancelled,
        performed=world.crash.performed,
        told_call=world.told_call,
    )


class _ToldModel:
    """The client of a wire; the world hears of each neutral request before it is rendered."""

    def __init__(self, client: "ModelClient", world: World) -> None:
        self._client, self._world = client, world

    async def attempt(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        self._world.built(request)
        async with aclosing(self._client.attempt(request)) as events:  # type: ignore[type-var]
            async for event in events:
                yield event


class _AsyncTools:
    """Scripted tools under an event loop. They never wait: the clock is simulated."""

    def __init__(self, world: World) -> None:
        self._tools = world.tools

    async def run(self, call: ToolCall, key: str) -> ToolOutcome:
        return self._tools.run(call, key)


class _LateStore:
    """The store of a worker that read it before another one wrote."""

    def __init__(self, store: CheckpointStore, read: Stored | None) -> None:
        self._store, self._read = store, read

    def load(self, task: Task) -> Stored | None:
        return self._read

    def write(self, run_id: str, version: int, trigger: str, state: Any) -> int:
        return self._store.write(run_id, version, trigger, state)

    def claim(self, run_id: str, version: int) -> int:
        """See CheckpointStore."""
        return self._store.claim(run_id, version)

    def mark_effect(self, run_id: str, version: int, call_id: str) -> None:
        self._store.mark_effect(run_id, version, call_id)
