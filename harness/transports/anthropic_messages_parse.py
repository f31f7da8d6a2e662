"""Anthropic Messages: answers to neutral events. It knows the answer's blocks and events, not requests.

A plain answer is read as a row of blocks that begin whole, so both modes give the same turn. Tool input is an object on
this wire: its text is dumped anew from what was streamed, so its one delta comes when the block is complete. Thinking
and blocks that only the provider understands stay verbatim. Unknown events and deltas are passed over. Source: wire
facts 2.3 and 3; API version 2026-10-21.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.transports.anthropic_messages_render import ID
from harness.transports.assembly import TurnAssembly
from harness.transports.errors import fault_of_event, model_error, protocol_error
from harness.transports.fields import as_count, as_index, as_list, as_object, as_text, json_object
from harness.transports.jsontext import BadJson, canonical_arguments, compact, decode
from harness.vocabulary.turn import StopReason
from harness.vocabulary.usage import Usage

_STOPS = {
    "max_tokens": StopReason.MAX_TOKENS,
    "refusal": StopReason.REFUSAL,
    "pause_turn": StopReason.PAUSE,
    "model_context_window_exceeded": StopReason.CONTEXT_FULL,
}
_THINKING = frozenset({"thinking", "redacted_thinking"})
_USAGE_KEYS = (
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "output_tokens",
    "output_tokens_details",
)


@dataclass(slots=True)
class _Block:
    """One content block while it is open. `json` holds streamed input, `fields` what deltas add to an opaque block."""

    index: int
    kind: str
    start: Mapping[str, Any]
    json: list[str] = field(default_factory=list)
    fields: dict[str, Any] = field(default_factory=dict)


class MessagesTurn:
    """The `TurnHandler` of this wire."""

    def __init__(self) -> None:
        self.turn = TurnAssembly()
        self._open: dict[int, _Block] = {}
        self._seen: set[int] = set()
        self._usage: dict[str, Any] = {}
        self._response_id = ""
        self._started = False
        self._stop_reason = ""
        self._handlers = {
            "message_start": self._message_start,
            "content_block_start": self._block_start,
            "content_block_delta": self._block_delta,
            "content_block_stop": self._block_stop,
            "message_delta": self._message_delta,
            "message_stop": self._message_stop,
        }

    def event(self, name: str, data: str) -> None:
        """One event; the `type` inside counts, the SSE name only where there is none."""
        event = json_object(data, "an event")
        kind = as_text(event.get("type"), "an event's type") or name
        if kind == "error":
            raise model_error(fault_of_event(event.get("error")))
        handler = self._handlers.get(kind)
        if handler is None:
            return
        if not self._started and kind != "message_start":
            raise protocol_error("an event came before message_start")
        handler(event)

    def whole(self, body: Mapping[str, Any]) -> None:
        """A plain answer."""
        if body.get("type") == "error" or ("error" in body and "content" not in body):
            raise model_error(fault_of_event(body.get("error")))
        if "content" not in body:
            raise protocol_error("the answer has no content")
        self._message_start({"message": {**body, "content": []}})
        for index, block in enumerate(as_list(body["content"], "content")):
            self._block_start({"index": index, "content_block": block})
            self._block_stop({"index": index})
        self._message_delta({"delta": {"stop_reason": body.get("stop_reason")}})
        self._message_stop({})

    def ended(self) -> None:
        """Only message_stop ends this wire's turn."""

    def _message_start(self, event: Mapping[str, Any]) -> None:
        if self._started:
            raise protocol_error("message_start came twice")
        self._started = True
        message = as_object(event.get("message"), "the message")
        self._response_id = as_text(message.get("id"), "id")
        self._note_usage(message.get("usage"))

    def _block_start(self, event: Mapping[str, Any]) -> None:
        index = as_index(event.get("index"), "index")
        start = as_object(event.get("content_block"), "a content block")
        if index in self._seen:
            raise protocol_error("a content block was begun twice")
        block = _Block(index, as_text(start.get("type"), "a block's type"), start)
        self._seen.add(index)
        self._open[index] = block
        if block.kind == "text":
            self.turn.text(index, as_text(start.get("text"), "text"))
        elif block.kind == "tool_use":
            self.turn.call(index, as_text(start.get("id"), "id"), as_text(start.get("name"), "name"))
        else:
            self.turn.opaque(index, ID, dict(start), reasoning=block.kind in _THINKING)
            self.turn.reasoning(index, _readable(block, start))

    def _block_delta(self, event: Mapping[str, Any]) -> None:
        block = self._block_of(event)
        delta = as_object(event.get("delta"), "a delta")
        kind = as_text(delta.get("type"), "a delta's type")
        if kind == "input_json_delta" and block.kind != "text":
            block.json.append(as_text(delta.get("partial_json"), "partial_json"))
        elif block.kind == "text":
            if kind in ("input_json_delta", "thinking_delta", "signature_delta"):
                raise protocol_error(f"{kind} for a text block")
            self.turn.text(block.index, as_text(delta.get("text"), "text") if kind == "text_delta" else "")
        elif kind == "text_delta" or block.kind == "tool_use":
            raise protocol_error(f"{kind[:40]} for a block that is {block.kind[:40]}")
        else:
            self.turn.reasoning(block.index, _readable(block, delta))
            _merge(block.fields, delta, block.start)

    def _block_stop(self, event: Mapping[str, Any]) -> None:
        block = self._block_of(event)
        del self._open[block.index]
        if block.kind == "tool_use":
            self.turn.arguments(block.index, _input_text(block))
        elif block.kind != "text":
            payload = {**block.start, **block.fields}
            if block.json:
                payload["input"] = _input_value(block)
            self.turn.opaque(block.index, ID, payload, reasoning=block.kind in _THINKING)

    def _block_of(self, event: Mapping[str, Any]) -> _Block:
        block = self._open.get(as_index(event.get("index"), "index"))
        if block is None:
            raise protocol_error("an event for a content block that is not open")
        return block

    def _message_delta(self, event: Mapping[str, Any]) -> None:
        delta = as_object(event.get("delta"), "a delta")
        self._stop_reason = as_text(delta.get("stop_reason"), "stop_reason") or self._stop_reason
        self._note_usage(event.get("usage"))

    def _note_usage(self, usage: Any) -> None:
        """Later figures replace earlier ones: they are cumulative, never to be added."""
        if isinstance(usage, dict):
            self._usage.update({key: usage[key] for key in _USAGE_KEYS if usage.get(key) is not None})

    def _message_stop(self, event: Mapping[str, Any]) -> None:
        if self._open:
            raise protocol_error("the message ended with a content block open")
        if not self._stop_reason:
            raise protocol_error("the message ended without a stop reason")
        stop = self._stop()
        self.turn.end(stop, read_usage(self._usage), self._response_id, refused=stop is StopReason.REFUSAL)

    def _stop(self) -> StopReason:
        stop = _STOPS.get(self._stop_reason)
        if stop is StopReason.REFUSAL and not self.turn.has_output:
            # A refusal that says nothing is the provider's filter, not the model's word.
            return StopReason.CONTENT_FILTER
        return stop or (StopReason.TOOL_CALLS if self.turn.has_calls else StopReason.END)


def _readable(block: _Block, holder: Mapping[str, Any]) -> str:
    """Reasoning text that a thinking block or its delta shows."""
    return as_text(holder.get("thinking"), "thinking") if block.kind == "thinking" else ""


def _merge(fields: dict[str, Any], delta: Mapping[str, Any], start: Mapping[str, Any]) -> None:
    """What a delta says of an opaque block: text is joined to text, a signature and everything else is set."""
    for key, value in delta.items():
        if key == "type":
            continue
        before = fields.get(key, start.get(key))
        joined = isinstance(before, str) and isinstance(value, str) and key != "signature"
        fields[key] = before + value if joined else value


def _input_text(block: _Block) -> str:
    """Raw argument text of a finished call: of its deltas, else of the input it began with."""
    streamed = "".join(block.json)
    begun = block.start.get("input")
    return canonical_arguments(streamed) if streamed or not begun else compact(begun)


def _input_value(block: _Block) -> Any:
    """Input of a block that only the provider understands; cut off text reads as an empty object."""
    try:
        return decode("".join(block.json) or "{}")
    except BadJson:
        return {}


def read_usage(usage: Mapping[str, Any]) -> Usage:
    """Token figures of this wire: its `input_tokens` is the uncached remainder, the whole input is the sum of three."""
    rest, written, read = (
        as_count(usage.get(key)) for key in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    )
    made = usage.get("output_tokens_details")
    return Usage(
        input_tokens=None if rest is None else rest + (written or 0) + (read or 0),
        cached_tokens=read,
        cache_write_tokens=written,
        output_tokens=as_count(usage.get("output_tokens")),
        reasoning_tokens=as_count(made.get("thinking_tokens")) if isinstance(made, dict) else None,
    )
