"""How a run has to end at a turn, and what may not happen then. Shared by the checkers of violations and limits."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.checks.finding import Failure
from harness.checks.standing import REPEATED, Sure
from harness.checks.timeline import Attempt
from harness.vocabulary.outcome import ErrorClass, Reason, RunOutcome, Status


@dataclass(frozen=True, slots=True)
class Ending:
    """A failure that the rule prescribes: its reason, its class, and details that must be there. `why` is the occasion
    in words."""

    reason: Reason
    error_class: ErrorClass
    why: str
    details: Mapping[str, Any] = field(default_factory=dict)


def reserve_ending(control: str) -> Ending:
    """The end of a tool call in budget synthesis."""
    return Ending(
        Reason.BUDGET_EXCEEDED,
        ErrorClass.SYNTHESIS_RESERVE_VIOLATION,
        f"a tool call in {control} synthesis",
        {"synthesis_reserve": control},
    )


REPETITION_ENDING = Ending(
    Reason.TOOL_LOOP_DETECTED, ErrorClass.TOOL_LOOP_DETECTED, "a tool call in repeated-tool synthesis"
)
LIMIT_ENDING = Ending(
    Reason.TOOL_LOOP_DETECTED, ErrorClass.TOOL_LOOP_DETECTED, "a batch that reaches the identical-call threshold"
)


def first_ending(attempt: Attempt) -> Ending | None:
    """The end that a turn with calls brings about, by the mode of its request and the identical-call limit."""
    if attempt.control == REPEATED:
        return REPETITION_ENDING
    if attempt.control is not None:
        return reserve_ending(attempt.control)
    return LIMIT_ENDING if attempt.over_limit is Sure.YES else None


def wrong_ending(attempt: Attempt, ending: Ending) -> Failure | None:
    """None if the run ended at this attempt as prescribed, or was stopped from outside before it could."""
    if attempt.stopped:
        return None
    expected = f"after {ending.why}: failed, {ending.reason} / {ending.error_class}"
    if attempt.following is not None:
        return Failure(expected, f"the run went on with request {attempt.following.n}", attempt.n)
    outcome = attempt.outcome
    if outcome is None:
        return Failure(expected, "the run has no outcome", attempt.n)
    if (outcome.status, outcome.reason, outcome.error_class) != (Status.FAILED, ending.reason, ending.error_class):
        return Failure(expected, describe(outcome), attempt.n)
    for key, value in ending.details.items():
        if outcome.details.get(key) != value:
            return Failure(f"details name {key}: {value}", f"details: {dict(outcome.details)}", attempt.n)
    return None


def dispatched(attempt: Attempt, why: str) -> Failure | None:
    """None if nothing of the turn reached the executor or a person."""
    if attempt.starts:
        first = attempt.starts[0][1]
        return Failure(f"nothing runs after {why}", f"{first.tool} was started ({first.call_id})", attempt.n)
    if attempt.asked:
        asked = attempt.asked[0][1]
        return Failure(f"nobody is asked after {why}", f"approval was asked for {asked.tool}", attempt.n)
    return None


def describe(outcome: RunOutcome) -> str:
    """An outcome in a few words."""
    if outcome.status is not Status.FAILED:
        return str(outcome.status.value)
    return f"failed, {outcome.reason} / {outcome.error_class}"
