"""Checkers of loop.md section 6 for turns that end in another way than an ordinary one: cut by the output limit,
refused or filtered, paused."""

from collections.abc import Iterator, Sequence

from harness.checks.canonical import canonical, well_formed
from harness.checks.endings import describe
from harness.checks.finding import KEPT, Failure, Look
from harness.checks.timeline import Attempt, Call, Fate, Kind, Timeline
from harness.checks.tools import settled
from harness.vocabulary.content import AssistantPart, Opaque, Refusal, Text, ToolCall
from harness.vocabulary.control import ReasonCode
from harness.vocabulary.events import EventName
from harness.vocabulary.outcome import ErrorClass, Reason, RunOutcome, Status
from harness.vocabulary.turn import ModelTurn, StopReason

_CUT = (StopReason.MAX_TOKENS, StopReason.CONTEXT_FULL)
_WITHHELD = (StopReason.REFUSAL, StopReason.CONTENT_FILTER)
_LEFT = (Fate.NOT_RUN, Fate.CANCELLED, Fate.UNANSWERED, Fate.TRUNCATED)


def _ended(timeline: Timeline, kinds: Sequence[Kind]) -> Iterator[tuple[Attempt, ModelTurn, RunOutcome | None]]:
    """Whole turns of these kinds, and the terminal outcome before any other attempt."""
    for attempt in timeline.attempts:
        if attempt.kind in kinds and isinstance(attempt.reply, ModelTurn) and not attempt.stopped:
            yield attempt, attempt.reply, attempt.outcome


def truncated(timeline: Timeline) -> Look:
    """loop.model.truncated: a cut answer completes and says so; the last call of a cut turn never runs."""
    for attempt, turn, outcome in _ended(timeline, (Kind.ANSWER,)):
        cut = turn.stop in _CUT
        if cut and attempt.following is not None:
            yield Failure("an answer cut by the output limit completes the run", "another request was sent", attempt.n)
        elif outcome is not None and (cut or outcome.truncated):
            yield _marked(attempt, outcome, "truncated", cut)
    for attempt in timeline.turns:
        reply = attempt.reply
        cut = isinstance(reply, ModelTurn) and reply.stop in _CUT and isinstance(reply.message.content[-1], ToolCall)
        for call in attempt.calls if cut and settled(attempt) else ():
            last = call is attempt.calls[-1]
            yield _cut_call(attempt, call) if last else _earlier_call(attempt, call)


def _marked(attempt: Attempt, outcome: RunOutcome, mark: str, wanted: bool) -> Failure | None:
    if outcome.status is Status.COMPLETED and getattr(outcome, mark) is wanted:
        return KEPT
    expected = f"completed, {mark if wanted else f'not {mark}'}"
    marks = [name for name in ("truncated", "refused") if getattr(outcome, name)]
    return Failure(expected, ", ".join([describe(outcome), *marks]), attempt.n)


def _cut_call(attempt: Attempt, call: Call) -> Failure | None:
    code = ReasonCode.ARGUMENTS_TRUNCATED
    if call.starts:
        return Failure(f"{call.label} is the last of a cut turn and never runs", "it was started", attempt.n)
    if call.result is None or call.result.reason_code != code:
        found = "no result" if call.result is None else f"its result: {call.result.text[:60]!r}"
        return Failure(f"{call.label} is answered as {code.value}", found, attempt.n)
    return KEPT


def _earlier_call(attempt: Attempt, call: Call) -> Failure | None:
    if call.faults or call.fate not in _LEFT:
        return KEPT
    return Failure(f"{call.label} stands before the cut and is not concerned", f"it is {call.fate.value}", attempt.n)


def refusal(timeline: Timeline) -> Look:
    """loop.model.refusal: a refusal that says something completes, marked refused; a filtered turn without text fails
    typed; neither is retried."""
    for attempt, turn, outcome in _ended(timeline, (Kind.ANSWER,)):
        withheld = turn.stop in _WITHHELD or any(isinstance(part, Refusal) for part in turn.message.content)
        if withheld and attempt.following is not None:
            yield Failure("a refusal that says something completes the run", "another request was sent", attempt.n)
        elif outcome is not None and (withheld or outcome.refused):
            yield _marked(attempt, outcome, "refused", withheld)
    for attempt, turn, outcome in _ended(timeline, (Kind.SILENT,)):
        if turn.stop in _WITHHELD:
            yield _silent(attempt, outcome)


def _silent(attempt: Attempt, outcome: RunOutcome | None) -> Failure | None:
    if attempt.following is not None:
        return Failure("a filtered or refused turn is not retried", "it was", attempt.n)
    wanted = Status.FAILED, Reason.MODEL_PERMANENT_ERROR, ErrorClass.CONTENT_FILTERED
    if outcome is None or (outcome.status, outcome.reason, outcome.error_class) == wanted:
        return KEPT
    return Failure(f"failed, {wanted[1].value} / {wanted[2].value}", describe(outcome), attempt.n)


def paused(timeline: Timeline) -> Look:
    """loop.model.paused: a paused turn is resumed with its content unchanged, in the step that it began."""
    for attempt, turn, outcome in _ended(timeline, (Kind.PAUSED,)):
        if not turn.message.content or turn.message.calls:
            continue
        if outcome is not None and outcome.status is Status.COMPLETED:
            yield Failure("a paused turn is no answer: it is resumed", describe(outcome), attempt.n)
        elif outcome is not None and outcome.status is Status.FAILED and not timeline.closing.spent:
            fits = outcome.reason == Reason.CONTEXT_OVERFLOW
            yield KEPT if fits else Failure("a paused turn is resumed", describe(outcome), attempt.n)
        elif attempt.following is not None and attempt.following.legible:
            yield _resumed(timeline, attempt, attempt.following)


def _resumed(timeline: Timeline, attempt: Attempt, following: Attempt) -> Failure | None:
    held = following.request.paused
    found = held.content if held is not None else ()
    wanted = paused_content(attempt)
    if _shape(wanted) != _shape(found):
        actual = "none" if held is None else f"{len(found)} parts, not the same"
        return Failure(f"the {len(wanted)} parts of the paused turn, unchanged", actual, following.n, "/paused")
    begun = [event for _, event in attempt.events if event.name == EventName.STEP_STARTED]
    if begun:
        return Failure("a resume begins no step", f"step {begun[0].fields.get('step')} was begun", attempt.n)
    return KEPT


def paused_content(attempt: Attempt) -> list[AssistantPart]:
    """What a step has paused with so far: the content of its paused turns up to this attempt."""
    parts: list[AssistantPart] = []
    here: Attempt | None = attempt
    while here is not None and here.step == attempt.step:
        if here.kind is Kind.PAUSED and isinstance(here.reply, ModelTurn):
            parts = [*here.reply.message.content, *parts]
        here = here.previous
    return parts


def _shape(parts: Sequence[AssistantPart]) -> list[object]:
    """Parts as far as every wire keeps them: neighbouring texts are one."""
    made: list[object] = []
    for part in parts:
        if isinstance(part, (Text, Refusal)):
            before = made.pop() if made and isinstance(made[-1], str) else ""
            made.append(f"{before}{well_formed(part.text)}")
        elif isinstance(part, Opaque):
            made.append((part.reasoning, canonical(part.payload)))
    return [one for one in made if one != ""]
