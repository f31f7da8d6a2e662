"""Puts one turn together from deltas and keeps the stream contract while it does.

Every parser emits through here, streaming or not, so that both give the same turn: contiguous sequence numbers, one
terminal event, deltas that joined equal their part. It knows parts by a key of the wire's choice and knows no wire.
Rules: the contract in `vocabulary.stream`; loop.context.well-formed-text (a surrogate pair cut in two deltas is
joined, a lone one becomes U+FFFD).
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from harness.transports.errors import protocol_error
from harness.transports.jsontext import well_formed
from harness.vocabulary.content import AssistantMessage, AssistantPart, Opaque, Refusal, Text, ToolCall
from harness.vocabulary.stream import (
    ArgumentsDelta,
    CallStarted,
    ReasoningDelta,
    RefusalDelta,
    StreamEvent,
    StreamFailed,
    TextDelta,
    TurnEnded,
)
from harness.vocabulary.turn import ModelFault, ModelTurn, StopReason
from harness.vocabulary.usage import Usage

Kind: TypeAlias = Literal["text", "refusal", "call", "opaque"]

_DELTAS: dict[Kind, Callable[[int, int, str], StreamEvent]] = {
    "text": TextDelta,
    "refusal": RefusalDelta,
    "call": ArgumentsDelta,
    "opaque": ReasoningDelta,
}


@dataclass(slots=True)
class _Part:
    """One part while it grows. `held` is a high surrogate that waits for its other half."""

    kind: Kind
    item: int
    pieces: list[str] = field(default_factory=list)
    held: str = ""
    call_id: str = ""
    name: str = ""
    provider: str = ""
    payload: Any = None
    reasoning: bool = True


class TurnAssembly:
    """The parts of one turn and the events that announce them."""

    def __init__(self) -> None:
        self._parts: dict[Hashable, _Part] = {}
        self._events: list[StreamEvent] = []
        self._sequence = 0
        self._finished = False
        self.had_output = False
        self.turn: ModelTurn | None = None

    def drain(self) -> list[StreamEvent]:
        """The events since the last call."""
        events, self._events = self._events, []
        return events

    def is_finished(self) -> bool:
        """Whether the terminal event was emitted."""
        return self._finished

    def has(self, key: Hashable) -> bool:
        """Whether a part with this key was opened."""
        return key in self._parts

    @property
    def has_calls(self) -> bool:
        """Whether the turn holds a tool call."""
        return any(part.kind == "call" for part in self._parts.values())

    @property
    def has_output(self) -> bool:
        """Whether the turn holds anything besides opaque parts."""
        return any(part.kind != "opaque" for part in self._parts.values())

    @property
    def has_refusal(self) -> bool:
        """Whether the turn holds refusal text."""
        return any(part.kind == "refusal" for part in self._parts.values())

    def joined(self, key: Hashable) -> str:
        """All text of a part so far ("" where there is no such part)."""
        part = self._parts.get(key)
        return "" if part is None else "".join(part.pieces) + part.held

    def text(self, key: Hashable, text: str, kind: Kind = "text") -> None:
        """Add visible text; the part is opened by its first character, so an empty one never exists."""
        if not text:
            return
        part = self._parts.get(key) or self._open(key, kind)
        if part.kind != kind:
            raise protocol_error(f"{kind} text for a part that is {part.kind}")
        self._grow(part, text)

    def settle(self, key: Hashable, text: str, kind: Kind = "text", *, strict: bool = True) -> None:
        """The wire states the whole text of a part: what was not seen as a delta is added now. Where the two differ,
        `strict` is a protocol error; else the deltas stand, since they were shown already."""
        text, seen = well_formed(text), well_formed(self.joined(key))
        if not text.startswith(seen):
            if strict:
                raise protocol_error(f"the deltas of a {kind} part differ from its final text")
            return
        if kind == "call":
            self.arguments(key, text[len(seen) :])
        else:
            self.text(key, text[len(seen) :], kind)

    def call(self, key: Hashable, call_id: str, name: str) -> None:
        """Open a tool call."""
        part = self._open(key, "call")
        part.call_id, part.name = well_formed(call_id), well_formed(name)
        self._emit(CallStarted(self._sequence, part.item, part.call_id, part.name))

    def arguments(self, key: Hashable, text: str) -> None:
        """Add raw argument text to an open call."""
        if text:
            self._grow(self._existing(key, "call"), text)

    def opaque(self, key: Hashable, provider: str, payload: Any, *, reasoning: bool) -> None:
        """Open provider content, or replace the payload of an open one (its place in the turn stays)."""
        part = self._parts.get(key) or self._open(key, "opaque")
        part.provider, part.payload, part.reasoning = provider, payload, reasoning

    def reasoning(self, key: Hashable, text: str) -> None:
        """Readable reasoning of an open opaque part. It is never visible output."""
        if text:
            self._grow(self._existing(key, "opaque"), text)

    def end(self, stop: StopReason, usage: Usage, response_id: str, *, refused: bool = False) -> None:
        """Emit the terminal event. `refused` turns text parts into refusals (Anthropic tells it only at the end)."""
        for part in self._parts.values():
            self._release(part)
        content = tuple(_content(part, refused) for part in self._parts.values())
        self.turn = ModelTurn(
            message=AssistantMessage(content), stop=stop, usage=usage, response_id=well_formed(response_id)
        )
        self._emit(TurnEnded(self._sequence, self.turn))
        self._finished = True

    def fail(self, fault: ModelFault) -> None:
        """Emit the terminal event of a failed attempt; whether output was seen before is added here."""
        self._emit(StreamFailed(self._sequence, replace(fault, stream_had_output=self.had_output)))
        self._finished = True

    def _open(self, key: Hashable, kind: Kind) -> _Part:
        if key in self._parts:
            raise protocol_error(f"a {kind} part was begun twice")
        part = self._parts[key] = _Part(kind, len(self._parts))
        return part

    def _existing(self, key: Hashable, kind: Kind) -> _Part:
        part = self._parts.get(key)
        if part is None or part.kind != kind:
            raise protocol_error(f"a delta for a {kind} part that was not begun")
        return part

    def _grow(self, part: _Part, text: str) -> None:
        text, part.held = part.held + text, ""
        if "\ud800" <= text[-1] <= "\udbff":
            text, part.held = text[:-1], text[-1]
        self._delta(part, well_formed(text))

    def _release(self, part: _Part) -> None:
        text, part.held = part.held, ""
        self._delta(part, well_formed(text))

    def _delta(self, part: _Part, text: str) -> None:
        if not text:
            return
        part.pieces.append(text)
        self.had_output = self.had_output or part.kind in ("text", "refusal")
        self._emit(_DELTAS[part.kind](self._sequence, part.item, text))

    def _emit(self, event: StreamEvent) -> None:
        if self._finished:
            raise RuntimeError("an event after the terminal event: the parser must stop at the first terminal")
        self._events.append(event)
        self._sequence += 1


def _content(part: _Part, refused: bool) -> AssistantPart:
    text = "".join(part.pieces)
    if part.kind == "call":
        return ToolCall(part.call_id, part.name, text)
    if part.kind == "opaque":
        return Opaque(part.provider, part.payload, part.reasoning)
    return Refusal(text) if refused or part.kind == "refusal" else Text(text)
