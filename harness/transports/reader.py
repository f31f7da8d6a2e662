"""Drives one wire's turn handler: from SSE bytes for a stream, from one JSON body for a plain answer.

The handlers know their wire's events; this module knows framing, JSON, and that whatever is wrong with an answer
becomes a fault and never another exception. Rules: loop.model.terminal-required, the stream contract.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from harness.transports.assembly import TurnAssembly
from harness.transports.errors import protocol_error, protocol_fault
from harness.transports.fields import json_object
from harness.transports.sse import ServerSentEvent, SseDecoder
from harness.vocabulary.stream import StreamEvent
from harness.vocabulary.turn import ModelError, ModelFault, ModelTurn


class TurnHandler(Protocol):
    """What one wire adds: its events. Its methods raise `ModelError` for an answer that breaks the wire's rules."""

    turn: TurnAssembly

    def event(self, name: str, data: str) -> None:
        """One server-sent event."""
        ...

    def whole(self, body: Mapping[str, Any]) -> None:
        """The whole of a plain answer; ends the turn."""
        ...

    def ended(self) -> None:
        """The stream's body ended cleanly: end the turn if the wire has said all it must, else do nothing."""
        ...


class SseReader:
    """The `StreamParser` of a handler."""

    def __init__(self, handler: TurnHandler) -> None:
        self._handler = handler
        self._turn = handler.turn
        self._decoder = SseDecoder()

    def feed(self, chunk: bytes) -> list[StreamEvent]:
        """See `StreamParser.feed`."""
        if self._turn.is_finished():
            return []
        for event in self._decoder.feed(chunk):
            self._take(event)
            if self._turn.is_finished():
                break
        return self._turn.drain()

    def close(self) -> list[StreamEvent]:
        """See `StreamParser.close`."""
        if self._turn.is_finished():
            return []
        try:
            self._handler.ended()
        except ModelError as error:
            self._turn.fail(error.fault)
        if not self._turn.is_finished():
            where = "inside an event" if self._decoder.unfinished else "between events"
            self._turn.fail(protocol_fault(f"the stream ended without its terminal event, {where}"))
        return self._turn.drain()

    def broken(self, fault: ModelFault) -> list[StreamEvent]:
        """See `StreamParser.broken`."""
        if self._turn.is_finished():
            return []
        self._turn.fail(fault)
        return self._turn.drain()

    def _take(self, event: ServerSentEvent) -> None:
        if not event.data.strip():
            return
        try:
            self._handler.event(event.event, event.data)
        except ModelError as error:
            self._turn.fail(error.fault)


def read_whole(handler: TurnHandler, body: bytes) -> ModelTurn:
    """The turn of a plain answer. Raises only `ModelError` subclasses."""
    handler.whole(json_object(body, "the answer"))
    turn = handler.turn.turn
    if turn is None:
        raise protocol_error("the answer holds no turn")
    return turn
