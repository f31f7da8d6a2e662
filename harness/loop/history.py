"""The conversation as an append-only log, and the views that requests and outcomes are.

A view is (log, length) plus two watermarks: results before `elided_through` are shown as pointers, and reasoning
that was bound to an elided prefix is left out up to `unbound_through`. Views are never copied; an append to a view
that is no longer the end of its log branches the log (loop.context.*; linear cost over a run).
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import overload

from harness.loop.text import byte_length, item_bytes
from harness.vocabulary.content import AssistantMessage, Item, Opaque, Text, ToolResult


class Log:
    """Items whole (`items`) and as first shown (`shown`), with the shown sizes in bytes. Appended to, never edited."""

    __slots__ = ("items", "pointers", "shown", "sizes", "stripped")

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.shown: list[Item] = []
        self.sizes: list[int] = []
        # Memo of derived forms: the same for every view, so sharing them is safe.
        self.pointers: dict[int, ToolResult] = {}
        self.stripped: dict[int, AssistantMessage] = {}

    def branch(self, length: int) -> "Log":
        """A copy of the first `length` items, for a view that goes another way."""
        made = Log()
        made.items, made.shown, made.sizes = self.items[:length], self.shown[:length], self.sizes[:length]
        return made

    def pointer(self, index: int) -> ToolResult:
        """The pointer that stands for the tool result at `index`."""
        if index not in self.pointers:
            self.pointers[index] = pointer_to(self.items[index])
        return self.pointers[index]

    def without_reasoning(self, index: int) -> AssistantMessage:
        """The assistant message at `index` without its provider reasoning."""
        if index not in self.stripped:
            self.stripped[index] = strip_reasoning(self.items[index])
        return self.stripped[index]


def pointer_to(item: Item) -> ToolResult:
    """What stands for an elided result: tool, call id, size and digest of the whole, so that a refetch is possible."""
    assert isinstance(item, ToolResult)
    whole = "".join(part.text if isinstance(part, Text) else str(part) for part in item.content).encode("utf-8")
    digest = hashlib.sha256(whole).hexdigest()[:16]
    text = f"[elided: result of {item.tool} for call {item.call_id}, {len(whole)} bytes, sha256 {digest}]"
    if item.is_error and item.reason_code:
        text = f"[{item.reason_code}]\n{text}"
    return replace(item, content=(Text(text),))


def strip_reasoning(item: Item) -> AssistantMessage:
    """An assistant message without the reasoning that only its provider could check."""
    assert isinstance(item, AssistantMessage)
    kept = tuple(part for part in item.content if not (isinstance(part, Opaque) and part.reasoning))
    return AssistantMessage(kept)


@dataclass(frozen=True, slots=True, eq=False)
class History(Sequence[Item]):
    """The conversation as the model sees it. `whole` is the same conversation without elision or excerpt."""

    log: Log
    length: int = 0
    elided_through: int = 0
    unbound_from: int = 0
    unbound_through: int = 0
    shown_bytes: int = 0

    def __len__(self) -> int:
        return self.length

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | Sequence[Item]:
        if isinstance(index, slice):
            return [self._shown(place) for place in range(*index.indices(self.length))]
        place = index + self.length if index < 0 else index
        if not 0 <= place < self.length:
            raise IndexError(f"item {index} of a conversation of {self.length}")
        return self._shown(place)

    def __iter__(self) -> Iterator[Item]:
        return map(self._shown, range(self.length))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def _shown(self, index: int) -> Item:
        item = self.log.shown[index]
        if index < self.elided_through and self.elides(index):
            return self.log.pointer(index)
        if self.unbound_from < index < self.unbound_through and isinstance(item, AssistantMessage):
            return self.log.without_reasoning(index)
        return item

    def same_prefix(self, other: "History") -> bool:
        """Whether this view certainly begins with all of `other`, without a walk. False means: compare the items."""
        mine = (self.log, self.elided_through, self.unbound_through)
        return (
            isinstance(other, History)
            and len(other) <= len(self)
            and mine
            == (
                other.log,
                other.elided_through,
                other.unbound_through,
            )
        )

    def elides(self, index: int) -> bool:
        """Whether a pointer in place of the item at `index` would save anything."""
        item = self.log.shown[index]
        return isinstance(item, ToolResult) and self.log.sizes[index] > byte_length(self.log.pointer(index).text)

    def append(self, items: Sequence[Item], shown: Sequence[Item] | None = None) -> "History":
        """This view with `items` at its end (`shown`: how the model sees them)."""
        log = self.log if len(self.log.items) == self.length else self.log.branch(self.length)
        visible = items if shown is None else shown
        sizes = [item_bytes(item) for item in visible]
        log.items.extend(items)
        log.shown.extend(visible)
        log.sizes.extend(sizes)
        return History(
            log,
            self.length + len(items),
            self.elided_through,
            self.unbound_from,
            self.unbound_through,
            self.shown_bytes + sum(sizes),
        )

    @property
    def whole(self) -> "Conversation":
        """The conversation as it is checkpointed and returned."""
        return Conversation(self.log, self.length)


@dataclass(frozen=True, slots=True, eq=False)
class Conversation(Sequence[Item]):
    """The first `length` items of a log, whole, with `more` behind them."""

    log: Log
    length: int
    more: tuple[Item, ...] = ()

    def __len__(self) -> int:
        return self.length + len(self.more)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | Sequence[Item]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(f"item {index} of a conversation of {len(self)}")
        return self.log.items[place] if place < self.length else self.more[place - self.length]

    def __iter__(self) -> Iterator[Item]:
        return map(self.__getitem__, range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def same_prefix(self, other: object) -> bool:
        """Whether this certainly begins with all of `other`, without a walk."""
        return (
            isinstance(other, Conversation) and self.log is other.log and not other.more and len(other) <= self.length
        )
