"""Settling a turn: its results join the conversation in request order, its calls join the ledger and the counters.

Counting happens once for a whole batch, in request order, whatever order the calls finished in (loop.breaker.counts).
"""

from dataclasses import replace

from harness.loop import breaker as identical_calls
from harness.loop.events import Effect, Emit
from harness.loop.excerpt import excerpt_batch
from harness.loop.instructions import outcome_result
from harness.loop.signature import outcome_hash
from harness.loop.state import LoopState, Slot, SlotState
from harness.vocabulary.content import ToolResult
from harness.vocabulary.events import EventName
from harness.vocabulary.tools import CallRecord, OutcomeClass, ToolOutcome
from harness.vocabulary.tools import Effect as ToolEffect


def settle(state: LoopState) -> tuple[LoopState, tuple[Effect, ...]]:
    """The state with its batch closed, and the events of its evidence resets. Every slot must have its result."""
    settings = state.task.settings
    results: list[ToolResult] = [slot.result for slot in state.slots if slot.result is not None]
    shown = excerpt_batch(results, settings.max_result_bytes, settings.max_batch_bytes)
    closed = state._replace(history=state.history.append(results, shown), slots=())
    effects: list[Effect] = []
    for slot in state.slots:
        before = closed.breaker.resets
        closed = account(closed, record_of(state, slot))
        if closed.breaker.resets > before:
            effects.append(Emit(EventName.EVIDENCE_RESET, {"tool": slot.call.name, "resets": closed.breaker.resets}))
    return closed, tuple(effects)


def record_outcome(state: LoopState, place: int, outcome: ToolOutcome, latency_ms: float | None) -> LoopState:
    """The state with one dispatched call done and charged (loop.budget.accounting)."""
    slot = state.slots[place]
    declaration = state.task.toolbox.get(slot.call.name)
    effectful = state.task.toolbox.effect(slot.call.name) is not ToolEffect.READ_ONLY
    if outcome.timed_out and effectful:
        outcome = replace(outcome, outcome=OutcomeClass.UNCERTAIN)
    done = slot._replace(
        state=SlotState.ANSWERED,
        result=outcome_result(slot.call, outcome),
        outcome=outcome.outcome,
        outcome_hash=None if outcome.outcome is OutcomeClass.UNCERTAIN else outcome_hash(outcome, declaration),
        counts=True,
        latency_ms=latency_ms,
    )
    spent = state.spent.with_tool_call(state.task.limits)
    seen = state.effects.get(slot.call.name, 0)
    effects = state.effects.set(slot.call.name, seen + 1) if effectful else state.effects
    slots = (*state.slots[:place], done, *state.slots[place + 1 :])
    return state._replace(slots=slots, spent=spent, effects=effects)


def record_of(state: LoopState, slot: Slot) -> CallRecord:
    """The telemetry of one disposed call."""
    return CallRecord(
        tool=slot.call.name,
        signature=slot.signature,
        outcome=slot.outcome,
        outcome_hash=slot.outcome_hash,
        counted=slot.counts,
        step=state.step,
        latency_ms=slot.latency_ms,
        extra={"denied": slot.denied} if slot.denied else {},
        call_id=slot.call.call_id,
    )


def account(state: LoopState, record: CallRecord) -> LoopState:
    """The state with one more call in its ledger and in every counter that reads it. Also rebuilds them on resume."""
    tool = state.task.toolbox.get(record.tool)
    denied = record.extra.get("denied")
    denials, uncertain = state.denials, state.uncertain
    if denied:
        key = (record.tool, record.signature, denied)
        denials = denials.set(key, denials.get(key, 0) + 1)
    if record.outcome is OutcomeClass.UNCERTAIN:
        uncertain = uncertain.set(record.signature, True)
    return state._replace(
        ledger=state.ledger.append(record),
        breaker=identical_calls.record(state.breaker, record, tool, state.task.settings),
        denials=denials,
        uncertain=uncertain,
    )


def denial_limit_reached(state: LoopState) -> tuple[str, str, str] | None:
    """The (tool, signature, reason code) that was denied too often, or None (loop.approval.denied)."""
    limit = state.task.settings.identical_denial_threshold
    return next((key for key, times in state.denials.items() if times >= limit), None)
