"""Checkers of loop.md section 7 that a trace shows soundly: every call has its result, and the right one."""

from collections.abc import Iterator, Sequence

from harness.checks.endings import first_ending
from harness.checks.finding import KEPT, Failure, Look, item
from harness.checks.history import batches
from harness.checks.standing import Sure
from harness.checks.timeline import Attempt, Call, Fate, Timeline
from harness.vocabulary.content import ToolCall, ToolResult
from harness.vocabulary.control import ReasonCode
from harness.vocabulary.outcome import RunOutcome, Status
from harness.vocabulary.tools import OutcomeClass

_OWN_CODES = (ReasonCode.FAILED, ReasonCode.TIMED_OUT)


def every_call_answered(timeline: Timeline) -> Look:
    """loop.tools.every-call-answered: one result a call, in request order, in every request and every outcome."""
    for attempt in timeline.turns:
        if attempt.following is not None and attempt.following.legible and attempt.said:
            place = len(attempt.following.request.items) - len(attempt.following.change.grown) + len(attempt.said)
            problem = _mismatch(attempt.stored, attempt.results, ())
            yield Failure(problem[0], problem[1], attempt.following.n, item(place)) if problem else KEPT
    for index, ended in timeline.ends:
        yield from _outcome(ended.outcome, _approved(timeline, index))


def _approved(timeline: Timeline, until: int) -> frozenset[str]:
    """Calls that a person approved before a record. While another call of their batch waits they may wait too."""
    made = (one for index, one in timeline.interventions if index < until and one.do == "approve")
    return frozenset(one.call_id for one in made if one.call_id is not None)


def _outcome(outcome: RunOutcome, approved: frozenset[str]) -> Look:
    waiting = outcome.waiting_for if outcome.status is Status.SUSPENDED else ()
    for place, calls, results in batches(outcome.conversation):
        answered = {result.call_id for result in results}
        held = [call.call_id for call in calls if call.call_id in approved and call.call_id not in answered]
        problem = _mismatch(calls, results, (*waiting, *held) if waiting else ())
        if problem:
            yield Failure(problem[0], f"{problem[1]}, in the outcome's conversation", None, item(place))
        elif calls:
            yield KEPT


def _mismatch(
    calls: Sequence[ToolCall], results: Sequence[ToolResult], waiting: Sequence[str]
) -> tuple[str, str] | None:
    wanted = [call.call_id for call in calls]
    found = [result.call_id for result in results]
    if wanted == found:
        return None
    if waiting and [name for name in wanted if name not in waiting] == found:
        return None
    missing = [name for name in wanted if name not in found]
    ids = ", ".join(wanted) or "none"
    actual = f"{len(found)} results ({', '.join(found) or 'none'})"
    actual += f"; {', '.join(missing)} unanswered" if missing else "; not one each in request order"
    return f"{len(wanted)} results for calls {ids}, in request order", actual


def settled(attempt: Attempt) -> bool:
    """Whether a turn with calls was disposed of: no violation, no limit, no stop from outside, results known."""
    ends = first_ending(attempt) is not None or attempt.over_limit is not Sure.NO or attempt.stopped
    return not ends and attempt.joined is not None


def settled_calls(timeline: Timeline) -> Iterator[tuple[Attempt, Call]]:
    """Calls of the turns that were disposed of."""
    for attempt in timeline.turns:
        if settled(attempt):
            for call in attempt.calls:
                yield attempt, call


def unknown(timeline: Timeline) -> Look:
    """loop.tools.unknown: an error result for the call, and its siblings go on."""
    for attempt, call in settled_calls(timeline):
        if ReasonCode.UNKNOWN in call.faults:
            yield _answered_as(attempt, call) or _siblings(attempt, call)


def invalid_arguments(timeline: Timeline) -> Look:
    """loop.tools.invalid-arguments: an error result, never executed; and none for arguments that are valid."""
    for attempt, call in settled_calls(timeline):
        if ReasonCode.ARGUMENTS_INVALID in call.faults:
            yield _answered_as(attempt, call)
        elif call.fate is Fate.INVALID and call.valid is True:
            yield Failure(f"{call.label} keeps its schema and may run", "it was answered as invalid", attempt.n)
        elif call.arguments == "" and call.valid is True and call.starts:
            yield KEPT


def _answered_as(attempt: Attempt, call: Call) -> Failure | None:
    codes = " or ".join(sorted(call.faults))
    if call.starts:
        return Failure(f"{call.label} is never executed: {codes}", "it was started", attempt.n)
    number = attempt.n if attempt.following is None else attempt.following.n
    result = call.result
    if result is None:
        return Failure(f"{call.label} has an error result {codes}", "it has no result", number)
    if not result.is_error or result.reason_code not in call.faults:
        return Failure(f"{call.label} has an error result {codes}", f"its result: {result.text[:60]!r}", number)
    return KEPT


def _siblings(attempt: Attempt, call: Call) -> Failure | None:
    for other in attempt.calls:
        if not other.faults and other.fate in (Fate.UNANSWERED, Fate.NOT_RUN, Fate.CANCELLED, Fate.UNKNOWN):
            return Failure(f"{other.label} goes on beside {call.label}", f"it is {other.fate.value}", attempt.n)
    return KEPT


def external_text_is_data(timeline: Timeline) -> Look:
    """loop.tools.external-text-is-data: a tool's text stands behind the platform's own line, whatever it says."""
    for attempt in timeline.turns:
        if attempt.joined is None:
            continue
        for call in attempt.calls:
            if call.result is not None and call.text is not None and call.fate is Fate.EXECUTED:
                outcome = call.ends[-1][1].outcome.outcome
                if outcome is OutcomeClass.ERROR:
                    yield _narrated(attempt, call, call.result)
                elif outcome is OutcomeClass.OK and call.result.is_error:
                    yield Failure(
                        f"the result of {call.label} is no error, whatever its text", "it is marked as one", attempt.n
                    )


def _narrated(attempt: Attempt, call: Call, result: ToolResult) -> Failure | None:
    if not result.is_error or result.reason_code not in _OWN_CODES:
        code = result.reason_code or "none"
        return Failure(f"{call.label} failed: an error result {' or '.join(_OWN_CODES)}", f"code {code}", attempt.n)
    first, _, rest = result.text.partition("\n")
    if first != f"[{result.reason_code}]" or not rest:
        return Failure(
            "the tool's text follows the platform's line", f"the result says {result.text[:60]!r}", attempt.n
        )
    return KEPT
