"""Checkers of loop.md section 7 for a batch: the ids that its calls get, and which of them may run side by side."""

from collections.abc import Iterator, Sequence

from harness.checks.canonical import same_arguments
from harness.checks.finding import KEPT, Failure, Look, item
from harness.checks.stops import crashed
from harness.checks.timeline import Attempt, Call, Fate, Timeline
from harness.checks.tools import settled
from harness.vocabulary.content import AssistantMessage, Item
from harness.vocabulary.tools import Effect, OutcomeClass
from harness.vocabulary.turn import ModelTurn

_LEFT = (Fate.NOT_RUN, Fate.CANCELLED, Fate.UNANSWERED)


def ids(timeline: Timeline) -> Look:
    """loop.tools.ids: ids that cannot be told apart are rewritten, and each call runs with its own arguments."""
    used = _earlier(timeline.attempts[0].request.items) if timeline.attempts else set()
    for attempt in timeline.turns:
        bad = _unsound(attempt, used)
        if len(attempt.stored) != len(attempt.calls):
            used.update([call.call_id for call in attempt.calls])
            continue
        failures = [*_shared(attempt, used), *_swapped(attempt)]
        if bad and settled(attempt):
            failures += [_lost(attempt, call) for call in attempt.calls if _skipped(call)]
        yield from failures
        if bad and not failures:
            yield KEPT
        used.update([call.call_id for call in attempt.calls])


def _earlier(items: Sequence[Item]) -> set[str]:
    return {call.call_id for one in items if isinstance(one, AssistantMessage) for call in one.calls}


def _unsound(attempt: Attempt, used: set[str]) -> bool:
    """Whether the model gave an id that is empty, doubled, or used before."""
    turn = attempt.reply
    given = [call.call_id for call in turn.message.calls] if isinstance(turn, ModelTurn) else []
    return not all(given) or len(set(given)) < len(given) or not used.isdisjoint(given)


def _shared(attempt: Attempt, used: set[str]) -> Iterator[Failure]:
    number = attempt.n if attempt.following is None else attempt.following.n
    taken: set[str] = set()
    for call in attempt.calls:
        if not call.call_id or call.call_id in taken or call.call_id in used:
            why = "empty" if not call.call_id else f"{call.call_id!r}, which another call has"
            yield Failure(f"call {call.position + 1} has an id of its own", f"its id is {why}", number)
        taken.add(call.call_id)


def _swapped(attempt: Attempt) -> Iterator[Failure]:
    """Runs under the id of one call with the tool or the arguments of another."""
    for call in attempt.calls:
        for _, started in call.starts:
            right = started.tool == call.name and (
                call.valid is not True or same_arguments(started.arguments, call.arguments)
            )
            if not right:
                given = f"{started.tool} ran with {started.arguments[:60]!r}"
                yield Failure(f"{call.label} runs with its own arguments {call.arguments[:60]!r}", given, attempt.n)


def _skipped(call: Call) -> bool:
    return not call.faults and call.fate in (*_LEFT, Fate.UNKNOWN, Fate.INVALID)


def _lost(attempt: Attempt, call: Call) -> Failure:
    return Failure(f"{call.label} runs, whatever its id", f"it is {call.fate.value}", attempt.n)


def parallel(timeline: Timeline) -> Look:
    """loop.tools.parallel: only read-only calls overlap, results stand in request order, a failure stops no sibling."""
    for attempt in timeline.turns:
        ran = [call for call in attempt.calls if call.ends]
        if len(ran) < 2 or crashed(attempt):
            continue
        failures = [*_overlaps(attempt, ran), *_disordered(attempt)]
        if settled(attempt):
            failures += _stopped_siblings(attempt, ran)
        yield from failures
        if not failures:
            yield KEPT


def _overlaps(attempt: Attempt, ran: Sequence[Call]) -> Iterator[Failure]:
    spans = sorted([(call.starts[0][0], call.ends[-1][0], call.position) for call in ran if call.starts])
    by_place = {call.position: call for call in ran}
    running: tuple[int, Call] | None = None
    for start, end, position in spans:
        call = by_place[position]
        if running is not None and start < running[0] and not (_harmless(call) and _harmless(running[1])):
            yield Failure(
                f"{call.label} and {running[1].label} run one after the other: not both are read-only",
                "the one began before the other had ended",
                attempt.n,
            )
        if running is None or end > running[0]:
            running = end, call


def _harmless(call: Call) -> bool:
    return call.declared is not None and call.declared.effect is Effect.READ_ONLY


def _disordered(attempt: Attempt) -> Iterator[Failure]:
    wanted = [call.call_id for call in attempt.stored]
    found = [result.call_id for result in attempt.results]
    if attempt.stored and attempt.following is not None and attempt.following.legible and wanted != found:
        place = len(attempt.following.request.items) - len(attempt.following.change.grown) + len(attempt.said)
        yield Failure(
            f"results in request order: {', '.join(wanted)}", ", ".join(found), attempt.following.n, item(place)
        )


def _stopped_siblings(attempt: Attempt, ran: Sequence[Call]) -> list[Failure]:
    failed = next((call for call in ran if call.ends[-1][1].outcome.outcome is OutcomeClass.ERROR), None)
    if failed is None:
        return []
    return [
        Failure(f"{call.label} goes on although {failed.label} failed", f"it is {call.fate.value}", attempt.n)
        for call in attempt.calls
        if not call.faults and call.fate in _LEFT
    ]
