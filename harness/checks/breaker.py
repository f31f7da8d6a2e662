"""Checkers of loop.md section 3: identical calls, synthesis before the limit, and the limit.

What the counters demand before each attempt stands in `Attempt.standing`; these checkers compare it with the mode in
which the request was sent, and with how the run ended.
"""

from collections.abc import Callable, Iterator

from harness.checks.endings import LIMIT_ENDING, REPETITION_ENDING, dispatched, reserve_ending, wrong_ending
from harness.checks.finding import KEPT, Failure, Look
from harness.checks.history import instructs
from harness.checks.standing import REPEATED, Sure
from harness.checks.timeline import Attempt, Fate, Kind, Timeline
from harness.vocabulary.events import EventName
from harness.vocabulary.outcome import ErrorClass

_ANSWERED = frozenset({Fate.TRUNCATED, Fate.INVALID, Fate.UNKNOWN, Fate.DENIED, Fate.REFUSED, Fate.CANCELLED})


def demanded(attempt: Attempt) -> bool:
    """Whether the counters surely call for synthesis, and no budget may have a say."""
    return attempt.standing.repeat is Sure.YES and attempt.standing.budget is Sure.NO


def mode(attempt: Attempt) -> Failure | None:
    """The request's mode against the identical-call counters: None where it is as they demand or allow."""
    standing, control = attempt.standing, attempt.control
    if control is None and standing.repeat is Sure.YES:
        tools = ", ".join(sorted({tool for tool, _ in standing.hot}))
        return Failure(
            f"{standing.demanded}: identical calls of {tools} stand one below the threshold",
            "no control: an ordinary request",
            attempt.n,
        )
    if control == REPEATED and standing.repeat is Sure.NO:
        return Failure(
            f"{standing.demanded}: no signature stands one below the threshold",
            f"the request carries control {REPEATED}",
            attempt.n,
        )
    return KEPT


def _modes(timeline: Timeline, occasion: Callable[[Attempt], bool]) -> Look:
    """The mode of each request for which `occasion` holds."""
    for attempt in timeline.attempts:
        if occasion(attempt):
            yield mode(attempt)


def synthesis_before_limit(timeline: Timeline) -> Look:
    """loop.breaker.synthesis-before-limit: one below the threshold, and not sooner, the next turn is synthesis-only."""
    return _modes(timeline, lambda attempt: demanded(attempt) or mode(attempt) is not None)


def threshold(timeline: Timeline) -> Look:
    """loop.breaker.threshold: the recorded setting counts per signature over the whole run, however calls mix."""
    yield from _modes(timeline, demanded)
    for attempt in timeline.turns:
        if attempt.control is None and attempt.over_limit is Sure.YES:
            yield wrong_ending(attempt, LIMIT_ENDING)
    wanted = timeline.settings.identical_call_threshold
    starts = [event for _, event in timeline.events if event.name == EventName.RUN_STARTED]
    for recorded in [event.fields.get("identical_call_threshold", wanted) for event in starts]:
        if recorded != wanted:
            yield Failure(f"threshold {wanted} is recorded with the run", f"{recorded} is")


def hard_limit_before_dispatch(timeline: Timeline) -> Look:
    """loop.breaker.hard-limit-before-dispatch: a batch that would reach the threshold fails before any of it runs."""
    for attempt in timeline.turns:
        if attempt.control is not None:
            continue
        if attempt.over_limit is Sure.YES:
            yield dispatched(attempt, LIMIT_ENDING.why) or wrong_ending(attempt, LIMIT_ENDING)
        elif attempt.over_limit is Sure.NO and _failed_as_loop(attempt):
            wanted = "the batch is disposed of: no signature reaches the threshold"
            yield Failure(wanted, "the run failed as a loop", attempt.n)


def _failed_as_loop(attempt: Attempt) -> bool:
    return attempt.outcome is not None and attempt.outcome.error_class == ErrorClass.TOOL_LOOP_DETECTED


def violation_any_arguments(timeline: Timeline) -> Look:
    """loop.breaker.violation-any-arguments: any tool call in repeated-tool synthesis fails before dispatch."""
    for attempt in timeline.turns:
        if attempt.control == REPEATED:
            yield dispatched(attempt, REPETITION_ENDING.why) or wrong_ending(attempt, REPETITION_ENDING)


def overlap(timeline: Timeline) -> Look:
    """loop.breaker.overlap: where a budget calls for synthesis too, its control stands alone and names the failure."""
    for attempt in timeline.attempts:
        standing = attempt.standing
        if standing.repeat is not Sure.YES or standing.budget is not Sure.YES:
            continue
        if attempt.control not in standing.budgets:
            name = attempt.control or "none"
            yield Failure(f"control {standing.demanded}: the budget's wins", f"control {name}", attempt.n)
        elif attempt.kind is Kind.TURN:
            yield wrong_ending(attempt, reserve_ending(standing.budgets[-1]))
        else:
            yield KEPT


def no_extra_allowance(timeline: Timeline) -> Look:
    """loop.breaker.no-extra-allowance: synthesis is an ordinary model call; nothing restarts or extends it."""
    synthesised = False
    for attempt in timeline.attempts:
        if synthesised and attempt.control is None:
            yield Failure(
                "after a synthesis request no ordinary request follows", "research was started again", attempt.n
            )
        if attempt.control == REPEATED:
            synthesised = True
            yield _extended(attempt)
        elif synthesised and attempt.starts:
            yield dispatched(attempt, "synthesis")
    if timeline.closing.repeat is Sure.YES and timeline.closing.spent and not synthesised:
        yield KEPT  # a hard budget stood before the answer; how the run ended is loop.budget.hard-stop's matter


def _extended(attempt: Attempt) -> Failure | None:
    if attempt.standing.spent:
        spent = ", ".join(attempt.standing.spent)
        return Failure(f"no synthesis once {spent} is spent", "the request was sent", attempt.n)
    return dispatched(attempt, "synthesis")


def resume(timeline: Timeline) -> Look:
    """loop.breaker.resume: a resumed run goes on counting where it stood."""
    yield from _modes(
        timeline, lambda attempt: demanded(attempt) and (attempt.standing.carried or _finished_later(attempt))
    )
    for attempt in timeline.turns:
        if attempt.control is None and attempt.over_limit is Sure.YES and attempt.carried:
            yield dispatched(attempt, LIMIT_ENDING.why) or wrong_ending(attempt, LIMIT_ENDING)


def _finished_later(attempt: Attempt) -> bool:
    before = attempt.previous
    return before is not None and before.life < attempt.life


def retry_keeps_synthesis(timeline: Timeline) -> Look:
    """loop.breaker.retry-keeps-synthesis: a retry of a synthesis attempt is synthesis again, with one instruction."""
    for attempt in timeline.attempts:
        before = attempt.previous
        if before is None or before.control is None or not attempt.same_step:
            continue
        if attempt.control is None:
            yield Failure("the retry is synthesis-only again", "it carries no control", attempt.n)
        else:
            yield _one_instruction(attempt)


def _one_instruction(attempt: Attempt) -> Failure | None:
    control = attempt.request.control
    told = (control.text.count("[run control: ") if control is not None else 0) + len(list(leaked(attempt)))
    return None if told == 1 else Failure("exactly one control instruction", f"{told} of them", attempt.n)


def leaked(attempt: Attempt) -> Iterator[int]:
    """Places of new or changed items that hold a control instruction of the platform."""
    base = len(attempt.request.items) - len(attempt.change.grown)
    if attempt.previous is None:
        return
    for place in [*attempt.change.changed, *range(base, len(attempt.request.items))]:
        if instructs(attempt.request.items[place]):
            yield place


def counts(timeline: Timeline) -> Look:
    """loop.breaker.counts: completed calls count, each of a batch; denied, refused and cancelled ones do not."""
    special = False
    for attempt in timeline.attempts:
        if special and attempt.standing.budget is Sure.NO:
            yield mode(attempt)
        if attempt.kind is Kind.TURN and not special:
            signatures = [call.signature for call in attempt.calls]
            special = len(set(signatures)) < len(signatures) or any(call.fate in _ANSWERED for call in attempt.calls)


def evidence_reset(timeline: Timeline) -> Look:
    """loop.breaker.evidence-reset: changed evidence restarts a counter at 1; nothing else does."""
    resets = timeline.closing.resets
    for attempt in timeline.attempts:
        if attempt.standing.resets.low:
            yield mode(attempt)
    outcome = timeline.outcome
    if outcome is not None and timeline.shows("usage") and outcome.counters.resets not in resets:
        yield Failure(f"{resets} evidence resets", f"the outcome counts {outcome.counters.resets}")
    elif resets.low:
        yield KEPT


def reset_cap(timeline: Timeline) -> Look:
    """loop.breaker.reset-cap: after the last allowed reset the strict count applies, and the control says so."""
    cap = timeline.settings.evidence_reset_cap
    outcome = timeline.outcome
    if outcome is not None and timeline.shows("usage") and outcome.counters.resets > cap:
        yield Failure(f"at most {cap} resets", f"the outcome counts {outcome.counters.resets}")
    for attempt in timeline.attempts:
        if attempt.standing.resets_denied:
            yield mode(attempt) or _cap_is_named(timeline, attempt)


def _cap_is_named(timeline: Timeline, attempt: Attempt) -> Failure | None:
    if attempt.control != REPEATED or not timeline.shows("events"):
        return KEPT
    end = attempt.index if attempt.reply_index is None else attempt.reply_index
    named = [
        event.fields.get("reset_cap")
        for index, event in timeline.events
        if index < end and event.name == EventName.SYNTHESIS_ENTERED
    ]
    return KEPT if not named or named[-1] else Failure("synthesis.entered names reset_cap", "it does not", attempt.n)
