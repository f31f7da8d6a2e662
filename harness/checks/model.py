"""Checkers of loop.md section 6 that look at attempts: who retries what, how often, and how failed attempts end."""

from collections.abc import Iterator

from harness.checks.endings import describe
from harness.checks.finding import KEPT, Failure, Look
from harness.checks.standing import Sure
from harness.checks.timeline import Attempt, Kind, Timeline
from harness.vocabulary.events import EventName
from harness.vocabulary.outcome import ErrorClass, Reason, RunOutcome, Status
from harness.vocabulary.turn import FaultKind, ModelFault, ModelTurn, StopReason

LONGEST_BACKOFF = 120.0
"""Seconds. The rule says "bounded" without a figure; a longer wait that nobody asked for is none."""
_TYPED: dict[FaultKind, tuple[Reason, ErrorClass]] = {
    FaultKind.PERMANENT: (Reason.MODEL_PERMANENT_ERROR, ErrorClass.MODEL_PERMANENT_ERROR),
    FaultKind.PROTOCOL: (Reason.MODEL_PERMANENT_ERROR, ErrorClass.MODEL_PROTOCOL_ERROR),
}


def failed(attempt: Attempt) -> bool:
    """Whether an attempt came to nothing."""
    return attempt.kind in (Kind.FAULT, Kind.EMPTY)


def retried(attempt: Attempt) -> bool:
    """Whether the same step was tried again after it."""
    return attempt.following is not None and attempt.following.same_step


def streaks(timeline: Timeline) -> Iterator[list[Attempt]]:
    """Runs of attempts of one step in which each but the last failed. Each resume of a paused turn begins a new one."""
    streak: list[Attempt] = []
    for attempt in timeline.attempts:
        if streak and not (attempt.same_step and failed(streak[-1])):
            yield streak
            streak = []
        streak.append(attempt)
    if streak:
        yield streak


def one_owner(timeline: Timeline) -> Look:
    """loop.model.one-owner: at most `max_attempts` attempts a step, whoever makes them."""
    most = timeline.settings.max_attempts
    for streak in streaks(timeline):
        if len(streak) > most:
            yield Failure(f"at most {most} attempts a step", f"{len(streak)} of step {streak[0].step}", streak[most].n)
        elif failed(streak[0]) and retryable(streak[0]) is Sure.YES:
            last = streak[-1]
            used_up = len(streak) == most and failed(last) and retryable(last) is Sure.YES
            yield _used_up(timeline, streak) if used_up else KEPT


def _used_up(timeline: Timeline, streak: list[Attempt]) -> Failure | None:
    """The end of a step whose attempts are used up."""
    last, outcome = streak[-1], streak[-1].outcome
    if outcome is None or last.stopped or timeline.closing.spent:
        return KEPT
    empty = all(attempt.kind is Kind.EMPTY for attempt in streak)
    reason = Reason.EMPTY_MODEL_TURN if empty else Reason.MAX_ATTEMPTS_EXCEEDED
    cause = ErrorClass.EMPTY_MODEL_TURN if last.kind is Kind.EMPTY else ErrorClass.MODEL_TRANSIENT_ERROR
    return _typed(last, outcome, reason, cause)


def _typed(attempt: Attempt, outcome: RunOutcome, reason: Reason, error_class: ErrorClass) -> Failure | None:
    if (outcome.status, outcome.reason, outcome.error_class) == (Status.FAILED, reason, error_class):
        return KEPT
    return Failure(f"failed, {reason} / {error_class}", describe(outcome), attempt.n)


def retryable(attempt: Attempt) -> Sure:
    """Whether the rule has a failed attempt retried. Of a stream that broke off this is known where the record says
    how it ended and whether text was seen before."""
    fault = attempt.reply
    if attempt.kind is Kind.EMPTY:
        return Sure.YES
    if isinstance(fault, ModelFault):
        return Sure.YES if fault.kind is FaultKind.TRANSIENT and not fault.stream_had_output else Sure.NO
    if attempt.ending == "clean" or (attempt.ending and attempt.visible):
        return Sure.NO
    return Sure.MAYBE if not attempt.ending or attempt.visible is None else Sure.YES


def transient_only(timeline: Timeline) -> Look:
    """loop.model.transient-only: transient faults before visible output and empty turns are retried, nothing else. A
    stream that ends in order without its terminal event is loop.model.terminal-required's."""
    for streak in streaks(timeline):
        for place, attempt in enumerate(streak, start=1):
            if failed(attempt) and retryable(attempt) is not Sure.MAYBE and attempt.ending != "clean":
                yield _retry(timeline, attempt, place)
    for attempt in timeline.attempts:
        if attempt.kind is Kind.SILENT and attempt.following is not None and not attempt.stopped:
            yield Failure("a refused, filtered or cut turn is not retried", "it was", attempt.n)


def _retry(timeline: Timeline, attempt: Attempt, place: int) -> Failure | None:
    fault, cause = attempt.reply, _cause(attempt)
    if isinstance(fault, ModelFault) and fault.kind is FaultKind.CONTEXT_LENGTH:
        return KEPT  # one rebuild is allowed: loop.context.overflow
    if retryable(attempt) is Sure.NO:
        return Failure(f"no retry after {cause}", "it was retried", attempt.n) if retried(attempt) else _ends(attempt)
    outcome = attempt.outcome
    if outcome is None or retried(attempt) or attempt.stopped or place >= timeline.settings.max_attempts:
        return KEPT
    if timeline.closing.spent or attempt.violated:
        return KEPT
    return Failure(f"a retry after {cause}, the {place}. attempt of its step", describe(outcome), attempt.n)


def _cause(attempt: Attempt) -> str:
    if isinstance(attempt.reply, ModelFault):
        return f"a {attempt.reply.kind.value} fault"
    if attempt.cut:
        return f"a stream that broke off {'after' if attempt.visible else 'before'} visible output"
    return "an empty turn"


def _ends(attempt: Attempt) -> Failure | None:
    """The end that a fault brings about which is not retried."""
    fault, outcome = attempt.reply, attempt.outcome
    if outcome is None or attempt.stopped:
        return KEPT
    if not isinstance(fault, ModelFault) or fault.kind is FaultKind.TRANSIENT:
        if outcome.details.get("stream_had_output"):
            return _typed(attempt, outcome, Reason.MAX_ATTEMPTS_EXCEEDED, ErrorClass.MODEL_TRANSIENT_ERROR)
        return Failure(
            "details say stream_had_output", f"{describe(outcome)}, details {dict(outcome.details)}", attempt.n
        )
    typed = _TYPED.get(fault.kind)
    return _typed(attempt, outcome, *typed) if typed is not None and not attempt.violated else KEPT


def retry_after(timeline: Timeline) -> Look:
    """loop.model.retry-after: a wait is as long as the provider asks, bounded, and never passes the deadline."""
    deadline = timeline.limits.deadline
    for attempt in timeline.attempts:
        waited = sum([wait.seconds for wait in attempt.waits])
        asked = attempt.reply.retry_after if isinstance(attempt.reply, ModelFault) else None
        if asked is not None and retried(attempt):
            yield KEPT if waited >= asked else Failure(f"a wait of {asked:g} s or more", f"{waited:g} s", attempt.n)
        if waited > max(LONGEST_BACKOFF, asked or 0.0):
            yield Failure(f"a backoff of at most {LONGEST_BACKOFF:g} s", f"{waited:g} s", attempt.n)
        if waited and deadline is not None:
            late = attempt.sent.at + waited > deadline
            yield (
                Failure("no wait passes the deadline", f"{waited:g} s from {attempt.sent.at:g} on", attempt.n)
                if late
                else KEPT
            )


def terminal_required(timeline: Timeline) -> Look:
    """loop.model.terminal-required: a stream without its terminal event is no answer, runs nothing, is not retried."""
    for attempt in timeline.attempts:
        fault = attempt.reply
        broken = isinstance(fault, ModelFault) and fault.kind is FaultKind.PROTOCOL
        if (attempt.cut or broken) and attempt.kind is Kind.FAULT:
            yield _unfinished(attempt, broken)


def _unfinished(attempt: Attempt, broken: bool) -> Failure | None:
    if attempt.starts:
        return Failure("no call of an unfinished turn runs", f"{attempt.starts[0][1].tool} was started", attempt.n)
    outcome = attempt.outcome
    if outcome is not None and outcome.status is Status.COMPLETED:
        return Failure("an unfinished turn is no answer", "the run completed with it", attempt.n)
    told = [event.fields.get("kind") for _, event in attempt.events if event.name == EventName.MODEL_FAILED]
    protocol = broken or FaultKind.PROTOCOL in told
    if protocol and retried(attempt):
        return Failure("a protocol error is not retried", "it was", attempt.n)
    if protocol and outcome is not None and not attempt.stopped:
        return _typed(attempt, outcome, Reason.MODEL_PERMANENT_ERROR, ErrorClass.MODEL_PROTOCOL_ERROR)
    return KEPT


def empty_turn(timeline: Timeline) -> Look:
    """loop.model.empty-turn: a turn of nothing is a failed attempt; a turn cut before its text fails typed."""
    for attempt in timeline.attempts:
        outcome = attempt.outcome
        if attempt.kind is Kind.EMPTY:
            accepted = outcome is not None and outcome.status is Status.COMPLETED
            yield Failure("an empty turn is no answer", "the run completed with it", attempt.n) if accepted else KEPT
        elif attempt.kind is Kind.SILENT and _stop(attempt) is StopReason.MAX_TOKENS:
            yield _cut_silent(attempt, outcome)


def _stop(attempt: Attempt) -> StopReason | None:
    return attempt.reply.stop if isinstance(attempt.reply, ModelTurn) else None


def _cut_silent(attempt: Attempt, outcome: RunOutcome | None) -> Failure | None:
    if attempt.following is not None:
        return Failure("a turn cut before any text is not retried", "it was", attempt.n)
    if outcome is None or attempt.stopped:
        return KEPT
    right = outcome.status is Status.FAILED and outcome.reason == Reason.EMPTY_MODEL_TURN
    return KEPT if right else Failure("failed, empty_model_turn", describe(outcome), attempt.n)
