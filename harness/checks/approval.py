"""Checkers of loop.md section 8 that a trace shows soundly: suspension for approval, single execution, denials."""

from collections.abc import Iterator

from harness.checks.canonical import Signature
from harness.checks.endings import Ending, first_ending, wrong_ending
from harness.checks.finding import KEPT, Failure, Look
from harness.checks.standing import Sure
from harness.checks.timeline import Attempt, Call, Fate, Timeline
from harness.vocabulary.content import AssistantMessage
from harness.vocabulary.events import EventName
from harness.vocabulary.outcome import ErrorClass, Reason, Status
from harness.vocabulary.trace import RunEnded

DENIAL_ENDING = Ending(
    Reason.REPEATED_DENIAL, ErrorClass.TOOL_POLICY_DENIED, "the last allowed denial of the same call"
)
_APPROVED, _DENIED = ("approve", "approved"), ("deny", "denied", "expire", "expired")
_RETRY_WORDS = ("retry", "again", "repeat")


def decision(attempt: Attempt, call: Call) -> tuple[str, str] | None:
    """What was decided of a call that waited: (decision, reason), None where nothing was."""
    found: tuple[str, str] | None = None
    for _, one in attempt.interventions:
        if one.do in _APPROVED + _DENIED and one.call_id in (None, call.call_id):
            found = one.do, str(one.details.get("reason", ""))
    for _, event in attempt.events:
        if found is None and event.name == EventName.APPROVAL_RESOLVED and event.fields.get("call_id") == call.call_id:
            found = str(event.fields.get("decision", "")), ""
    return found


def suspend(timeline: Timeline) -> Look:
    """loop.approval.suspend: the run suspends once the rest is done, and runs what was approved, as it was stored."""
    for attempt in timeline.turns:
        asked = [call for call in attempt.calls if call.asked is not None]
        if asked:
            failures = list(_unsuspended(timeline, attempt, asked))
            yield from failures
            if not failures:
                yield KEPT


def _unsuspended(timeline: Timeline, attempt: Attempt, asked: list[Call]) -> Iterator[Failure]:
    stops = [(index, ended) for index, ended in attempt.ended if ended.outcome.status is Status.SUSPENDED]
    if not stops:
        if not attempt.stopped:
            yield Failure(f"the run suspends for {asked[0].label}", "it does not", attempt.n)
        return
    first, ended = stops[0]
    waiting = {call.call_id for call in asked}
    if set(ended.outcome.waiting_for) != waiting:
        yield Failure(f"it waits for {sorted(waiting)}", f"it waits for {sorted(ended.outcome.waiting_for)}", attempt.n)
    for call in attempt.calls:
        if call.asked is None and any(index > first for index, _ in call.starts):
            yield Failure(f"{call.label} is done before the run suspends", "it was started after the resume", attempt.n)
    if timeline.shows("checkpoints"):
        kept = [index for index, one in attempt.checkpoints if one.trigger == "suspended" and index < first]
        if not kept:
            yield Failure("a suspended checkpoint before the run returns", "there is none", attempt.n)
    for call in asked:
        yield from _unapproved(timeline, attempt, call, first, ended)


def _unapproved(timeline: Timeline, attempt: Attempt, call: Call, first: int, ended: RunEnded) -> Iterator[Failure]:
    decided = decision(attempt, call)
    for index, started in call.starts:
        if index < first or decided is None or decided[0] not in _APPROVED:
            yield Failure(f"{call.label} runs only when approved", "it was started without", attempt.n)
        stored = _stored(timeline, attempt, call, ended)
        if stored is not None and stored != started.arguments:
            yield Failure(
                f"{call.label} runs with the stored arguments {stored[:60]!r}",
                f"it ran with {started.arguments[:60]!r}",
                attempt.n,
            )


def _stored(timeline: Timeline, attempt: Attempt, call: Call, ended: RunEnded) -> str | None:
    """The arguments that the suspended conversation holds of a call."""
    held = ended.outcome.conversation
    for place in range(len(attempt.request.items) + timeline.offset, len(held)):
        one = held[place]
        for kept in one.calls if isinstance(one, AssistantMessage) else ():
            if kept.call_id == call.call_id:
                return kept.arguments
    return None


def once(timeline: Timeline) -> Look:
    """loop.approval.once: resolving or resuming twice runs an approved call once."""
    for attempt in timeline.turns:
        if any(one.do == "crash" for _, one in attempt.interventions):
            continue
        for call in attempt.calls:
            if call.asked is not None and len(call.starts) > 1:
                yield Failure(f"{call.label} runs once", f"it ran {len(call.starts)} times", attempt.n)
            elif call.starts and call.asked is not None and _twice(attempt, call):
                yield KEPT


def _twice(attempt: Attempt, call: Call) -> bool:
    done = [one.do for _, one in attempt.interventions if one.call_id in (None, call.call_id)]
    suspensions = sum([ended.outcome.status is Status.SUSPENDED for _, ended in attempt.ended])
    approvals = sum([do in _APPROVED for do in done])
    return "resume_twice" in done or approvals > 1 or done.count("resume") > suspensions


def denied(timeline: Timeline) -> Look:
    """loop.approval.denied: a denial is a result that asks not to retry; the last allowed one ends the run."""
    strict: dict[tuple[Signature, str], int] = {}
    loose: dict[Signature, int] = {}
    most = timeline.settings.identical_denial_threshold
    for attempt in timeline.turns:
        if first_ending(attempt) is not None or attempt.over_limit is not Sure.NO:
            continue
        reached = possible = False
        for call in attempt.calls:
            yield from _ran_all_the_same(attempt, call)
            if call.fate is Fate.DENIED:
                yield _bad_denial(attempt, call)
                key = call.signature, _reason(attempt, call)
                strict[key] = strict.get(key, 0) + 1
                loose[call.signature] = loose.get(call.signature, 0) + 1
                reached = reached or strict[key] >= most
                possible = possible or loose[call.signature] >= most
        if reached:
            yield wrong_ending(attempt, DENIAL_ENDING)
        elif not possible and attempt.outcome is not None and attempt.outcome.reason == Reason.REPEATED_DENIAL:
            yield Failure(
                f"the run goes on: no call was denied {most} times", "it failed for repeated denial", attempt.n
            )


def _ran_all_the_same(attempt: Attempt, call: Call) -> Iterator[Failure]:
    forbidden = call.declared is not None and call.declared.denied is not None
    decided = decision(attempt, call) if call.asked is not None else None
    if call.starts and (forbidden or (decided is not None and decided[0] in _DENIED)):
        yield Failure(f"{call.label} was denied and does not run", "it was started", attempt.n)
    if forbidden and not call.faults and call.fate is Fate.REFUSED:
        yield Failure(f"{call.label} is denied by policy, and takes no budget slot", "it was refused", attempt.n)


def _reason(attempt: Attempt, call: Call) -> str:
    if call.declared is not None and call.declared.denied is not None:
        return f"policy {call.declared.denied}"
    decided = decision(attempt, call)
    return "nobody" if call.asked is None else f"person {decided[1] if decided is not None else ''}"


def _bad_denial(attempt: Attempt, call: Call) -> Failure | None:
    advice = call.result.text.partition("\n")[2].lower() if call.result is not None else ""
    if any(word in advice for word in _RETRY_WORDS):
        return KEPT
    return Failure(f"the denial of {call.label} asks not to retry", f"it says {advice[:80]!r}", attempt.n)
