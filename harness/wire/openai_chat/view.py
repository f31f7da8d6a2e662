"""A Chat request as its rules look at it. Tolerant: what has a wrong shape is passed over here."""

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

from harness.vocabulary.content import JsonObject
from harness.wire.reading import objects, text_or

NAME = re.compile(r"[a-zA-Z0-9_-]+")


class Place(NamedTuple):
    """A tool message: its place in `messages`, its id, and the places of a message it is measured against."""

    place: int
    call_id: str
    other: int = -1


class View:
    """One payload."""

    def __init__(self, payload: JsonObject) -> None:
        self.payload = payload
        self.model = text_or(payload.get("model"))
        self.messages = list(objects(payload.get("messages")))

    @property
    def effort(self) -> str | None:
        """The reasoning effort asked for, None if none is."""
        value = self.payload.get("reasoning_effort")
        return value if isinstance(value, str) else None

    @property
    def has_tools(self) -> bool:
        """Whether any tool or legacy function is offered."""
        return bool(self.payload.get("tools") or self.payload.get("functions"))

    @cached_property
    def functions(self) -> list[tuple[int, dict[str, Any]]]:
        """The function tools, with their places in `tools`."""
        found = ((i, tool.get("function")) for i, tool in objects(self.payload.get("tools")))
        return [(i, function) for i, function in found if isinstance(function, dict)]

    def calls(self) -> Iterator[tuple[int, int, dict[str, Any]]]:
        """Each call of the history: place of its message, place in it, the call."""
        for i, message in self.messages:
            yield from ((i, j, call) for j, call in objects(message.get("tool_calls")))

    def parts(self) -> Iterator[tuple[int, int, str, dict[str, Any]]]:
        """Each content part: place of its message, place in it, the message's role, the part."""
        for i, message in self.messages:
            role = text_or(message.get("role"))
            yield from ((i, j, role, part) for j, part in objects(message.get("content")))

    @cached_property
    def pairing(self) -> "Pairing":
        """Calls and their tool messages."""
        return Pairing(self.messages)


class Pairing:
    """Which call has no result, and which result has no call. A batch is an assistant message with calls and the tool
    messages directly after it."""

    def __init__(self, messages: list[tuple[int, dict[str, Any]]]) -> None:
        self.unanswered: list[tuple[int, int, list[str]]] = []
        """Place of the assistant message, place after its batch, ids without a tool message."""
        self.orphans: list[Place] = []
        self.strangers: list[Place] = []
        self.duplicates: list[Place] = []
        self._open: dict[str, int | None] | None = None
        self._asked = -1
        for i, message in messages:
            self._take(i, message)
        self._close(messages[-1][0] + 1 if messages else 0)

    def _take(self, i: int, message: dict[str, Any]) -> None:
        if message.get("role") == "tool":
            self._answer(i, text_or(message.get("tool_call_id")))
            return
        self._close(i)
        calls = [text_or(call.get("id")) for _, call in objects(message.get("tool_calls"))]
        if calls and message.get("role") == "assistant":
            self._open, self._asked = dict.fromkeys(calls), i

    def _answer(self, i: int, call_id: str) -> None:
        if self._open is None:
            self.orphans.append(Place(i, call_id))
        elif call_id not in self._open:
            self.strangers.append(Place(i, call_id))
        elif (first := self._open[call_id]) is not None:
            self.duplicates.append(Place(i, call_id, first))
        else:
            self._open[call_id] = i

    def _close(self, after: int) -> None:
        missing = [call_id for call_id, place in (self._open or {}).items() if place is None]
        if missing:
            self.unanswered.append((self._asked, after, missing))
        self._open = None
