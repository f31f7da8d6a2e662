"""Checkers of loop.md section 9: what is stored and when, and what a resumed run may do.

Of a crash a trace shows that it happened (`Intervened` crash), and what was stored before it. A crash outside any
attempt is not judged.
"""

from collections.abc import Iterator, Sequence

from harness.checks.canonical import Signature
from harness.checks.endings import first_ending
from harness.checks.finding import KEPT, Failure, Look
from harness.checks.standing import Sure
from harness.checks.stops import crashed
from harness.checks.timeline import Attempt, Call, Fate, Kind, Timeline
from harness.checks.tools import settled
from harness.vocabulary.content import Item, ToolResult
from harness.vocabulary.control import ReasonCode
from harness.vocabulary.outcome import Status
from harness.vocabulary.tools import Effect
from harness.vocabulary.trace import (
    CheckpointWritten,
    EffectMarked,
    Intervened,
    RequestSent,
    ToolStarted,
)

_LAST = {
    Status.COMPLETED: "final",
    Status.FAILED: "failed",
    Status.CANCELLED: "cancelled",
    Status.SUSPENDED: "suspended",
}
_CHANGES = (RequestSent, ToolStarted, CheckpointWritten, EffectMarked)


def checkpoints(timeline: Timeline) -> Look:
    """loop.crash.checkpoints: each reply, batch, effect, suspension and end is stored before anything follows it."""
    for attempt in timeline.attempts:
        if crashed(attempt) or attempt.reply_index is None:
            continue
        failures = [*_after_reply(attempt), *_around_calls(attempt), *_at_the_end(attempt)]
        yield from failures
        if not failures:
            yield KEPT


def _stored(attempt: Attempt, trigger: str, after: int, before: int | None) -> bool:
    """Whether such a checkpoint stands between two places of the trace (`before` None: up to the next attempt)."""
    return any(
        one.trigger == trigger and index > after and (before is None or index < before)
        for index, one in attempt.checkpoints
    )


def _after_reply(attempt: Attempt) -> Iterator[Failure]:
    """The checkpoint of a reply that the run goes on from."""
    disposed = attempt.kind is Kind.TURN and first_ending(attempt) is None and attempt.over_limit is Sure.NO
    if attempt.kind is Kind.PAUSED or (disposed and not attempt.stopped):
        trigger = "model_response"
    elif attempt.kind in (Kind.FAULT, Kind.EMPTY):
        trigger = "model_failed"
    else:
        return
    begun = min([index for index, _ in [*attempt.starts, *attempt.asked]], default=None)
    goes_on = attempt.following is not None or begun is not None
    if goes_on and not _stored(attempt, trigger, attempt.reply_index or 0, begun):
        yield Failure(f"checkpoint {trigger} before anything follows the reply", "there is none", attempt.n)


def _around_calls(attempt: Attempt) -> Iterator[Failure]:
    begun = min([index for index, _ in [*attempt.starts, *attempt.asked]], default=None)
    if begun is None:
        return
    if not _stored(attempt, "tool_pending", attempt.reply_index or 0, begun):
        yield Failure("checkpoint tool_pending before the first dispatch", "there is none", attempt.n)
    for call in attempt.calls:
        effect = call.declared.effect if call.declared is not None else Effect.NON_IDEMPOTENT
        if effect is Effect.READ_ONLY or not call.ends:
            continue
        end = call.ends[-1][0]
        later = min([index for index, _ in attempt.starts if index > end], default=None)
        if not _stored(attempt, "tool_call", end, later) and not _closed(attempt, end):
            yield Failure(f"checkpoint tool_call after the effect of {call.label}", "there is none", attempt.n)
    if attempt.following is not None and attempt.ends and not _stored(attempt, "tool_call", attempt.ends[-1][0], None):
        yield Failure("checkpoint tool_call after the batch", "there is none", attempt.n)


def _closed(attempt: Attempt, after: int) -> bool:
    """Whether the run stored its end or a suspension after a place, with nothing else begun in between."""
    return any(index > after and one.trigger in _LAST.values() for index, one in attempt.checkpoints)


def _at_the_end(attempt: Attempt) -> Iterator[Failure]:
    for index, ended in attempt.ended:
        before = [one for place, one in attempt.checkpoints if place < index]
        wanted = _LAST[ended.outcome.status]
        if not before or before[-1].trigger != wanted:
            found = f"the last one is {before[-1].trigger}" if before else "there is none"
            yield Failure(f"checkpoint {wanted} before the run returns", found, attempt.n)
        elif len(before[-1].conversation) != len(ended.outcome.conversation):
            told = f"{len(before[-1].conversation)} of {len(ended.outcome.conversation)} items"
            yield Failure(f"checkpoint {wanted} holds the whole conversation", told, attempt.n)


def effect_watermark(timeline: Timeline) -> Look:
    """loop.crash.effect-watermark: "effect sent" is durable before a tool that is not read-only is reached."""
    careful = {name for name, tool in timeline.tools.items() if tool.effect is not Effect.READ_ONLY}
    if not careful:
        return
    marked: set[str] = set()
    for record in timeline.trace:
        if isinstance(record, EffectMarked):
            marked.add(record.call_id)
        elif isinstance(record, ToolStarted) and record.tool in careful:
            if record.call_id in marked:
                marked.discard(record.call_id)
                yield KEPT
            else:
                yield Failure(f"effect sent is marked before {record.tool} ({record.call_id}) runs", "it is not")


def recovery(timeline: Timeline) -> Look:
    """loop.crash.recovery: what may have happened once is not run again, what is safe is; a call of unknown outcome
    that must not happen twice is denied later on."""
    uncertain: set[Signature] = set()
    for attempt in timeline.turns:
        crash = next((index for index, one in attempt.interventions if one.do == "crash"), None)
        for call in attempt.calls:
            once = call.declared is not None and call.declared.effect is Effect.NON_IDEMPOTENT
            if crash is not None:
                yield from _recovered(timeline, attempt, call, crash, once)
            if once and call.signature in uncertain and not call.faults and settled(attempt):
                denied = call.fate is Fate.DENIED and not call.starts
                wanted = f"{call.label} is denied: its outcome is unknown from an earlier run"
                yield KEPT if denied else Failure(wanted, f"it is {call.fate.value}", attempt.n)
        uncertain.update([call.signature for call in attempt.calls if call.fate is Fate.UNCERTAIN])


def _recovered(timeline: Timeline, attempt: Attempt, call: Call, crash: int, once: bool) -> Look:
    """One call of a batch in which the process was killed."""
    before = [index for index, _ in call.starts if index < crash]
    after = [index for index, _ in call.starts if index > crash]
    kept = _recorded(attempt, call, crash)
    marked = once and _marked(timeline, attempt, call, crash)
    if kept and (before or call.asked is not None):
        if after:
            yield Failure(f"{call.label} has its recorded result and is not run again", "it was", attempt.n)
        elif before:
            yield KEPT
    elif once and (before or marked):
        unknown = call.result is not None and call.result.reason_code == ReasonCode.OUTCOME_UNKNOWN
        if after:
            yield Failure(f"{call.label} may have had its effect and is not run again", "it was", attempt.n)
        elif attempt.joined is not None and not unknown:
            found = "no result" if call.result is None else f"its result: {call.result.text[:60]!r}"
            yield Failure(f"{call.label} is answered as {ReasonCode.OUTCOME_UNKNOWN.value}", found, attempt.n)
        else:
            yield KEPT
    elif before and attempt.following is not None:
        wanted = f"{call.label} is safe to run again, and is"
        yield KEPT if after else Failure(wanted, "it was not", attempt.n)


def _recorded(attempt: Attempt, call: Call, crash: int) -> bool:
    """Whether the last checkpoint before the crash holds the result of a call."""
    held = next((one for index, one in reversed(attempt.checkpoints) if index < crash), None)
    return held is not None and any(one.call_id == call.call_id for one in results_of(held.conversation, attempt))


def results_of(held: Sequence[Item], attempt: Attempt) -> Iterator[ToolResult]:
    """Results that a checkpoint holds of an attempt's own turn."""
    for place in range(len(attempt.request.items), len(held)):
        one = held[place]
        if isinstance(one, ToolResult):
            yield one


def _marked(timeline: Timeline, attempt: Attempt, call: Call, crash: int) -> bool:
    window = timeline.trace[attempt.index : crash]
    return any(isinstance(one, EffectMarked) and one.call_id == call.call_id for one in window)


def every_point(timeline: Timeline) -> Look:
    """loop.crash.every-point, as far as one killed run shows it: no effect twice, no recorded result lost, one end."""
    for attempt in timeline.attempts:
        crash = next((index for index, one in attempt.interventions if one.do == "crash"), None)
        if crash is None:
            continue
        failures = [*_twice(attempt), *_lost(timeline, attempt, crash)]
        yield from failures
        if not failures:
            yield KEPT


def _twice(attempt: Attempt) -> Iterator[Failure]:
    for call in attempt.calls:
        if call.declared is not None and call.declared.effect is Effect.NON_IDEMPOTENT and len(call.starts) > 1:
            yield Failure(f"{call.label} happens at most once", f"it ran {len(call.starts)} times", attempt.n)


def _lost(timeline: Timeline, attempt: Attempt, crash: int) -> Iterator[Failure]:
    held = next((one for index, one in reversed(timeline.checkpoints) if index < crash), None)
    if not timeline.ends:
        yield Failure("a resumed run reaches an outcome", "it has none", attempt.n)
        return
    if held is None:
        return
    kept = {one.call_id: one for one in timeline.ends[-1][1].outcome.conversation if isinstance(one, ToolResult)}
    for one in held.conversation:
        if isinstance(one, ToolResult) and kept.get(one.call_id) != one:
            found = "it is gone" if one.call_id not in kept else "it is another"
            yield Failure(f"the recorded result of {one.tool} ({one.call_id}) is kept", found, attempt.n)


def fencing(timeline: Timeline) -> Look:
    """loop.crash.fencing: the worker that resumes late changes nothing."""
    late = next((index for index, one in timeline.interventions if _second(one)), None)
    if late is None:
        return
    for record in timeline.trace[late:]:
        if isinstance(record, _CHANGES):
            what = {RequestSent: "sent a request", ToolStarted: "ran a tool"}.get(type(record), "wrote to the store")
            yield Failure("the worker that came late changes nothing", f"it {what}")
            return
    yield KEPT


def _second(one: Intervened) -> bool:
    return one.do == "resume" and one.details.get("worker") == 2
