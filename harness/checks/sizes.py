"""How large a request's history is: bounds, since a rule that counts "UTF-8 bytes / 4" leaves open what else a
subject counts (frames, escapes, the frozen prefix). The lower bound counts bare text, the upper one twice the text, the
tools, and a frame for each item."""

import json
from collections.abc import Iterable

from harness.checks.canonical import has_surrogate
from harness.checks.history import item_text
from harness.checks.timeline import Attempt
from harness.vocabulary.content import Item, Refusal, SystemMessage, Text, ToolCall

FRAME_BYTES = 256
CONTROL_BYTES = 8_192
_PLAIN = (Text, Refusal, ToolCall)


def byte_length(text: str) -> int:
    """UTF-8 bytes of a text; a lone surrogate counts as the three bytes of U+FFFD."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def weight(one: Item, text: str | None = None) -> tuple[int, int]:
    """Bounds of one item's bytes. `text` is its text where the caller has it."""
    size = byte_length(item_text(one) if text is None else text)
    high = 2 * size + FRAME_BYTES
    if not isinstance(one, SystemMessage):
        for part in one.content:
            if not isinstance(part, _PLAIN):
                high += 2 * len(repr(part))
    return size, high


def measure(attempt: Attempt) -> None:
    """Write `size` and `ragged`, from the size of the request before and what is new. `change` is known."""
    before, change, items = attempt.previous, attempt.change, attempt.request.items
    low, high = before.size if before is not None else (0, _prefix(attempt))
    new: Iterable[Item] = change.grown
    base = len(items) - len(change.grown)
    if before is not None and change.missing:
        low, high, new, base = 0, _prefix(attempt), items, 0
    elif before is not None:
        for place in change.changed:
            (old_low, old_high), (new_low, new_high) = weight(before.request.items[place]), weight(items[place])
            low, high = low + new_low - old_low, high + new_high - old_high
    for place, one in enumerate(new, start=base):
        text = item_text(one)
        small, large = weight(one, text)
        low, high = low + small, high + large
        if has_surrogate(text):
            attempt.ragged = [*attempt.ragged, place]
    attempt.size = low, high


def _prefix(attempt: Attempt) -> int:
    request = attempt.request
    tools = json.dumps([[tool.name, tool.description, dict(tool.parameters)] for tool in request.tools], default=str)
    return 2 * (byte_length(request.system) + len(tools)) + FRAME_BYTES * len(request.tools) + CONTROL_BYTES
