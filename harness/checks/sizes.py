"""How large a request's history is: bounds, since a rule that counts "UTF-8 bytes / 4" leaves open what else a
subject counts (frames, escapes, the frozen prefix). The lower bound counts bare text, the upper one twice the text, the
tools, and a frame for each item."""

import json

from harness.checks.history import item_text
from harness.checks.timeline import Attempt
from harness.vocabulary.content import Item, Refusal, SystemMessage, Text, ToolCall

FRAME_BYTES = 256
CONTROL_BYTES = 8_192


def byte_length(text: str) -> int:
    """UTF-8 bytes of a text; a lone surrogate counts as the three bytes of U+FFFD."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def weight(one: Item) -> tuple[int, int]:
    """Bounds of one item's bytes."""
    text = byte_length(item_text(one))
    return text, 2 * text + FRAME_BYTES + _hidden(one)


def _hidden(one: Item) -> int:
    """Upper bound of what is no text: images and provider parts."""
    if isinstance(one, SystemMessage):
        return 0
    return sum([2 * len(repr(part)) for part in one.content if not isinstance(part, (Text, Refusal, ToolCall))])


def measure(attempt: Attempt) -> tuple[int, int]:
    """Bounds of the request's bytes, from those of the request before and what is new. `attempt.change` is known."""
    before, change, items = attempt.previous, attempt.change, attempt.request.items
    if before is None or change.missing:
        prefix = _prefix(attempt)
        low, high = 0, prefix
        for one in items:
            small, large = weight(one)
            low, high = low + small, high + large
        return low, high
    low, high = before.size
    for place in change.changed:
        (old_low, old_high), (new_low, new_high) = weight(before.request.items[place]), weight(items[place])
        low, high = low + new_low - old_low, high + new_high - old_high
    for one in change.grown:
        small, large = weight(one)
        low, high = low + small, high + large
    return low, high


def _prefix(attempt: Attempt) -> int:
    request = attempt.request
    tools = json.dumps([[tool.name, tool.description, dict(tool.parameters)] for tool in request.tools], default=str)
    return 2 * (byte_length(request.system) + len(tools)) + FRAME_BYTES * len(request.tools) + CONTROL_BYTES
