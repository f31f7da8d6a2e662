"""Checkers for the provider's hidden reasoning: where it is replayed, and where it has to go (loop.md sections 5, 6).

Reasoning was signed over all that stood before it. It is replayed as it came, until something before it is elided.
"""

from collections.abc import Iterator

from harness.checks.answers import paused_content
from harness.checks.canonical import canonical
from harness.checks.context import is_pointer
from harness.checks.finding import KEPT, Failure, Look, item
from harness.checks.history import only_reasoning_dropped
from harness.checks.timeline import SIM, Attempt, Kind, Timeline
from harness.vocabulary.content import AssistantMessage, Item, Opaque
from harness.vocabulary.turn import ModelTurn


def thoughts(parts: object) -> list[Opaque]:
    """The reasoning among the parts of a message, in order."""
    content = parts.content if isinstance(parts, AssistantMessage) else parts
    return [part for part in content if isinstance(part, Opaque) and part.reasoning]  # type: ignore[attr-defined]


def newly_elided(attempt: Attempt) -> list[int]:
    """Places of the results that this request is the first to show as pointers."""
    before, items = attempt.previous, attempt.request.items
    if before is None:
        return []
    return [place for place in attempt.change.changed if is_pointer(before.request.items[place], items[place])]


def verbatim(timeline: Timeline) -> Look:
    """loop.model.reasoning-verbatim: reasoning goes back as it came, in order, to the provider that made it."""
    for attempt in timeline.attempts:
        yield from _foreign(timeline, attempt)
        yield from _dropped_early(attempt)
        following = attempt.following
        if following is None or not following.legible or not isinstance(attempt.reply, ModelTurn) or not attempt.said:
            continue
        parts = attempt.reply.message.content
        resumes = attempt.previous is not None and attempt.previous.kind is Kind.PAUSED
        given = thoughts([*paused_content(attempt), *parts] if resumes else parts)
        if given and not newly_elided(following):
            yield _changed(given, attempt, following)


def _changed(given: list[Opaque], attempt: Attempt, following: Attempt) -> Failure | None:
    found = [part for message in attempt.said for part in thoughts(message)]
    place = item(len(following.request.items) - len(following.change.grown))
    if len(found) != len(given):
        return Failure(f"{len(given)} pieces of reasoning go back", f"{len(found)} do", following.n, place)
    for old, new in zip(given, found, strict=True):
        if old is not new and canonical(old.payload) != canonical(new.payload):
            return Failure("reasoning goes back as it came", f"{repr(new.payload)[:80]} instead", following.n, place)
    return KEPT


def _foreign(timeline: Timeline, attempt: Attempt) -> Iterator[Failure]:
    items = attempt.request.items
    if timeline.transport == SIM:
        return
    for place in range(len(items) - len(attempt.change.grown), len(items)):
        strange = next((part for part in thoughts(_content(items[place])) if part.provider != timeline.transport), None)
        if strange is not None:
            wanted = f"only reasoning of {timeline.transport}"
            yield Failure(wanted, f"some of {strange.provider}", attempt.n, item(place))


def _content(one: Item) -> AssistantMessage:
    return one if isinstance(one, AssistantMessage) else AssistantMessage(())


def _dropped_early(attempt: Attempt) -> Iterator[Failure]:
    """Reasoning that was dropped although nothing before it is elided."""
    before, items = attempt.previous, attempt.request.items
    if before is None or not attempt.change.changed:
        return
    first = min(newly_elided(attempt), default=len(items))
    for place in attempt.change.changed:
        if place < first and only_reasoning_dropped(before.request.items[place], items[place]):
            yield Failure(
                "reasoning stays as long as nothing before it is elided", "it was dropped", attempt.n, item(place)
            )


def bound(attempt: Attempt) -> Look:
    """Part of loop.context.elide-oldest: reasoning behind a result that is elided now goes with it."""
    fresh = newly_elided(attempt)
    if not fresh:
        return
    items = attempt.request.items
    for place in range(min(fresh) + 1, len(items)):
        if thoughts(_content(items[place])):
            yield Failure(
                f"reasoning behind the elided result at {item(min(fresh))} is dropped with it",
                "it is replayed",
                attempt.n,
                item(place),
            )
            return
    yield KEPT
