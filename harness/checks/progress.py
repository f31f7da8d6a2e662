"""Checkers of loop.progress.*: retry, progress or recursion (loop.md section 3, second part)."""

from harness.checks.breaker import mode
from harness.checks.finding import Failure, Look
from harness.checks.standing import REPEATED, Sure
from harness.checks.timeline import Attempt, Kind, Timeline


def outcome_repetition(timeline: Timeline) -> Look:
    """loop.progress.outcome-repetition: one tool's outcome without progress, again and again, earns synthesis."""
    for attempt in timeline.attempts:
        standing = attempt.standing
        if standing.budget is Sure.NO and standing.came_back:
            yield (_answers(attempt) if standing.stuck is Sure.YES else None) or mode(attempt)


def _answers(attempt: Attempt) -> Failure | None:
    if attempt.control == REPEATED:
        return None
    tools = ", ".join(attempt.standing.stuck_tools)
    wanted = f"control {REPEATED}: an outcome of {tools} without progress stands one below the threshold"
    return Failure(wanted, f"control {attempt.control}" if attempt.control else "no control", attempt.n)


def retry_budget(timeline: Timeline) -> Look:
    """loop.progress.retry-budget: inside a declared budget no counter advances, past it they do."""
    for attempt in timeline.attempts:
        if attempt.standing.covered and attempt.standing.budget is Sure.NO:
            stuck = attempt.standing.stuck is Sure.YES
            yield (_answers(attempt) if stuck else None) or mode(attempt)


def changing_outcome(timeline: Timeline) -> Look:
    """loop.progress.changing-outcome: an observation that changed is progress; the run goes on."""
    before = 0
    for attempt in timeline.attempts:
        resets = attempt.standing.resets.low
        if resets > before and attempt.standing.budget is Sure.NO:
            yield mode(attempt)
        before = resets


def fail_closed(timeline: Timeline) -> Look:
    """loop.progress.fail-closed: a call whose outcome is not known counts strictly."""
    for attempt in timeline.attempts:
        if attempt.standing.unrecorded and attempt.standing.budget is Sure.NO:
            yield mode(attempt)
            if attempt.kind is Kind.TURN and attempt.control is None and attempt.over_limit is Sure.YES:
                yield _not_over(attempt)


def _not_over(attempt: Attempt) -> Failure | None:
    started = [call.label for call in attempt.calls if call.starts]
    if not started:
        return None
    return Failure("the batch reaches the threshold: none of it runs", f"{', '.join(started)} started", attempt.n)
