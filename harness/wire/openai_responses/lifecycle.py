"""The life of a Responses stream: created, in progress, items one after another, a terminal event that holds it all.

The tables and rows are in `lifecycle_rules`, the items in `lifecycle_items`. Unknown events are passed over.
"""

from typing import Any

from harness.wire.openai_responses.lifecycle_items import Items, is_of_an_item
from harness.wire.openai_responses.lifecycle_rules import RESPONSE, RULES
from harness.wire.stream_rules import Lifecycle, counts, object_or

__all__ = ["RULES", "ResponsesLifecycle"]
_TERMINAL = frozenset({"completed", "incomplete", "failed"})
_CONSTANT = ("id", "model", "created_at")


class ResponsesLifecycle(Lifecycle):
    """One Responses stream."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._state = "new"
        self._items = Items(self)
        self._expected: int | None = 0
        self._head: dict[str, Any] | None = None

    def event(self, name: str, body: dict[str, Any]) -> None:
        """See Lifecycle."""
        kind = self.member(body, "type", str)
        self.hold(name == kind, "name", "", f"the SSE name is {name!r}, the type {kind!r}")
        self._number(body)
        word = kind.removeprefix("response.") if kind != "error" else kind
        of_item = is_of_an_item(word)
        before, self._state = self._state, self.step(RESPONSE, self._state, "item" if of_item else word, "/type")
        if before in ("failing", "ended") and word != "failed":
            return
        if word == "error":
            self._error(body)
        elif of_item:
            self._items.take(word, body)
        elif word in RESPONSE["new"]:
            self._response(word, self.member(body, "response", dict))

    def done_mark(self) -> None:
        """See Lifecycle."""
        self.breach("no-done-mark", "", "the stream holds [DONE]")

    def end(self) -> None:
        """See Lifecycle."""
        self.hold(self._state in ("ended", "failing"), "end", "", f"the body ends in state {self._state!r}")

    def _number(self, body: dict[str, Any]) -> None:
        """The first event settles whether this stream is numbered; after a gap the count goes on from there."""
        number = body.get("sequence_number")
        if self.number == 1 and number is None:
            self._expected = None
        same = number == self._expected
        self.hold(same, "sequence", "/sequence_number", f"expected {self._expected}, but got {number!r}")
        if self._expected is not None:
            self._expected = (number if isinstance(number, int) else self._expected) + 1

    def _error(self, body: dict[str, Any]) -> None:
        error = object_or(body.get("error")) or body
        told = isinstance(error.get("message"), str) and "code" in error
        self.hold(told, "error-shape", "/error", "an error needs its code and its message")

    def _response(self, word: str, response: dict[str, Any]) -> None:
        head = {key: response.get(key) for key in _CONSTANT}
        self._head = self._head or head
        for key, value in self._head.items():
            said = f"it was {value!r} and is {head[key]!r}"
            self.hold(head[key] == value, "identity", f"/response/{key}", said)
        if word in _TERMINAL:
            self._final(word, response)
        else:
            self._begun(word, response)

    def _begun(self, word: str, response: dict[str, Any]) -> None:
        progress = response.get("status") in ("queued", "in_progress")
        self.hold(progress, "begins-empty", "/response/status", f"the status is {response.get('status')!r}")
        for key in ("output", "usage", "error"):
            self.hold(not response.get(key), "begins-empty", f"/response/{key}", "nothing can stand here yet")

    def _final(self, word: str, response: dict[str, Any]) -> None:
        status = response.get("status")
        self.hold(status == word, "final-status", "/response/status", f"the status is {status!r}, not {word!r}")
        reason = object_or(response.get("incomplete_details")).get("reason")
        for key, told, due in (
            ("incomplete_details", bool(reason), word == "incomplete"),
            ("error", bool(response.get("error")), word == "failed"),
        ):
            said = f"it is {'missing' if due else 'there'} though the response is {word}"
            self.hold(told == due, "final-status", f"/response/{key}", said)
        if word != "failed":
            open_items = self._items.open
            self.hold(not open_items, "item-closed", "/response", f"items {open_items} are open")
            self._items.final(self.member(response, "output", list, "/response"))
            usage = object_or(response.get("usage"))
            found = counts(usage, "input_tokens", "output_tokens", "total_tokens")
            summed = len(found) == 3 and found[0] + found[1] == found[2]
            self.hold(summed, "usage-final", "/response/usage", f"the counts are {found}")
