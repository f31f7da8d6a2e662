"""The output items of a Responses stream: added, filled and done, and done with nothing but what was streamed.

It keeps the state of each item and of each of its texts by the tables of `lifecycle_rules`; the response around them
is the other module's.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from harness.wire.openai_responses.lifecycle_rules import ITEM, PART
from harness.wire.reading import objects
from harness.wire.stream_rules import Lifecycle, object_or


class Family(NamedTuple):
    """Events of one kind of text. `place` is the member that numbers it within its item; `whole` the member of its
    done event that holds it; `part` whether a part must have been added before."""

    items: tuple[str, ...]
    group: str
    place: str | None
    whole: str
    part: bool = False


TEXTS: Mapping[str, Family] = {
    "output_text": Family(("message",), "content", "content_index", "text", True),
    "refusal": Family(("message",), "content", "content_index", "refusal", True),
    "reasoning_text": Family(("reasoning",), "content", "content_index", "text"),
    "reasoning_summary_text": Family(("reasoning",), "summary", "summary_index", "text", True),
    "function_call_arguments": Family(("function_call",), "arguments", None, "arguments"),
    "mcp_call_arguments": Family(("mcp_call",), "arguments", None, "arguments"),
    "custom_tool_call_input": Family(("custom_tool_call",), "input", None, "input"),
    "code_interpreter_call_code": Family(("code_interpreter_call",), "code", None, "code"),
    "apply_patch_call_operation_diff": Family(("apply_patch_call",), "diff", None, "diff"),
}
PARTS: Mapping[str, Family] = {
    "content_part": Family(("message", "reasoning"), "content", "content_index", "part", True),
    "reasoning_summary_part": Family(("reasoning",), "summary", "summary_index", "part", True),
}
_PROGRESS = frozenset(
    {"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call"}
)
_STEPS = {"delta": "delta", "done": "text"}
_STATED = ("text", "refusal")
_CONSTANT = ("type", "id", "call_id", "name")
_ANEW = frozenset({"encrypted_content", "fingerprint"})
"""Members that each event of an item holds anew."""


@dataclass(slots=True)
class _Text:
    """One text while it is streamed. `stated` is what its done event said."""

    state: str
    parted: bool = False
    pieces: list[str] = field(default_factory=list)
    stated: str | None = None

    @property
    def closed(self) -> bool:
        return self.state == "done" or (self.state == "said" and not self.parted)

    @property
    def text(self) -> str:
        return "".join(self.pieces) if self.stated is None else self.stated


@dataclass(slots=True)
class _Item:
    state: str = "absent"
    begun: dict[str, Any] = field(default_factory=dict)
    done: dict[str, Any] = field(default_factory=dict)
    texts: dict[tuple[str, int], _Text] = field(default_factory=dict)


def is_of_an_item(name: str) -> bool:
    """Whether an event (its type without `response.`) belongs to an item and is known here."""
    head, _, tail = name.rpartition(".")
    if head == "output_item" or head in PARTS:
        return tail in ("added", "done")
    return (head in TEXTS and tail in _STEPS) or head in _PROGRESS


class Items:
    """The items of one stream; breaches go to its lifecycle."""

    def __init__(self, judge: Lifecycle) -> None:
        self._judge = judge
        self._items: dict[int, _Item] = {}

    @property
    def open(self) -> list[int]:
        """The indexes of the items that are open."""
        return [index for index, item in self._items.items() if item.state == "open"]

    def take(self, name: str, body: dict[str, Any]) -> None:
        """One event of an item."""
        head, _, tail = name.rpartition(".")
        index = self._judge.member(body, "output_index", int)
        if head == "output_item":
            item = self._judge.member(body, "item", dict)
            self._added(index, item) if tail == "added" else self._done(index, item)
            return
        known = self._items.get(index, _Item())
        self._judge.step(ITEM, known.state, "inner", "/output_index")
        if known.state != "open":
            return
        family = TEXTS.get(head) or PARTS.get(head)
        self._check_inner(known, family.items if family else (head,), body, name)
        if family is not None:
            self._text(known, family, head in PARTS, tail, body)

    def final(self, output: Any) -> None:
        """The items that the terminal event holds."""
        told = [item for _, item in objects(output)]
        done = [item.done for _, item in sorted(self._items.items()) if item.state == "done"]
        self._judge.hold(
            len(told) == len(done), "final-output", "/response/output", f"{len(done)} items were done, not {len(told)}"
        )
        for place, (one, other) in enumerate(zip(told, done, strict=False)):
            keys = sorted(key for key in {*one, *other} - _ANEW if one.get(key) != other.get(key))
            self._judge.hold(not keys, "final-output", f"/response/output/{place}", f"{', '.join(keys)} differ")

    def _added(self, index: int, item: dict[str, Any]) -> None:
        known = self._items.setdefault(index, _Item())
        if known.state == "absent":
            others, expected = self.open, len(self._items) - 1
            self._judge.hold(not others, "one-item", "/output_index", f"item {others} is open")
            self._judge.hold(index == expected, "item-index", "/output_index", f"expected {expected}, got {index}")
            self._judge.member(item, "type", str, "/item")
            known.begun = item
        known.state = self._judge.step(ITEM, known.state, "added", "/output_index")

    def _done(self, index: int, item: dict[str, Any]) -> None:
        known = self._items.setdefault(index, _Item())
        before, known.state = known.state, self._judge.step(ITEM, known.state, "done", "/output_index")
        if before != "open":
            known.done = known.done or item
            return
        known.done = item
        for key in _CONSTANT:
            same = (known.begun.get(key) or None) == (item.get(key) or None)
            said = f"it was {known.begun.get(key)!r} and is {item.get(key)!r}"
            self._judge.hold(same, "item-identity", f"/item/{key}", said)
        for (group, place), text in known.texts.items():
            pointer = f"/item/{group}/{place}" if place >= 0 else f"/item/{group}"
            slug = "part-closed" if text.parted else "text-done"
            self._judge.hold(text.closed, slug, pointer, f"a text is still in state {text.state!r}")
            if text.closed:
                told = _stated(item, group, place)
                same = told is None or told == text.text
                self._judge.hold(same, "done-item", pointer, "it is not the text that was streamed")

    def _check_inner(self, item: _Item, kinds: tuple[str, ...], body: dict[str, Any], name: str) -> None:
        kind = str(item.begun.get("type"))
        self._judge.hold(kind in kinds, "item-kind", "/type", f"{name} for an item that is {kind}")
        item_id = body.get("item_id") or None
        same = item_id == (item.begun.get("id") or None)
        self._judge.hold(same, "item-identity", "/item_id", f"the item's id is {item.begun.get('id')!r}")

    def _text(self, item: _Item, family: Family, of_part: bool, tail: str, body: dict[str, Any]) -> None:
        place = -1 if family.place is None else self._judge.member(body, family.place, int)
        text = item.texts.setdefault((family.group, place), _Text("absent" if family.part else "open"))
        kind = tail if of_part else _STEPS[tail]
        before, text.state = text.state, self._judge.step(PART, text.state, kind, "/type")
        text.parted = text.parted or of_part
        if kind == "delta":
            text.pieces.append(self._judge.member(body, "delta", str))
        elif kind == "text" and text.stated is None:
            text.stated = self._judge.member(body, family.whole, str)
            same = text.stated == "".join(text.pieces)
            self._judge.hold(same, "deltas-done", f"/{family.whole}", "the deltas joined are another text")
        elif kind == "done" and before == "said":
            told = _of_part(self._judge.member(body, "part", dict))
            same = told is None or told == text.stated
            self._judge.hold(same, "done-item", "/part", "it is not the text that was streamed")


def _of_part(part: dict[str, Any]) -> str | None:
    return next((part[key] for key in _STATED if isinstance(part.get(key), str)), None)


def _stated(item: dict[str, Any], group: str, place: int) -> str | None:
    """The text that a finished item holds at a place; None where it holds none of that kind."""
    value = item.get(group)
    if place < 0:
        return value if isinstance(value, str) else None
    return _of_part(object_or(value[place])) if isinstance(value, list) and place < len(value) else None
