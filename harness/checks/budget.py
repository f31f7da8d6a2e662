"""Checkers of loop.md section 2 that follow the budgets through a run: reserves, hard stops, attempts, usage, cost."""

from collections.abc import Iterator
from decimal import Decimal

from harness.checks.endings import describe, dispatched, first_ending, reserve_ending, wrong_ending
from harness.checks.finding import KEPT, Failure, Look
from harness.checks.model import LONGEST_BACKOFF
from harness.checks.standing import REPEATED, Sure
from harness.checks.timeline import SIM, Attempt, Kind, Timeline
from harness.vocabulary.control import CONTROL_NAMES
from harness.vocabulary.events import EventName
from harness.vocabulary.outcome import ErrorClass, Reason, RunOutcome, Status
from harness.vocabulary.turn import ModelFault

BUDGET_CONTROLS = frozenset(CONTROL_NAMES) - {REPEATED}
_HARD_ENDINGS = {
    "model_calls": Reason.BUDGET_EXCEEDED,
    "cost": Reason.BUDGET_EXCEEDED,
    "steps": Reason.MAX_STEPS_EXCEEDED,
    "deadline": Reason.DEADLINE_EXCEEDED,
}
_EARLIER = (Reason.REPEATED_DENIAL, Reason.CONTEXT_OVERFLOW)
"""Other ends of a turn, that may come before its budget is read."""
_STEP_LIMITS = ("steps", "cost", "deadline")


def shown(control: str | None) -> str:
    """A mode in a sentence."""
    return "no control" if control is None else f"control {control}"


def reserve_is_synthesis(timeline: Timeline) -> Look:
    """loop.budget.reserve-is-synthesis: the reserve is kept for the answer, and not touched sooner."""
    for attempt in timeline.attempts:
        standing, control = attempt.standing, attempt.control
        reached = standing.reserved is Sure.YES and standing.budget is Sure.YES
        if control == REPEATED and reached:
            yield KEPT  # answers from what it has; which control it names is loop.breaker.overlap's matter
        elif (reached or control in BUDGET_CONTROLS) and control not in standing.budgets:
            yield Failure(_demand(attempt), f"the request carries {shown(control)}", attempt.n)
        elif reached:
            yield KEPT


def _demand(attempt: Attempt) -> str:
    standing = attempt.standing
    charged = f"charged: {standing.steps} steps, {standing.model_calls} model calls, {standing.tool_calls} tool calls"
    return f"{standing.demanded} ({charged})"


def tool_calls_never_fail_the_answer(timeline: Timeline) -> Look:
    """loop.budget.tool-calls-never-fail-the-answer: spent tool calls lead to an answer turn."""
    for attempt in timeline.attempts:
        if attempt.standing.exhausted is Sure.YES:
            if attempt.control is None:
                yield Failure("control tool_calls, since the tool calls are spent", "no control", attempt.n)
            else:
                yield KEPT
    yield from _failed_by_tool_calls(timeline)


def _failed_by_tool_calls(timeline: Timeline) -> Iterator[Failure]:
    outcome = owed(timeline)
    if outcome is None or timeline.closing.exhausted is not Sure.YES or timeline.closing.spent:
        return
    if outcome.reason == Reason.BUDGET_EXCEEDED and outcome.error_class == ErrorClass.BUDGET_EXCEEDED:
        number = timeline.attempts[-1].n
        yield Failure("spent tool calls do not fail the run: an answer turn follows", describe(outcome), number)


def owed(timeline: Timeline) -> RunOutcome | None:
    """The outcome of a run that ended where an answer was owed: after a turn whose calls were disposed of."""
    last = timeline.last
    if last is None or last.kind is not Kind.TURN or last.stopped or first_ending(last) is not None:
        return None
    return last.outcome if last.over_limit is Sure.NO else None


def reserve_violation(timeline: Timeline) -> Look:
    """loop.budget.reserve-violation: a tool call in budget synthesis fails the run before anything runs."""
    for attempt in timeline.turns:
        if attempt.control in BUDGET_CONTROLS and attempt.control is not None:
            ending = reserve_ending(attempt.control)
            yield dispatched(attempt, ending.why) or wrong_ending(attempt, ending)


def step_scope(timeline: Timeline) -> Look:
    """loop.budget.step-scope: what a step is admitted by. Spent tool calls do not keep a step from starting; spent
    steps and cost, and a passed deadline, do."""
    for attempt in timeline.attempts:
        if attempt.previous is None or attempt.same_step:
            continue
        spent = [name for name in attempt.standing.spent if name in _STEP_LIMITS]
        if spent:
            yield Failure(f"no step starts once {spent[0]} is spent", f"step {attempt.step} was started", attempt.n)
        elif attempt.standing.exhausted is Sure.YES:
            yield KEPT
    yield from _late_steps(timeline)
    yield from _failed_by_tool_calls(timeline)
    if owed(timeline) is not None and any(name in timeline.closing.spent for name in _STEP_LIMITS):
        yield KEPT


def _late_steps(timeline: Timeline) -> Look:
    """Steps that the subject says it began after a tool that returned past the deadline."""
    deadline = timeline.limits.deadline
    if deadline is None:
        return
    for attempt in timeline.turns:
        late = next((index for index, ended in attempt.ends if ended.at > deadline), None)
        if late is not None:
            begun = any(index > late and event.name == EventName.STEP_STARTED for index, event in attempt.events)
            yield Failure("no step starts after the deadline", "one did", attempt.n) if begun else KEPT


def attempts_count(timeline: Timeline) -> Look:
    """loop.budget.attempts-count: every attempt is a model call, and its usage counts."""
    outcome, counted = timeline.outcome, timeline.closing.model_calls
    if outcome is None or not timeline.attempts:
        return
    if outcome.counters.model_calls not in counted:
        yield Failure(f"{counted} model calls are counted", f"the outcome counts {outcome.counters.model_calls}")
    else:
        yield KEPT
    for name, low, _ in usage_bounds(timeline):
        used = getattr(outcome.usage, name)
        if low is not None and used is not None and used < low:
            yield Failure(f"{name}: at least {low}, over all attempts", f"the outcome says {used}")


def cumulative_usage(timeline: Timeline) -> Look:
    """loop.budget.cumulative-usage: final figures, each once; what was not reported is None."""
    outcome = timeline.outcome
    if outcome is None:
        return
    for name, low, high in usage_bounds(timeline):
        used = getattr(outcome.usage, name)
        wanted = "not reported (None)" if low is None else str(low) if low == high else f"{low} or more"
        if (low is None) != (used is None) or (high is not None and used is not None and used > high):
            yield Failure(f"{name}: {wanted}", f"the outcome says {used}")
        elif low is not None:
            yield KEPT


def usage_bounds(timeline: Timeline) -> Iterator[tuple[str, int | None, int | None]]:
    """Each usage class that can be judged: its name, and the bounds of its sum (both None: nobody reported it). On a
    wire the simulated provider fills in what a script leaves open, so there only wholly scripted classes are judged."""
    replies = [attempt for attempt in timeline.attempts if attempt.reply is not None and attempt.kind is not Kind.LOST]
    whole = len(replies) == len(timeline.attempts)
    broken = any(attempt.cut for attempt in replies)
    for name in ("input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens"):
        figures = [getattr(attempt.reply.usage, name) for attempt in replies if attempt.reply and not attempt.cut]
        told = [figure for figure in figures if figure is not None]
        turns = [
            getattr(attempt.reply.usage, name)
            for attempt in replies
            if attempt.reply and not attempt.cut and attempt.kind is not Kind.FAULT
        ]
        if None in turns and (told or timeline.transport != SIM):
            continue
        if not told and not broken and whole:
            yield name, None, None
        elif told:
            yield name, sum(told), sum(told) if whole and not broken else None


def hard_stop(timeline: Timeline) -> Look:
    """loop.budget.hard-stop: a spent hard budget ends the run; an answer in hand completes."""
    for attempt in timeline.attempts:
        if attempt.standing.spent:
            spent = ", ".join(attempt.standing.spent)
            yield Failure(f"no attempt once {spent} is spent", f"request {attempt.n} was sent", attempt.n)
    last = timeline.last
    if last is None or last.outcome is None:
        return
    if last.kind is Kind.ANSWER and not last.stopped:
        if last.outcome.status is Status.FAILED:
            yield Failure("an answer in hand completes the run", describe(last.outcome), last.n)
        elif timeline.closing.spent:
            yield KEPT
    if last.outcome.reason == Reason.DEADLINE_EXCEEDED:
        yield _wrong_deadline(timeline, last, last.outcome)
    outcome = owed(timeline) or _left_paused(last)
    if outcome is not None and timeline.closing.spent:
        yield _wrong_hard_ending(timeline, outcome)
    elif outcome is not None or last.kind in (Kind.FAULT, Kind.EMPTY):
        yield from _early_stop(timeline, last.outcome)


def _left_paused(last: Attempt) -> RunOutcome | None:
    """The outcome of a run that ended with a paused turn, whose rest was owed."""
    return last.outcome if last.kind is Kind.PAUSED and not last.stopped else None


def _wrong_deadline(timeline: Timeline, last: Attempt, outcome: RunOutcome) -> Failure | None:
    """A run that says its deadline passed, although it did not and no wait that was due would have passed it."""
    deadline, ended = timeline.limits.deadline, timeline.ends[-1][1].at
    if deadline is None:
        return Failure("no deadline was set", describe(outcome), last.n)
    asked = last.reply.retry_after if isinstance(last.reply, ModelFault) else 0.0
    wait = LONGEST_BACKOFF if asked is None else asked
    if ended + wait >= deadline:
        return KEPT
    return Failure(f"the run goes on until {deadline:g} s", f"{describe(outcome)} at {ended:g} s", last.n)


def _wrong_hard_ending(timeline: Timeline, outcome: RunOutcome) -> Failure | None:
    wanted = sorted({_HARD_ENDINGS[name].value for name in timeline.closing.spent})
    if outcome.status is Status.FAILED and outcome.reason in (*wanted, *_EARLIER):
        return KEPT
    spent = ", ".join(timeline.closing.spent)
    return Failure(f"failed, {' or '.join(wanted)}, since {spent} is spent", describe(outcome), timeline.attempts[-1].n)


def _early_stop(timeline: Timeline, outcome: RunOutcome) -> Look:
    """A run that says a hard budget is spent while none is."""
    if outcome.error_class != ErrorClass.BUDGET_EXCEEDED or outcome.status is not Status.FAILED:
        return
    closing, limits = timeline.closing, timeline.limits
    possible = {
        Reason.BUDGET_EXCEEDED: closing.model_calls.high >= limits.max_model_calls
        or (limits.max_cost is not None and (closing.cost.high is None or closing.cost.high >= limits.max_cost)),
        Reason.MAX_STEPS_EXCEEDED: closing.steps >= limits.max_steps,
    }
    named = next((reason for reason in possible if reason == outcome.reason), None)
    if named is not None and not possible[named]:
        used = f"{closing.steps} steps and {closing.model_calls} model calls"
        yield Failure("the run goes on: no hard budget is spent", f"{describe(outcome)} after {used}")
    elif named is not None:
        yield KEPT


def cost(timeline: Timeline) -> Look:
    """loop.budget.cost: usage times price, in exact decimals."""
    outcome, known = timeline.outcome, timeline.closing.cost
    if outcome is None or timeline.settings.model not in timeline.settings.prices or not timeline.attempts:
        return
    if known.high is None:
        return
    counted: Decimal = outcome.counters.cost
    if known.low <= counted <= known.high:
        yield KEPT
    else:
        yield Failure(f"a cost of ${known.low} from usage and prices", f"the outcome says ${counted}")
