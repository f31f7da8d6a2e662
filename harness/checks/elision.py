"""Checkers of loop.md section 5 that measure whole requests: elision and overflow.

Where the rule leaves open what an estimate counts, both bounds of `Attempt.size` are used, and nothing in between is
judged.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence

from harness.checks import reasoning
from harness.checks.context import is_pointer
from harness.checks.endings import describe
from harness.checks.finding import KEPT, Failure, Look, item
from harness.checks.sizes import byte_length, weight
from harness.checks.timeline import Attempt, Call, Kind, Timeline
from harness.vocabulary.content import Text, ToolResult
from harness.vocabulary.control import ReasonCode
from harness.vocabulary.events import EventName
from harness.vocabulary.outcome import Reason, RunOutcome, Status
from harness.vocabulary.turn import FaultKind, ModelFault

WORTH_ELIDING = 1_024
"""A smaller result may be left whole: its pointer would save next to nothing."""
_HEX = re.compile(r"\b[0-9a-f]{8,64}\b")


def elide_oldest(timeline: Timeline) -> Look:
    """loop.context.elide-oldest: when the budget is passed the oldest seen results become pointers, for good."""
    for attempt in timeline.turns:
        for call in attempt.calls:
            if attempt.following is not None and _never_seen(call):
                wanted = f"the result of {call.label} is whole when the model first sees it"
                yield Failure(wanted, "it is a pointer", attempt.following.n)
    if timeline.shortens:
        yield from _elisions(timeline)


def _elisions(timeline: Timeline) -> Look:
    pointers: set[int] = set()
    results = WholeResults()
    for attempt in timeline.attempts:
        fresh = _fresh(attempt)
        yield from _changes(timeline, attempt, fresh, pointers)
        yield from results.skipped(attempt, fresh)
        yield from reasoning.bound(attempt)
        pointers.update(fresh)
        results.add(attempt)
        yield from _left_whole(timeline, attempt, results)


class WholeResults:
    """Places of the results that were sent and are worth eliding, oldest first."""

    def __init__(self) -> None:
        self.places: dict[int, int] = {}
        self.newest = -1

    def add(self, attempt: Attempt) -> None:
        items = attempt.request.items
        for place in range(len(items) - len(attempt.change.grown), len(items)):
            one = items[place]
            if isinstance(one, ToolResult):
                self.newest = place
                if byte_length(one.text) >= WORTH_ELIDING:
                    self.places[place] = attempt.step

    def skipped(self, attempt: Attempt, fresh: Sequence[int]) -> Iterator[Failure]:
        for place in fresh:
            self.places.pop(place, None)
        oldest = next(iter(self.places), None)
        if fresh and oldest is not None and oldest < max(fresh):
            yield Failure(
                f"the result at {item(oldest)} is elided first, since it is older",
                f"the one at {item(max(fresh))} was",
                attempt.n,
                item(max(fresh)),
            )


def _fresh(attempt: Attempt) -> list[int]:
    before = attempt.previous
    if before is None or not attempt.change.changed:
        return []
    return [
        place
        for place in attempt.change.changed
        if is_pointer(before.request.items[place], attempt.request.items[place])
    ]


def _changes(timeline: Timeline, attempt: Attempt, fresh: list[int], pointers: set[int]) -> Look:
    for place in attempt.change.changed:
        if place in pointers:
            yield Failure("what was elided stays elided, byte for byte", "it changed again", attempt.n, item(place))
    new = [place for place in fresh if place not in pointers]
    budget = timeline.settings.context_budget_tokens
    told = attempt.previous is not None and _told_too_long(attempt.previous)
    if new and not told and _would_be(attempt, new) <= timeline.room:
        wanted = f"no elision: the request is within {budget} tokens"
        yield Failure(wanted, f"{len(new)} results became pointers", attempt.n, item(new[0]))
    elif new and not told and not _needed(timeline, attempt, max(new)):
        wanted = f"no more elision than {budget} tokens ask for"
        yield Failure(wanted, "the last result that was elided would have fitted", attempt.n, item(max(new)))
    for place in new:
        yield _bad_pointer(timeline, attempt, place)


def _needed(timeline: Timeline, attempt: Attempt, place: int) -> bool:
    """Whether the request may pass the budget with the result at `place` whole: by the judge's upper bound, and by the
    estimate that the subject tells of the request as it was sent."""
    if _would_be(attempt, [place]) <= timeline.room:
        return False
    before, pointer = attempt.previous, attempt.request.items[place]
    whole = before.request.items[place] if before is not None else pointer
    told = _estimate(attempt)
    if told is None or not isinstance(whole, ToolResult) or not isinstance(pointer, ToolResult):
        return True
    if not all(type(part) is Text for part in whole.content):
        return True
    return told * 4 + len(json.dumps(whole.text)) - byte_length(pointer.text) > timeline.room


def _estimate(attempt: Attempt) -> int | None:
    """Tokens that the subject reckons for a request after eliding, from its event before it."""
    told = attempt.previous.events if attempt.previous is not None else ()
    for _, event in reversed(told):
        if event.name == EventName.CONTEXT_ELIDED:
            estimate = event.fields.get("estimate_tokens")
            return estimate if isinstance(estimate, int) else None
    return None


def _would_be(attempt: Attempt, new: list[int]) -> int:
    """Upper bound of the bytes that the request would have without its new pointers."""
    before = attempt.previous
    items = before.request.items if before is not None else ()
    return attempt.size[1] + sum(
        [2 * byte_length(one.text) for place in new if isinstance(one := items[place], ToolResult)]
    )


def _told_too_long(attempt: Attempt) -> bool:
    return isinstance(attempt.reply, ModelFault) and attempt.reply.kind is FaultKind.CONTEXT_LENGTH


def _bad_pointer(timeline: Timeline, attempt: Attempt, place: int) -> Failure | None:
    before, after = attempt.previous, attempt.request.items[place]
    whole = before.request.items[place] if before is not None else after
    if not isinstance(whole, ToolResult) or not isinstance(after, ToolResult):
        return KEPT
    texts = [whole.text, *_ran(timeline, whole.call_id)]
    if not all(type(part) is Text for part in whole.content):
        texts = []
    said = after.text
    wanted = [whole.tool, whole.call_id]
    missing = [word for word in wanted if word and word not in said]
    if missing:
        return Failure(f"the pointer names {missing[0]}", f"it says {said[:120]!r}", attempt.n, item(place))
    if texts and not any(_describes(said, text) for text in texts):
        return Failure(
            f"the pointer gives {byte_length(whole.text)} bytes and a sha256 prefix of the result",
            f"it says {said[:120]!r}",
            attempt.n,
            item(place),
        )
    return KEPT


def _describes(said: str, text: str) -> bool:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    plain = said.replace(",", "").replace("_", "")
    return str(byte_length(text)) in plain and any(digest.startswith(part) for part in _HEX.findall(said))


def _ran(timeline: Timeline, call_id: str) -> list[str]:
    """Texts that the conversation may hold of the whole outcome of a call."""
    call = timeline.calls.get(call_id)
    text = call.text if call is not None else None
    return [] if text is None else [text, *[f"[{code}]\n{text}" for code in (ReasonCode.FAILED, ReasonCode.TIMED_OUT)]]


def _never_seen(call: Call) -> bool:
    """Whether the first that a request shows of a result is its pointer."""
    if call.result is None or call.text is None or call.result.text == call.text:
        return False
    return "elided" not in call.text.lower() and is_pointer(call.result, call.result)


def _left_whole(timeline: Timeline, attempt: Attempt, results: WholeResults) -> Iterator[Failure]:
    budget = timeline.settings.context_budget_tokens
    oldest = next(iter(results.places), None)
    if oldest is None or attempt.size[0] <= timeline.room:
        return
    if results.places[oldest] < attempt.step and oldest != results.newest:
        yield Failure(
            f"results seen before are elided: the request passes {budget} tokens",
            "one of them is whole",
            attempt.n,
            item(oldest),
        )


def overflow(timeline: Timeline) -> Look:
    """loop.context.overflow: what cannot fit is not sent; a provider's own limit leads to one rebuild, then the end."""
    budget = timeline.settings.context_budget_tokens
    results = WholeResults()
    shortens = timeline.shortens or any(_told_too_long(attempt) for attempt in timeline.attempts)
    for attempt in timeline.attempts if shortens else ():
        list(results.skipped(attempt, _fresh(attempt)))
        if attempt.size[0] > timeline.room:
            yield Failure(
                f"no request over {budget} tokens: the run fails as context_overflow",
                f"a request of at least {attempt.size[0] // 4} tokens",
                attempt.n,
            )
        if attempt.previous is not None and _told_too_long(attempt.previous) and attempt.same_step:
            yield _rebuilt(attempt, results)
        results.add(attempt)
    if timeline.last is not None and timeline.last.outcome is not None:
        yield from _overflow_ending(timeline, timeline.last, timeline.last.outcome)


def _rebuilt(attempt: Attempt, results: WholeResults) -> Failure | None:
    before = attempt.previous
    while before is not None and before.previous is not None and before.same_step:
        before = before.previous
        if _told_too_long(before):
            return Failure("one rebuild for a request that the provider finds too long", "another one", attempt.n)
    left = [place for place, step in results.places.items() if step < attempt.step]
    if left:
        return Failure("the rebuilt request has everything elided", "a result is whole", attempt.n, item(left[0]))
    return KEPT


def _overflow_ending(timeline: Timeline, last: Attempt, outcome: RunOutcome) -> Look:
    overflowed = outcome.reason == Reason.CONTEXT_OVERFLOW and outcome.status is Status.FAILED
    if _told_too_long(last) and not last.stopped and not timeline.closing.spent:
        right = overflowed or outcome.reason == Reason.MAX_ATTEMPTS_EXCEEDED
        yield KEPT if right else Failure("failed, context_overflow / ContextOverflow", describe(outcome), last.n)
    elif overflowed and last.kind is Kind.TURN:
        largest = last.size[1] + sum([weight(one)[1] for one in last.joined or ()])
        fits = largest <= timeline.room
        yield Failure("the run goes on: the next request fits", describe(outcome), last.n) if fits else KEPT
