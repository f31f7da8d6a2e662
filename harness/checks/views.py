"""Checkers of loop.md section 5 that compare a result with what its tool gave: excerpts, and that shortening is a view.

Shares are taken at code-point boundaries, so a head or tail may be up to three bytes short of its share.
"""

from collections.abc import Iterator, Sequence

from harness.checks.finding import KEPT, Failure, Look, item
from harness.checks.history import item_text
from harness.checks.sizes import byte_length
from harness.checks.timeline import Attempt, Call, Fate, Timeline
from harness.vocabulary.content import Item, ToolResult
from harness.vocabulary.control import ReasonCode
from harness.vocabulary.tools import OutcomeClass

HEAD_PERCENT, TAIL_PERCENT = 60, 20
_BOUNDARY = 3
_PLATFORM_LINE = 128
"""Room for the line that an error result begins with."""


def excerpt(timeline: Timeline) -> Look:
    """loop.context.excerpt: over its limit a result is head, marker and tail, and a batch keeps its joint limit; at the
    limit and below a result is whole."""
    largest, joint = timeline.settings.max_result_bytes, timeline.settings.max_batch_bytes
    for attempt in timeline.turns:
        if attempt.following is None:
            continue
        ran = [
            (call, call.text)
            for call in attempt.calls
            # A result whose outcome is unknown is the platform's word: what the executor gave may have been lost.
            if call.text is not None
            and call.result is not None
            and call.result.reason_code != ReasonCode.OUTCOME_UNKNOWN
        ]
        sizes = [byte_length(text) for _, text in ran]
        crowded = sum([min(size, largest) for size in sizes]) > joint
        if crowded:
            yield _over_batch(attempt, joint)
        for (call, text), size in zip(ran, sizes, strict=True):
            if not crowded and (size > largest or size + _PLATFORM_LINE <= largest or _good(call)):
                failure = _bad_view(attempt, call, text, largest)
                if failure is not None or size >= largest:
                    yield failure


def _good(call: Call) -> bool:
    return call.ends[-1][1].outcome.outcome is OutcomeClass.OK


def _over_batch(attempt: Attempt, joint: int) -> Failure | None:
    size = sum([byte_length(result.text) for result in attempt.results])
    room = joint + _PLATFORM_LINE * sum([result.is_error for result in attempt.results])
    number = attempt.following.n if attempt.following is not None else attempt.n
    return KEPT if size <= room else Failure(f"at most {joint} bytes of results in the batch", f"{size} bytes", number)


def _bad_view(attempt: Attempt, call: Call, text: str, largest: int) -> Failure | None:
    sent = call.result.text if call.result is not None else ""
    number = attempt.following.n if attempt.following is not None else attempt.n
    size = byte_length(text)
    if size <= largest:
        whole = sent == text if _good(call) else sent.endswith(text)
        return (
            KEPT
            if whole
            else Failure(f"the result of {call.label} whole: {size} bytes, at most {largest}", f"{sent[:60]!r}", number)
        )
    room = largest if _good(call) else largest + _PLATFORM_LINE
    if byte_length(sent) > room:
        return Failure(f"the result of {call.label} in {largest} bytes", f"{byte_length(sent)} bytes", number)
    head, tail = _share(text, largest, HEAD_PERCENT), _share(text[::-1], largest, TAIL_PERCENT)[::-1]
    begins = sent.startswith(head) if _good(call) else head in sent
    if not begins or not sent.endswith(tail) or byte_length(sent) <= byte_length(head) + byte_length(tail):
        return Failure(
            f"the result of {call.label}: {HEAD_PERCENT} % head, marker, {TAIL_PERCENT} % tail",
            f"{byte_length(sent)} bytes, {sent[:40]!r} … {sent[-40:]!r}",
            number,
        )
    return KEPT


def _share(text: str, largest: int, percent: int) -> str:
    """The beginning of a text that an excerpt surely holds."""
    room = max(0, largest * percent // 100 - _BOUNDARY)
    taken = text[:room]
    while byte_length(taken) > room:
        taken = taken[: len(taken) - max(1, (byte_length(taken) - room) // 4)]
    return taken


def shortened(timeline: Timeline, attempt: Attempt) -> Iterator[tuple[int, Call]]:
    """Results that this request is the first to show shortened: places and calls."""
    items, before = attempt.request.items, attempt.previous
    for place in attempt.change.changed:
        one = items[place]
        call = timeline.calls.get(one.call_id) if isinstance(one, ToolResult) else None
        if call is not None and _shorter(call, one):
            yield place, call
    if before is None or not any(call.result is not None and _shorter(call, call.result) for call in before.calls):
        return
    for place in range(len(items) - len(attempt.change.grown), len(items)):
        one = items[place]
        call = timeline.calls.get(one.call_id) if isinstance(one, ToolResult) else None
        if call is not None and _shorter(call, one):
            yield place, call


def _shorter(call: Call, one: Item) -> bool:
    return call.text is not None and byte_length(call.text) > byte_length(item_text(one))


def view_only(timeline: Timeline) -> Look:
    """loop.context.view-only: checkpoints and outcomes hold the whole results, whatever the requests show."""
    seen: dict[int, Call] = {}
    for attempt in timeline.attempts:
        new = dict(shortened(timeline, attempt))
        seen.update(new)
        for _, checkpoint in attempt.checkpoints[:1] if new else []:
            yield _held_short(timeline, checkpoint.conversation, new, f"checkpoint {checkpoint.trigger}", attempt.n)
    if not seen:
        return
    for _, checkpoint in timeline.checkpoints[-1:]:
        yield _held_short(timeline, checkpoint.conversation, seen, f"checkpoint {checkpoint.trigger}", None)
    for _, ended in timeline.ends:
        if ended.outcome.conversation:
            yield _held_short(timeline, ended.outcome.conversation, seen, "the outcome", None)


def _held_short(
    timeline: Timeline, held: Sequence[Item], calls: dict[int, Call], where: str, number: int | None
) -> Failure | None:
    for place, call in calls.items():
        at = place + timeline.offset
        one = held[at] if at < len(held) else None
        if not isinstance(one, ToolResult) or one.call_id != call.call_id or call.fate is not Fate.EXECUTED:
            continue
        if (call.text or "") not in item_text(one):
            return Failure(
                f"{where} holds the whole result of {call.label}",
                f"it holds {item_text(one)[:60]!r}",
                number,
                item(place),
            )
    return KEPT
