"""Making a history fit the context budget: the oldest results that the model has seen become pointers.

A result is never elided before it was seen once, what was elided stays elided, pairs always survive, and provider
reasoning that was bound to an elided prefix goes with it (loop.context.elide-oldest).
"""

from dataclasses import dataclass, replace

from harness.loop.history import History
from harness.loop.text import byte_length
from harness.vocabulary.content import ToolResult

BYTES_A_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Fitted:
    """A history after elision. `elided` counts the results that became pointers now; `fits`: whether it is enough."""

    history: History
    elided: int
    estimate_tokens: int
    fits: bool


def fit(history: History, *, seen: int, fixed_bytes: int, budget_tokens: int, everything: bool = False) -> Fitted:
    """Elide the oldest seen results until the estimate is within `budget_tokens`, or all of them if `everything`.

    `seen` is the length of the history that the model has had before it; `fixed_bytes` what else the request holds.
    """
    size = history.shown_bytes + fixed_bytes
    through, elided = history.elided_through, 0
    first = history.unbound_from if history.elided_through else None
    for index in range(history.elided_through, min(seen, len(history))):
        if not everything and size <= budget_tokens * BYTES_A_TOKEN:
            break
        through = index + 1
        if history.elides(index):
            size -= _saving(history, index)
            elided += 1
            first = index if first is None else first
    if elided:
        history = _mark(history, through, first or 0, size - fixed_bytes)
    estimate = -(-size // BYTES_A_TOKEN)
    return Fitted(history, elided, estimate, size <= budget_tokens * BYTES_A_TOKEN)


def _saving(history: History, index: int) -> int:
    pointer = history.log.pointer(index)
    assert isinstance(pointer, ToolResult)
    return history.log.sizes[index] - byte_length(pointer.text)


def _mark(history: History, through: int, first: int, shown_bytes: int) -> History:
    # Reasoning made so far behind the first elided result was signed over the whole result: it cannot be replayed.
    return replace(
        history,
        elided_through=through,
        unbound_from=first,
        unbound_through=len(history),
        shown_bytes=shown_bytes,
    )
