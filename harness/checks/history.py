"""Reading sequences of conversation items: what changed from one request to the next, and which results answer which
calls. It knows items only, no rules.

Requests of one run share a log, so a run of n turns must not be walked n times. A history may offer
`same_prefix(earlier)` (or `shares(earlier)`): True when its first `len(earlier)` items are the very items of
`earlier`. Where it says so, only what is new is read; the word of a subject's own type is verified once, against the
last request, by `Mirror`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.vocabulary.content import (
    AssistantMessage,
    Item,
    Opaque,
    Refusal,
    SystemMessage,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
)
from harness.vocabulary.control import CONTROL_NAMES

_CONTROL_LINE = re.compile(r"^\[run control: (?:" + "|".join(CONTROL_NAMES) + r")\]", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Change:
    """From one history to the next: places whose item differs, the items that were added at the end, and how many
    items are missing there."""

    changed: tuple[int, ...]
    grown: tuple[Item, ...]
    missing: int = 0


NO_CHANGE = Change((), ())


def compare(before: Sequence[Item], after: Sequence[Item]) -> Change:
    """What `after` makes of `before`. Reads only the new items where `after` vouches for the old ones."""
    if after is before:
        return NO_CHANGE
    old, new = len(before), len(after)
    grown = tuple([after[place] for place in range(old, new)])
    if vouched(before, after):
        return Change((), grown) if grown else NO_CHANGE
    pairs = zip(before, after, strict=False)
    changed = tuple([place for place, (one, other) in enumerate(pairs) if one is not other and one != other])
    return Change(changed, grown, max(0, old - new))


def vouched(before: Sequence[Item], after: Sequence[Item]) -> bool:
    """Whether `after` itself says that it extends `before`, and its last old item bears that out."""
    ask = getattr(after, "same_prefix", None) or getattr(after, "shares", None)
    old = len(before)
    if ask is None or type(before) is not type(after) or len(after) < old or not ask(before):
        return False
    return not old or before[old - 1] is after[old - 1]


class Mirror:
    """The judge's own copy of a growing history, to hold a subject's view type to its word."""

    def __init__(self) -> None:
        self._items: list[Item] = []
        self._trusted = False

    def follow(self, before: Sequence[Item], after: Sequence[Item], change: Change) -> None:
        """Take over one change."""
        self._trusted = self._trusted or (len(before) > 0 and not change.changed and not change.missing)
        if change.missing:
            del self._items[len(after) :]
        for place in change.changed:
            self._items[place] = after[place]
        self._items.extend(change.grown)

    def differences(self, last: Sequence[Item]) -> tuple[int, ...]:
        """Places at which the last history is not what its steps added up to. One walk over the whole history."""
        if not self._trusted:
            return ()
        pairs = zip(self._items, last, strict=False)
        return tuple([place for place, (one, other) in enumerate(pairs) if one is not other and one != other])


def split_turn(items: Sequence[Item]) -> tuple[list[AssistantMessage], list[ToolResult], list[Item]]:
    """Items that follow one request as (the model's messages, the results directly after them, all the rest)."""
    said: list[AssistantMessage] = []
    results: list[ToolResult] = []
    rest: list[Item] = []
    for one in items:
        if isinstance(one, AssistantMessage) and not results and not rest:
            said.append(one)
        elif isinstance(one, ToolResult) and said and not rest:
            results.append(one)
        else:
            rest.append(one)
    return said, results, rest


def batches(items: Sequence[Item]) -> Iterator[tuple[int, list[ToolCall], list[ToolResult]]]:
    """Each message with calls: its place, its calls, and the results before the next item that is none."""
    place, calls, results = 0, list[ToolCall](), list[ToolResult]()
    for here, one in enumerate(items):
        if isinstance(one, ToolResult):
            results.append(one)
            continue
        if calls or results:
            yield place, calls, results
        place, results = here, []
        calls = list(one.calls) if isinstance(one, AssistantMessage) else []
    if calls or results:
        yield place, calls, results


def spoken(parts: Sequence[object]) -> str:
    """Text and refusal text of message parts, joined without a separator."""
    return "".join([part.text for part in parts if isinstance(part, (Text, Refusal))])


def item_text(one: Item) -> str:
    """All readable text of an item, arguments of calls included."""
    if isinstance(one, SystemMessage):
        return one.text
    if isinstance(one, AssistantMessage):
        return spoken(one.content) + "".join([call.arguments for call in one.calls])
    return "".join([part.text for part in one.content if isinstance(part, Text)])


def instructs(one: Item) -> bool:
    """Whether a platform or user message holds a control instruction (its documented first line)."""
    return isinstance(one, (SystemMessage, UserMessage)) and _CONTROL_LINE.search(item_text(one)) is not None


def only_reasoning_dropped(before: Item, after: Item) -> bool:
    """Whether the two messages differ in nothing but hidden reasoning that was left out."""
    if not isinstance(before, AssistantMessage) or not isinstance(after, AssistantMessage):
        return False
    return _without_reasoning(before) == _without_reasoning(after) and len(after.content) < len(before.content)


def _without_reasoning(message: AssistantMessage) -> list[object]:
    return [part for part in message.content if not (isinstance(part, Opaque) and part.reasoning)]
