"""Model attempts: when one may be made, in which mode, with which request, and what a failed one leads to.

Budgets and reserves are read anew before each attempt, so a retry inside synthesis is synthesis again
(loop.breaker.retry-keeps-synthesis), and the loop alone owns retries (loop.model.one-owner).
"""

from harness.loop.budgets import BudgetScope, BudgetSpent, check, due_control
from harness.loop.elision import Fitted, fit
from harness.loop.ending import fail, violation
from harness.loop.events import CallModel, CheckInterrupts, Effect, Emit, ModelFailed, Step, Wait, WriteCheckpoint
from harness.loop.instructions import CONTROLS
from harness.loop.state import LoopState, Pause, Phase
from harness.loop.text import byte_length, item_bytes
from harness.vocabulary.control import Control
from harness.vocabulary.events import EventName
from harness.vocabulary.outcome import ErrorClass, Reason
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.turn import FaultKind, ModelFault

BACKOFF_FIRST, BACKOFF_MOST = 0.5, 8.0
"""Seconds before the second attempt, and the most between any two, where the provider asks for nothing."""

_SPENT: dict[str, tuple[Reason, ErrorClass]] = {
    "deadline": (Reason.DEADLINE_EXCEEDED, ErrorClass.RUN_DEADLINE_EXCEEDED),
    "steps": (Reason.MAX_STEPS_EXCEEDED, ErrorClass.BUDGET_EXCEEDED),
    "model_calls": (Reason.BUDGET_EXCEEDED, ErrorClass.BUDGET_EXCEEDED),
    "cost": (Reason.BUDGET_EXCEEDED, ErrorClass.BUDGET_EXCEEDED),
}
_FATAL: dict[FaultKind, ErrorClass] = {
    FaultKind.PERMANENT: ErrorClass.MODEL_PERMANENT_ERROR,
    FaultKind.CALL_REJECTED: ErrorClass.MODEL_PERMANENT_ERROR,
    FaultKind.PROTOCOL: ErrorClass.MODEL_PROTOCOL_ERROR,
}


def next_step(state: LoopState, at: float, effects: tuple[Effect, ...] = ()) -> Step:
    """Begin a step with its first attempt, or end the run where a hard budget is spent."""
    spent = spent_budget(state, BudgetScope.ADMISSION, at)
    if spent:
        return fail_spent(state, effects, spent)
    state = state._replace(step=state.step + 1, attempt=0, causes=(), rebuilt=False)
    return next_attempt(state, at, (*effects, Emit(EventName.STEP_STARTED, {"step": state.step})))


def next_attempt(state: LoopState, at: float, effects: tuple[Effect, ...] = ()) -> Step:
    """Ask for one model attempt, or end the run where a hard budget is spent or the context cannot fit."""
    spent = spent_budget(state, BudgetScope.ATTEMPT, at)
    if spent:
        return fail_spent(state, effects, spent)
    control = due(state)
    fitted = _fitted(state, control)
    if not fitted.fits:
        return _overflow(state, effects, {"estimate_tokens": fitted.estimate_tokens})
    told = (*_told(state, control), *_elided(fitted))
    state = state._replace(
        phase=Phase.MODEL, history=fitted.history, mode=control, attempt=state.attempt + 1, pause=None
    )
    fields = {"step": state.step, "attempt": state.attempt, "control": control.name if control else None}
    ask = (CheckInterrupts(), Emit(EventName.MODEL_ATTEMPTED, fields), CallModel(build_request(state)))
    return state, effects + told + ask


def due(state: LoopState) -> Control | None:
    """The control of the next attempt: a budget's before repetition's (loop.breaker.overlap)."""
    name = due_control(state.spent, state.task.limits)
    if name is None and state.breaker.synthesis_due:
        name = "repeated_tool_calls"
    return CONTROLS[name] if name else None


def build_request(state: LoopState) -> ModelRequest:
    """The request of the attempt in `state.mode`: pure, so building it twice gives equal requests."""
    task = state.task
    return ModelRequest(
        model=task.settings.model,
        system=task.system,
        tools=task.toolbox.definitions,
        items=state.history,
        control=state.mode,
        tool_choice="none" if state.mode else None,
        paused=state.paused,
        max_output_tokens=task.settings.max_output_tokens,
        reasoning=task.settings.reasoning,
    )


def on_failure(state: LoopState, event: ModelFailed) -> Step:
    """Charge a failed attempt and decide: retry, rebuild, or end."""
    fault = event.fault
    price = state.task.settings.prices.get(state.task.settings.model)
    state = state._replace(spent=state.spent.with_attempt(fault.usage, price), phase=Phase.WAITING)
    if fault.kind is FaultKind.CALL_REJECTED and state.mode:
        return violation(state, (_failed(state, fault.kind.value, fault.status, retry=False),))
    if fault.kind is FaultKind.CONTEXT_LENGTH:
        return _rebuild(state, fault, event.at)
    if fault.kind is FaultKind.TRANSIENT:
        return _transient(state, fault, event.at)
    effects = (_failed(state, fault.kind.value, fault.status, retry=False),)
    return fail(state, effects, Reason.MODEL_PERMANENT_ERROR, _FATAL[fault.kind], fault_details(fault))


def retry(state: LoopState, cause: ErrorClass, at: float, *, kind: str, status: int | None, wait: float | None) -> Step:
    """Another attempt of this step, after `wait` seconds, unless the step has had all it may have."""
    pause = None if wait is None else Pause(at, wait)
    state = state._replace(phase=Phase.WAITING, causes=(*state.causes, cause), pause=pause)
    again = state.attempt < state.task.settings.max_attempts
    told = (_failed(state, kind, status, retry=again),)
    if not again:
        return _attempts_used_up(state, told, cause)
    spent = spent_budget(state, BudgetScope.ATTEMPT, at)
    if spent:
        return fail_spent(state, told, spent)
    effects = (*told, WriteCheckpoint("model_failed", state))
    return next_attempt(state, at, effects) if pause is None else _wait(state, pause, at, effects)


def after_pause(state: LoopState, at: float, effects: tuple[Effect, ...] = ()) -> Step:
    """Go on with a run that broke off between two attempts: what is left of its wait is waited for first."""
    if state.pause is None or state.pause.left(at) <= 0:
        return next_attempt(state, at, effects)
    return _wait(state, state.pause, at, effects)


def _wait(state: LoopState, pause: Pause, at: float, effects: tuple[Effect, ...]) -> Step:
    """Wait, unless that would pass the deadline (loop.model.retry-after)."""
    deadline, left = state.task.limits.deadline, pause.left(at)
    if deadline is not None and at + left >= deadline:
        return fail_spent(state, effects, "deadline", {"wait_seconds": pause.seconds})
    return state, (*effects, Wait(left))


def spent_budget(state: LoopState, scope: BudgetScope, at: float) -> str | None:
    """The hard budget that has nothing left, or None."""
    try:
        check(state.spent, state.task.limits, scope, at)
    except BudgetSpent as spent:
        return spent.dimension
    return None


def fail_spent(
    state: LoopState, effects: tuple[Effect, ...], dimension: str, more: dict[str, object] | None = None
) -> Step:
    """End because a hard budget is spent (loop.budget.hard-stop)."""
    reason, error_class = _SPENT[dimension]
    return fail(state, effects, reason, error_class, {"budget": dimension, **(more or {})})


def fault_details(fault: ModelFault) -> dict[str, object]:
    """What an outcome may say of a fault: classification and the redacted message."""
    details = {"message": fault.message, "status": fault.status, "code": fault.code}
    if fault.stream_had_output:
        details["stream_had_output"] = True
    return {key: value for key, value in details.items() if value is not None}


def _transient(state: LoopState, fault: ModelFault, at: float) -> Step:
    if fault.stream_had_output:
        told = (_failed(state, fault.kind.value, fault.status, retry=False),)
        reason, error_class = Reason.MAX_ATTEMPTS_EXCEEDED, ErrorClass.MODEL_TRANSIENT_ERROR
        return fail(state, told, reason, error_class, fault_details(fault))
    backoff = min(BACKOFF_FIRST * 2 ** (state.attempt - 1), BACKOFF_MOST)
    wait = backoff if fault.retry_after is None else max(fault.retry_after, 0.0)
    cause = ErrorClass.MODEL_TRANSIENT_ERROR
    return retry(state, cause, at, kind=fault.kind.value, status=fault.status, wait=wait)


def _rebuild(state: LoopState, fault: ModelFault, at: float) -> Step:
    again = not state.rebuilt and state.attempt < state.task.settings.max_attempts
    told = (_failed(state, fault.kind.value, fault.status, retry=again),)
    if not again:
        return _overflow(state, told, fault_details(fault))
    state = state._replace(rebuilt=True)
    return next_attempt(state, at, (*told, WriteCheckpoint("model_failed", state)))


def _fitted(state: LoopState, control: Control | None) -> Fitted:
    task, paused = state.task, state.paused
    fixed = byte_length(task.system) + task.toolbox.definition_bytes
    fixed += byte_length(control.text) if control else 0
    fixed += item_bytes(paused) if paused else 0
    budget = task.settings.context_budget_tokens
    return fit(state.history, seen=state.seen, fixed_bytes=fixed, budget_tokens=budget, everything=state.rebuilt)


def _told(state: LoopState, control: Control | None) -> tuple[Effect, ...]:
    if control is None or (state.attempt and state.mode == control):
        return ()
    fields: dict[str, object] = {"control": control.name}
    if state.breaker.reset_withheld:
        fields["reset_cap"] = state.task.settings.evidence_reset_cap
    return (Emit(EventName.SYNTHESIS_ENTERED, fields),)


def _elided(fitted: Fitted) -> tuple[Effect, ...]:
    if not fitted.elided:
        return ()
    fields = {"results": fitted.elided, "estimate_tokens": fitted.estimate_tokens}
    return (Emit(EventName.CONTEXT_ELIDED, fields),)


def _overflow(state: LoopState, effects: tuple[Effect, ...], details: dict[str, object]) -> Step:
    return fail(state, effects, Reason.CONTEXT_OVERFLOW, ErrorClass.CONTEXT_OVERFLOW, details)


def _attempts_used_up(state: LoopState, effects: tuple[Effect, ...], cause: ErrorClass) -> Step:
    empty = ErrorClass.EMPTY_MODEL_TURN
    only_empty = all(earlier == empty for earlier in state.causes)
    reason = Reason.EMPTY_MODEL_TURN if only_empty else Reason.MAX_ATTEMPTS_EXCEEDED
    return fail(state, effects, reason, cause, {"attempts": state.attempt})


def _failed(state: LoopState, kind: str, status: int | None, *, retry: bool) -> Emit:
    fields = {"step": state.step, "attempt": state.attempt, "kind": kind, "status": status, "will_retry": retry}
    return Emit(EventName.MODEL_FAILED, fields)
