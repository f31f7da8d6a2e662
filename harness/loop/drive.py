"""Running and resuming: the entry points of the reference loop, for real transports and for depth `sim`.

Both read the newest checkpoint, feed the opening events to the same driver, and answer its slow requests.
"""

from collections.abc import Generator, Sequence
from typing import Any

from harness.loop.events import ApprovalResolved, Resumed, RunTool, Started
from harness.loop.perform import Attempt, Driver, Pause, Runs, Slow, Timed
from harness.loop.ports import AsyncPorts, Ports, SyncPorts
from harness.loop.state import Phase, SlotState
from harness.loop.stream_guard import StreamGuard
from harness.loop.task import Decision, Task
from harness.vocabulary.content import Text, ToolCall
from harness.vocabulary.outcome import RunOutcome
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.tools import OutcomeClass, ToolOutcome
from harness.vocabulary.turn import ModelFault, ModelTurn


class UnknownDecision(ValueError):
    """A decision names a call that no suspended run waits for."""


def _opening(task: Task, ports: Ports[Any, Any], decisions: Sequence[Decision], cancel: str | None) -> tuple[Any, int]:
    stored = ports.store.load(task)
    now = ports.now()
    if stored is None:
        return [Started(now)], 0
    waiting = {slot.call.call_id for slot in stored.state.slots}
    known = waiting | set(stored.state.used_ids)
    for decision in decisions:
        if decision.call_id not in known:
            raise UnknownDecision(
                f"no call {decision.call_id!r} waits in run {task.run_id!r}; it waits for {sorted(waiting)}"
            )
    # A decision that the run has already taken (it broke off behind it) is no event any more (loop.approval.once).
    asked = {slot.call.call_id for slot in stored.state.slots if slot.state is SlotState.ASKED}
    taken = [made for made in decisions if made.call_id in asked]
    resumed = Resumed(stored.state, stored.effects_sent, stored.version, now, followed=bool(taken), cancelled=cancel)
    if stored.state.phase is Phase.DONE:
        return [resumed], stored.version
    resolved = [
        ApprovalResolved(made.call_id, made.approve, made.reason, now, followed=place < len(taken))
        for place, made in enumerate(taken, start=1)
    ]
    # Claimed before any effect: of two workers that read one checkpoint, one stops here (loop.crash.fencing).
    return [resumed, *resolved], ports.store.claim(task.run_id, stored.version)


async def run(task: Task, ports: AsyncPorts) -> RunOutcome:
    """Run a task to its outcome (terminal or suspended). Raises what the store, the ports or a crash raise."""
    return await _async(Driver(task, ports).run([Started(ports.now())]), ports)


async def resume(task: Task, ports: AsyncPorts, decisions: Sequence[Decision] = ()) -> RunOutcome:
    """Go on from the newest checkpoint (from the start if there is none). Raises UnknownDecision."""
    events, version = _opening(task, ports, decisions, None)
    return await _async(Driver(task, ports).run(events, version), ports)


async def cancel(task: Task, ports: AsyncPorts, reason: str) -> RunOutcome:
    """Cancel a stored run, suspended or killed: its pending calls are answered, nothing more is begun."""
    events, version = _opening(task, ports, (), reason)
    return await _async(Driver(task, ports).run(events, version), ports)


def run_sync(task: Task, ports: SyncPorts) -> RunOutcome:
    """`run` without an event loop."""
    return _sync(Driver(task, ports).run([Started(ports.now())]), ports)


def resume_sync(task: Task, ports: SyncPorts, decisions: Sequence[Decision] = ()) -> RunOutcome:
    """`resume` without an event loop."""
    events, version = _opening(task, ports, decisions, None)
    return _sync(Driver(task, ports).run(events, version), ports)


def cancel_sync(task: Task, ports: SyncPorts, reason: str) -> RunOutcome:
    """`cancel` without an event loop."""
    events, version = _opening(task, ports, (), reason)
    return _sync(Driver(task, ports).run(events, version), ports)


def _sync(steps: Generator[Slow, Any, RunOutcome], ports: SyncPorts) -> RunOutcome:
    answer: Any = None
    while True:
        try:
            slow = steps.send(answer)
        except StopIteration as stop:
            outcome: RunOutcome = stop.value
            return outcome
        match slow:
            case Attempt(request):
                answer = StreamGuard().take_all(ports.model.attempt(request)).result()
            case Runs(calls):
                answer = [_timed_run(ports, run) for run in calls]
            case Pause(seconds):
                ports.wait(seconds)
                answer = None


def _timed_run(ports: SyncPorts, run: RunTool) -> Timed:
    begun = ports.now()
    outcome = _guarded(ports.tools.run, run.call, run.key)
    ended = ports.now()
    return outcome, (ended - begun) * 1000, ended


def _guarded(runner: Any, call: ToolCall, key: str) -> ToolOutcome:
    try:
        outcome: ToolOutcome = runner(call, key)
    except Exception as error:
        return _crashed_tool(error)
    return outcome


def _crashed_tool(error: Exception) -> ToolOutcome:
    return ToolOutcome(outcome=OutcomeClass.ERROR, content=(Text(f"{type(error).__name__}: {error}"),))


async def _async(steps: Generator[Slow, Any, RunOutcome], ports: AsyncPorts) -> RunOutcome:
    # Depth sim never needs an event loop, and its import is a tenth of a cold start there.
    import asyncio

    answer: Any = None
    while True:
        try:
            slow = steps.send(answer)
        except StopIteration as stop:
            outcome: RunOutcome = stop.value
            return outcome
        match slow:
            case Attempt(request):
                answer = await _streamed(ports, request)
            case Runs(calls):
                answer = await asyncio.gather(*(_timed_call(ports, run) for run in calls))
            case Pause(seconds):
                waiting = ports.wait(seconds)
                if waiting is not None:
                    await waiting
                answer = None


async def _streamed(ports: AsyncPorts, request: ModelRequest) -> ModelTurn | ModelFault:
    guard = StreamGuard()
    async for event in ports.model.attempt(request):
        guard.take(event)
    return guard.result()


async def _timed_call(ports: AsyncPorts, run: RunTool) -> Timed:
    begun = ports.now()
    try:
        outcome = await ports.tools.run(run.call, run.key)
    except Exception as error:
        outcome = _crashed_tool(error)
    ended = ports.now()
    return outcome, (ended - begun) * 1000, ended
