"""Cancel and deadline: what a run that was called off may still do (loop.md sections 1, 7 and 8).

Whether a stop came before a decision is known only where nothing of the subject stands between the two in the trace, or
where a tool returned too late by the run's own clock. Nothing else is judged.
"""

from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

from harness.checks.endings import describe
from harness.checks.finding import KEPT, Failure, Look
from harness.checks.timeline import Attempt, Call, Fate, Kind, Timeline
from harness.vocabulary.content import ToolResult
from harness.vocabulary.control import ReasonCode
from harness.vocabulary.outcome import Reason, RunOutcome, Status
from harness.vocabulary.tools import Effect
from harness.vocabulary.trace import Intervened, ToolStarted

Stop: TypeAlias = Literal["cancel", "deadline"]
_CAPABILITY: dict[Stop, str] = {"cancel": "cancellation", "deadline": "deadline"}
_OPEN = (Fate.NOT_RUN, Fate.UNANSWERED, Fate.PENDING)


def stops(timeline: Timeline, attempt: Attempt) -> list[Stop]:
    """What surely called the run off before the reply of an attempt, or its batch, was done with."""
    found: list[Stop] = ["cancel"] if _cancelled(timeline, attempt) else []
    if _late(timeline, attempt):
        found.append("deadline")
    return [stop for stop in found if timeline.shows(_CAPABILITY[stop])]


def wrong_stop(attempt: Attempt, found: list[Stop]) -> Failure | None:
    """None if a run that was called off ended so. A run that is only suspended may end later."""
    outcome = attempt.outcome
    if attempt.following is not None:
        return Failure(f"no attempt after the {found[0]}", f"request {attempt.following.n} was sent", attempt.n)
    if outcome is None or any(ends_so(outcome, stop) for stop in found):
        return KEPT
    wanted = " or ".join("cancelled" if stop == "cancel" else f"failed, {Reason.DEADLINE_EXCEEDED}" for stop in found)
    return Failure(f"{wanted}, whatever else the turn brings about", describe(outcome), attempt.n)


def ends_so(outcome: RunOutcome, stop: Stop) -> bool:
    """Whether an outcome is that of a stop."""
    if stop == "cancel":
        return outcome.status is Status.CANCELLED
    return outcome.status is Status.FAILED and outcome.reason == Reason.DEADLINE_EXCEEDED


def _cancelled(timeline: Timeline, attempt: Attempt) -> bool:
    index = next((index for index, one in attempt.interventions if one.do == "cancel"), None)
    if index is None or attempt.reply_index is None or crashed(attempt):
        return False
    if index < attempt.reply_index or _adjoins(timeline, attempt.reply_index, index):
        return True
    last = attempt.ends[-1][0] if attempt.ends else -1
    return index < last or (last > 0 and _adjoins(timeline, last, index))


def _adjoins(timeline: Timeline, before: int, index: int) -> bool:
    """Whether nothing but other interventions stands between two records."""
    between = timeline.trace[before + 1 : index] if before < index else [None]
    return all(isinstance(one, Intervened) for one in between)


def _late(timeline: Timeline, attempt: Attempt) -> bool:
    deadline = timeline.limits.deadline
    if deadline is None or crashed(attempt) or attempt.reply_index is None:
        return False
    if attempt.ends:
        return attempt.ends[-1][1].at > deadline
    moved = [index for index, one in attempt.interventions if one.do == "advance_clock"]
    still = all(_adjoins(timeline, attempt.reply_index, index) for index in moved if index > attempt.reply_index)
    return still and not attempt.starts and bool(attempt.ended) and attempt.ended[0][1].at > deadline


def crashed(attempt: Attempt) -> bool:
    """Whether the process was killed before the next attempt."""
    return any(one.do == "crash" for _, one in attempt.interventions)


def late_starts(attempt: Attempt, late: Callable[[int, ToolStarted], bool]) -> Iterator[Call]:
    """Calls that were begun too late. Read-only neighbours may begin together: the first one's beginning counts."""
    together = False
    for call in attempt.calls:
        if not call.starts:
            continue
        free = call.declared is not None and call.declared.effect is Effect.READ_ONLY
        behind = late(*call.starts[-1])
        if behind and not (free and together):
            yield call
        together = free and (together or not behind)


def cancel_points(timeline: Timeline) -> Look:
    """loop.cancel.points: nothing begins after a cancel, what was begun is recorded, the rest is answered."""
    index = next((index for index, one in timeline.interventions if one.do == "cancel"), None)
    if index is None:
        return
    failures = [*_begun_after(timeline, index), *_badly_cancelled(timeline)]
    yield from failures
    if not failures and timeline.outcome is not None:
        yield KEPT


def _begun_after(timeline: Timeline, index: int) -> Iterator[Failure]:
    for attempt in timeline.attempts:
        if attempt.index > index:
            yield Failure("no attempt after a cancel", f"request {attempt.n} was sent", attempt.n)
        for call in late_starts(attempt, lambda place, _: place > index):
            yield Failure(f"{call.label} does not begin after a cancel", "it was started", attempt.n)


def _badly_cancelled(timeline: Timeline) -> Iterator[Failure]:
    for attempt in timeline.attempts:
        if not any(one.do == "cancel" for _, one in attempt.interventions):
            continue
        found = stops(timeline, attempt)
        if found and attempt.kind in (Kind.TURN, Kind.ANSWER, Kind.PAUSED):
            failure = wrong_stop(attempt, found)
            if failure is not None:
                yield failure
        if attempt.outcome is not None and attempt.outcome.status is Status.CANCELLED:
            yield from _left_open(attempt)


def _left_open(attempt: Attempt) -> Iterator[Failure]:
    """Calls of a cancelled turn that are not answered as they should be."""
    for call in attempt.calls:
        if call.starts and call.result is not None and call.result.reason_code == ReasonCode.CANCELLED:
            yield Failure(
                f"{call.label} was begun: its own outcome is recorded", "it is answered as cancelled", attempt.n
            )
        elif not call.starts and attempt.joined is not None and call.fate in _OPEN:
            wanted = f"{call.label} did not start: it is answered as {ReasonCode.CANCELLED.value}"
            yield Failure(wanted, _answer(call.result), attempt.n)


def _answer(result: ToolResult | None) -> str:
    return "it has no result" if result is None else f"its result: {result.text[:60]!r}"


def timeout(timeline: Timeline) -> Look:
    """loop.tools.timeout: a tool's own time limit is a result; the run's deadline ends the run, and nothing begins
    after it."""
    deadline = timeline.limits.deadline
    for attempt in timeline.turns:
        for call in attempt.calls:
            yield from _own_limit(attempt, call)
        if deadline is None:
            continue
        late = list(late_starts(attempt, lambda _, started: started.at > deadline))
        for call in late:
            yield Failure(f"{call.label} does not begin after the deadline", "it was started", attempt.n)
        if _late(timeline, attempt) and attempt.kind is Kind.TURN and not late:
            yield wrong_stop(attempt, stops(timeline, attempt) or ["deadline"])


def _own_limit(attempt: Attempt, call: Call) -> Look:
    if not call.ends or not call.ends[-1][1].outcome.timed_out or call.result is None or attempt.joined is None:
        return
    harmless = call.declared is not None and call.declared.effect is Effect.READ_ONLY
    code = ReasonCode.TIMED_OUT if harmless else ReasonCode.OUTCOME_UNKNOWN
    right = call.result.is_error and call.result.reason_code == code
    wanted = f"{call.label} passed its time limit: an error result {code.value}"
    yield KEPT if right else Failure(wanted, _answer(call.result), attempt.n)
