"""Checker of loop.turn.order: what happens to a turn that holds calls, and that a run ends once.

The order of endings: cancel or deadline, budget violation, repetition violation, hard limit; then answers without
dispatch, fitting, approval, dispatch. The mode in which the request was sent decides.
"""

from collections.abc import Iterator

from harness.checks.budget_fit import fitted_turns
from harness.checks.endings import dispatched, first_ending, wrong_ending
from harness.checks.finding import KEPT, Failure, Look
from harness.checks.history import spoken
from harness.checks.reckoning import slotless
from harness.checks.stops import stops, wrong_stop
from harness.checks.timeline import Attempt, Call, Fate, Kind, Timeline
from harness.vocabulary.outcome import Status
from harness.vocabulary.trace import RequestSent, RunEnded, ToolStarted
from harness.vocabulary.turn import ModelTurn


def order(timeline: Timeline) -> Look:
    """loop.turn.order: the first ending wins; what may not run is answered before the rest is fitted."""
    for attempt in timeline.turns:
        ending, found = first_ending(attempt), stops(timeline, attempt)
        if found:
            yield wrong_stop(attempt, found)
        elif ending is not None:
            yield dispatched(attempt, ending.why) or wrong_ending(attempt, ending)
    for attempt, _, left in fitted_turns(timeline):
        failures = list(_misplaced(attempt))
        yield from failures
        mixed = len({slotless(call) for call in attempt.calls}) > 1
        if not failures and (
            mixed or any(call.asked is not None for call in attempt.calls) or len(attempt.calls) > left.low
        ):
            yield KEPT
    for attempt in timeline.attempts:
        went_on = attempt.following is not None and attempt.outcome is None
        if went_on and attempt.kind is Kind.ANSWER and not _ambiguous(timeline, attempt):
            wanted = "an answer in hand ends the run"
            yield Failure(wanted, "another request was sent", attempt.n)
    yield from _after_the_end(timeline)


def _ambiguous(timeline: Timeline, attempt: Attempt) -> bool:
    """Whether the answer may not have been one to the subject: a stop from outside, or text that reads as a call."""
    said = spoken(attempt.reply.message.content) if isinstance(attempt.reply, ModelTurn) else ""
    return attempt.stopped or (timeline.xml and "<tool_call" in said)


def _misplaced(attempt: Attempt) -> Iterator[Failure]:
    for call in attempt.calls:
        if call.faults and call.fate is Fate.REFUSED:
            yield Failure(
                f"{call.label} is answered as {_codes(call)} and takes no budget slot",
                "it was refused for the budget",
                attempt.n,
            )
        elif call.faults and call.dispatched:
            did = "dispatched" if call.starts else "put before a person"
            yield Failure(f"{call.label} is answered as {_codes(call)}, without dispatch", f"it was {did}", attempt.n)
        elif call.asked is not None and call.fate is Fate.REFUSED:
            yield Failure(
                "approval is asked for fitted calls only", f"{call.label} was asked for, then refused", attempt.n
            )


def _codes(call: Call) -> str:
    return " or ".join(sorted(call.faults))


def _after_the_end(timeline: Timeline) -> Iterator[Failure]:
    """A run reaches one terminal outcome, once; a repeated resume may tell it again."""
    end = next(
        ((index, one.outcome) for index, one in timeline.ends if one.outcome.status is not Status.SUSPENDED), None
    )
    if end is None:
        return
    for record in timeline.trace[end[0] + 1 :]:
        if isinstance(record, (RequestSent, ToolStarted)):
            what = f"request {record.n}" if isinstance(record, RequestSent) else f"a start of {record.tool}"
            yield Failure(f"nothing happens after the run has {end[1].status.value}", what)
        elif isinstance(record, RunEnded) and (record.outcome.status, record.outcome.reason) != (
            end[1].status,
            end[1].reason,
        ):
            yield Failure(f"one outcome: {end[1].status.value}", f"another: {record.outcome.status.value}")
