"""Checkers of loop.md section 2 that look at one batch: fitting, refusals, and the count of dispatched calls.

A turn that ends the run (a call in synthesis, the identical-call limit) is not fitted; its checkers stand elsewhere.
"""

import re
from collections.abc import Iterator

from harness.checks.finding import KEPT, Failure, Look
from harness.checks.reckoning import slotless
from harness.checks.standing import Span, Sure
from harness.checks.timeline import Attempt, Call, Fate, Timeline
from harness.vocabulary.content import ToolResult
from harness.vocabulary.control import ReasonCode
from harness.vocabulary.events import EventName

_ADVICE = re.compile(r"answer|evidence|respond|reply", re.IGNORECASE)


def fitted_turns(timeline: Timeline) -> Iterator[tuple[Attempt, list[Call], Span]]:
    """Each turn that was fitted to the budget: its calls that ask for a slot, and the slots that were left. Left out: a
    turn with a call that a kill cut off before it was seen to start, which may have held a slot or not."""
    limit = timeline.limits.max_tool_calls
    for attempt in timeline.turns:
        cut_off = any(call.fate is Fate.UNCERTAIN and not call.dispatched for call in attempt.calls)
        if attempt.control is None and attempt.over_limit is Sure.NO and not cut_off:
            charged = attempt.standing.tool_calls
            left = Span(max(0, limit - charged.high), max(0, limit - charged.low))
            yield attempt, [call for call in attempt.calls if not slotless(call)], left


def fit_before_dispatch(timeline: Timeline) -> Look:
    """loop.budget.fit-before-dispatch: the first calls that fit run, the others do not."""
    for attempt, calls, left in fitted_turns(timeline):
        broken = [
            failure
            for failure in map(_misfit, [attempt] * len(calls), [left] * len(calls), calls, range(len(calls)))
            if failure is not None
        ]
        yield from broken
        if not broken and len(calls) >= left.low:
            yield KEPT


def _misfit(attempt: Attempt, left: Span, call: Call, place: int) -> Failure | None:
    if place < left.low and call.fate is Fate.REFUSED:
        return Failure(f"{call.label} fits: {left} tool calls were left for the batch", "it was refused", attempt.n)
    if place >= left.high and call.dispatched:
        did = "was dispatched" if call.starts else "was put before a person"
        return Failure(f"{call.label} is refused: {left} tool calls were left for the batch", f"it {did}", attempt.n)
    return None


def refusal_is_a_result(timeline: Timeline) -> Look:
    """loop.budget.refusal-is-a-result: what does not fit gets an error result that says so, and no more."""
    refused = 0
    for attempt, calls, left in fitted_turns(timeline):
        proposed = (
            {record.fields.get("call_id") for _, record in attempt.events if record.name == EventName.CALL_PROPOSED}
            if len(calls) > left.high
            else set()
        )
        for call in calls[left.high :]:
            if not call.starts and call.asked is None and attempt.joined is not None:
                yield _bad_refusal(attempt, call, proposed)
        refused += sum([call.fate is Fate.REFUSED for call in attempt.calls])
    for attempt in timeline.turns:
        for call in attempt.calls:
            if call.starts and call.result is not None and call.result.reason_code == ReasonCode.BUDGET_EXHAUSTED:
                yield Failure("a refused call never reaches the executor", f"{call.label} was started", attempt.n)
    outcome = timeline.outcome
    if refused and outcome is not None and timeline.shows("usage") and outcome.counters.refused_calls != refused:
        yield Failure(
            f"{refused} refused calls are counted apart", f"the outcome counts {outcome.counters.refused_calls}"
        )


def _bad_refusal(attempt: Attempt, call: Call, proposed: set[object]) -> Failure | None:
    expected = f"{call.label} has an error result {ReasonCode.BUDGET_EXHAUSTED.value}"
    number = attempt.n if attempt.following is None else attempt.following.n
    if call.result is None:
        return None if attempt.stopped else Failure(expected, "it has no result", number)
    if attempt.stopped and call.fate in (Fate.CANCELLED, Fate.NOT_RUN):
        return KEPT
    if call.fate is not Fate.REFUSED:
        return Failure(expected, f"its result is {_shown(call.result)}", number)
    if not _ADVICE.search(call.result.text.partition("\n")[2]):
        return Failure("a refusal tells the model to answer from the evidence it has", _shown(call.result), number)
    if call.call_id in proposed:
        return Failure("tool.call.proposed is emitted for dispatched calls only", f"{call.label} has one", attempt.n)
    return KEPT


def _shown(result: ToolResult) -> str:
    text = result.text.replace("\n", " ")
    return f"{'an error' if result.is_error else 'no error'}, {text[:80]!r}"


def refusal_before_checkpoint(timeline: Timeline) -> Look:
    """loop.budget.refusal-before-checkpoint: `tool_pending` already holds the refusals."""
    for attempt in timeline.turns:
        refused = [call for call in attempt.calls if call.fate is Fate.REFUSED]
        if refused and any(call.dispatched for call in attempt.calls):
            yield _late_refusal(timeline, attempt, refused)


def _late_refusal(timeline: Timeline, attempt: Attempt, refused: list[Call]) -> Failure | None:
    first = min([index for index, _ in [*attempt.starts, *attempt.asked]])
    pending = [record for index, record in attempt.checkpoints if record.trigger == "tool_pending" and index < first]
    if not pending:
        return Failure("a tool_pending checkpoint before the first dispatch", "there is none", attempt.n)
    held = pending[0].conversation
    base = len(attempt.request.items) + timeline.offset
    tail = [held[place] for place in range(base, len(held))]
    answered = {one.call_id for one in tail if isinstance(one, ToolResult)}
    for call in refused:
        if call.call_id not in answered:
            return Failure(f"the tool_pending checkpoint holds the refusal of {call.label}", "it does not", attempt.n)
        if call.call_id in pending[0].pending:
            return Failure(f"{call.label} stays refused", "the tool_pending checkpoint lists it as pending", attempt.n)
    return KEPT


def accounting(timeline: Timeline) -> Look:
    """loop.budget.accounting: recorded calls equal dispatched calls."""
    outcome = timeline.outcome
    counted = timeline.closing.tool_calls
    if outcome is None or not counted.high:
        return
    if outcome.counters.tool_calls in counted:
        yield KEPT
    else:
        yield Failure(
            f"{counted} dispatched tool calls are counted", f"the outcome counts {outcome.counters.tool_calls}"
        )
