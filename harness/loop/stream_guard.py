"""The stream contract, kept by the loop: whatever a model port does, the loop gets one turn or one fault.

Contract: vocabulary/stream.py. A breach is a protocol fault, never an answer (loop.model.terminal-required).
"""

from collections.abc import Iterable

from harness.vocabulary.content import Refusal, Text
from harness.vocabulary.stream import RefusalDelta, StreamEvent, StreamFailed, TextDelta, TurnEnded
from harness.vocabulary.turn import FaultKind, ModelFault, ModelTurn

_DELTA_PARTS: dict[type, tuple[type, ...]] = {TextDelta: (Text, Refusal), RefusalDelta: (Refusal,)}


class StreamGuard:
    """Takes the events of one attempt; `result()` is the turn or the fault."""

    def __init__(self) -> None:
        self._next = 0
        self._texts: dict[int, list[str]] = {}
        self._had_output = False
        self._end: ModelTurn | ModelFault | None = None
        self._breach: str | None = None

    def take(self, event: StreamEvent) -> None:
        """One event, in the order of arrival."""
        if event.sequence != self._next:
            self._breach = self._breach or f"stream sequence {event.sequence} where {self._next} was due"
        self._next += 1
        if self._end is not None:
            self._breach = self._breach or "an event after the terminal event"
        elif isinstance(event, TurnEnded):
            self._end = event.turn
        elif isinstance(event, StreamFailed):
            self._end = event.fault
        elif isinstance(event, (TextDelta, RefusalDelta)):
            self._had_output = self._had_output or bool(event.text)
            self._texts.setdefault(event.item, []).append(event.text)

    def take_all(self, events: Iterable[StreamEvent]) -> "StreamGuard":
        """All events of a sync port."""
        for event in events:
            self.take(event)
        return self

    def result(self) -> ModelTurn | ModelFault:
        """What the attempt gave. A broken contract wins over a turn; a fault is passed on as it is."""
        if isinstance(self._end, ModelFault):
            return self._end
        if self._end is None:
            return self._protocol("the stream ended without its terminal event")
        breach = self._breach or self._mismatch(self._end)
        return self._protocol(breach) if breach else self._end

    def _protocol(self, message: str) -> ModelFault:
        return ModelFault(kind=FaultKind.PROTOCOL, message=message, stream_had_output=self._had_output)

    def _mismatch(self, turn: ModelTurn) -> str | None:
        content = turn.message.content
        for item, texts in self._texts.items():
            part = content[item] if item < len(content) else None
            if not isinstance(part, (Text, Refusal)) or part.text != "".join(texts):
                return f"the deltas of item {item} do not give the turn's text"
        return None
