"""The life of a Messages stream: message_start, blocks one at a time, message_delta, message_stop; pings anywhere.

Unknown events, block types and delta types are passed over: the provider's versioning policy announces them. Source:
API reference, streaming messages; recorded streams of 2025 and 2026.
"""

from typing import Any

from harness.wire.anthropic_messages.decode import ID
from harness.wire.stream_rules import Breach, Lifecycle, Row, Table, counts, object_or, rows

_DOCUMENT = "API reference, streaming messages"
MESSAGE: Table = {
    "new": {
        "message_start": "message",
        "content_block_start": Breach("start-first", "block"),
        "content_block_delta": Breach("start-first", "block"),
        "content_block_stop": Breach("start-first", "message"),
        "message_delta": Breach("start-first", "closing"),
        "message_stop": Breach("start-first", "ended"),
        "ping": "new",
        "error": "ended",
    },
    "message": {
        "message_start": Breach("start-once", "message"),
        "content_block_start": "block",
        "content_block_delta": Breach("block-open", "message"),
        "content_block_stop": Breach("block-open", "message"),
        "message_delta": "closing",
        "message_stop": Breach("message-delta", "ended"),
        "ping": "message",
        "error": "ended",
    },
    "block": {
        "message_start": Breach("start-once", "block"),
        "content_block_start": Breach("one-block", "block"),
        "content_block_delta": "block",
        "content_block_stop": "message",
        "message_delta": Breach("block-closed", "closing"),
        "message_stop": Breach("block-closed", "ended"),
        "ping": "block",
        "error": "ended",
    },
    "closing": {
        "message_start": Breach("start-once", "closing"),
        "content_block_start": Breach("closing", "closing"),
        "content_block_delta": Breach("closing", "closing"),
        "content_block_stop": Breach("closing", "closing"),
        "message_delta": Breach("message-delta", "closing"),
        "message_stop": "ended",
        "ping": "closing",
        "error": "ended",
    },
    "ended": {
        "message_start": Breach("after-end", "ended"),
        "content_block_start": Breach("after-end", "ended"),
        "content_block_delta": Breach("after-end", "ended"),
        "content_block_stop": Breach("after-end", "ended"),
        "message_delta": Breach("after-end", "ended"),
        "message_stop": Breach("after-end", "ended"),
        "ping": Breach("after-end", "ended"),
        "error": Breach("after-end", "ended"),
    },
}
_TABLE: tuple[Row, ...] = (
    Row("name", "The SSE name of each event is its `type`.", _DOCUMENT, native=True),
    Row("no-done-mark", "There is no `[DONE]`: message_stop says it.", _DOCUMENT, native=True),
    Row("start-first", "message_start comes before all else but pings and an error.", _DOCUMENT),
    Row("start-once", "message_start comes once.", _DOCUMENT),
    Row("start-empty", "The message begins with no content and no stop reason, as the assistant's.", _DOCUMENT),
    Row(
        "block-open",
        "A delta or a stop belongs to an open block.",
        _DOCUMENT,
        recorded="a block without any delta is whole (server results, redacted thinking; 2025 and 2026)",
    ),
    Row(
        "one-block",
        "A block begins when the one before has stopped.",
        _DOCUMENT,
        recorded="no two blocks overlap in any of 91 streams, 2025-01 to 2026-08",
    ),
    Row("block-closed", "message_delta and message_stop come when no block is open.", _DOCUMENT),
    Row("block-index", "Blocks are numbered from 0 without a gap.", _DOCUMENT),
    Row("block-named", "A delta or a stop names the open block's index.", _DOCUMENT),
    Row(
        "block-empty",
        "A block whose content comes in deltas begins without it.",
        _DOCUMENT,
        recorded="a tool_use may begin with its whole input, and then has no delta (bcd7877b-6850d2a2-00, 2026)",
    ),
    Row("delta-kind", "A delta is of a kind that its block can take.", _DOCUMENT),
    Row("signature-last", "A thinking block's signature comes once, as its last delta.", _DOCUMENT),
    Row("closing", "After message_delta no block comes.", _DOCUMENT),
    Row(
        "message-delta",
        "message_delta comes once, before message_stop.",
        _DOCUMENT,
        recorded="the document allows several; each of 91 streams has one, 2025-01 to 2026-08",
    ),
    Row("stop-reason", "message_delta says why the message stopped.", _DOCUMENT),
    Row("stop-tool-use", "A message that stops with tool_use holds a tool_use block.", _DOCUMENT),
    Row("usage-placed", "Usage stands in message_start and in message_delta.", _DOCUMENT),
    Row(
        "usage-grows",
        "message_delta counts all output tokens of the message: no fewer than at its start.",
        _DOCUMENT,
        recorded="input counts may be less at the end (45fa8a14-f217fca3-00, 2026): only output is compared",
    ),
    Row("error-shape", "An error event holds an object with `type` and `message`.", "API reference, errors"),
    Row("after-end", "Nothing follows message_stop or an error.", _DOCUMENT),
    Row("end", "The stream ends with message_stop or an error.", _DOCUMENT),
)
RULES = rows(ID, _TABLE)
_DELTAS: dict[str, frozenset[str]] = {
    "text": frozenset({"text_delta", "citations_delta"}),
    "thinking": frozenset({"thinking_delta", "signature_delta"}),
    "redacted_thinking": frozenset(),
    "tool_use": frozenset({"input_json_delta"}),
}
_KNOWN_DELTAS = frozenset().union(*_DELTAS.values())
_FILLED = {"text": "text", "thinking": "thinking", "tool_use": "input"}
"""The member of a block that its deltas fill."""


class MessagesLifecycle(Lifecycle):
    """One Messages stream."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._state = "new"
        self._begun = 0
        self._index = -1
        self._block: dict[str, Any] = {}
        self._deltas: tuple[str, ...] = ()
        self._output = 0
        self._calls = 0

    def event(self, name: str, body: dict[str, Any]) -> None:
        """See Lifecycle."""
        kind = self.member(body, "type", str)
        self.hold(name == kind, "name", "", f"the SSE name is {name!r}, the type {kind!r}")
        before, self._state = self._state, self.step(MESSAGE, self._state, kind, "/type")
        if before != "ended" and kind in _READERS:
            _READERS[kind](self, body, before)

    def done_mark(self) -> None:
        """See Lifecycle."""
        self.breach("no-done-mark", "", "the stream holds [DONE]")

    def end(self) -> None:
        """See Lifecycle."""
        self.hold(self._state == "ended", "end", "", f"the body ends in state {self._state!r}")

    def _start(self, body: dict[str, Any], before: str) -> None:
        if before != "new":
            return
        message = self.member(body, "message", dict)
        for key in ("id", "model"):
            self.member(message, key, str, "/message")
        known: dict[str, Any] = {"type": "message", "role": "assistant", "content": [], "stop_reason": None}
        for key, value in known.items():
            said = message.get(key)
            self.hold(said == value, "start-empty", f"/message/{key}", f"expected {value!r}, but got {said!r}")
        self._output = self._usage(message, "/message")

    def _block_start(self, body: dict[str, Any], before: str) -> None:
        if before == "closing":
            return
        self._index = self.member(body, "index", int)
        self._block = self.member(body, "content_block", dict)
        self.member(self._block, "type", str, "/content_block")
        self.hold(self._index == self._begun, "block-index", "/index", f"expected {self._begun}, got {self._index}")
        self._begun += 1
        self._deltas = ()
        self._calls += self._block.get("type") == "tool_use"

    def _block_delta(self, body: dict[str, Any], before: str) -> None:
        if before != "block":
            return
        self._named(body)
        kind = self.member(self.member(body, "delta", dict), "type", str, "/delta")
        holder = str(self._block.get("type"))
        fits = kind in _DELTAS.get(holder, (kind,)) or kind not in _KNOWN_DELTAS
        self.hold(fits, "delta-kind", "/delta/type", f"{kind} for a block that is {holder}")
        self.hold("signature_delta" not in self._deltas, "signature-last", "/delta", f"{kind} after the signature")
        if not self._deltas and fits:
            filled = self._block.get(_FILLED.get(holder, ""))
            self.hold(not filled, "block-empty", "/delta", f"the {holder} block began with its content")
        self._deltas += (kind,)

    def _block_stop(self, body: dict[str, Any], before: str) -> None:
        if before == "block":
            self._named(body)

    def _named(self, body: dict[str, Any]) -> None:
        index = self.member(body, "index", int)
        self.hold(index == self._index, "block-named", "/index", f"block {self._index} is open, not {index}")

    def _message_delta(self, body: dict[str, Any], before: str) -> None:
        if before == "closing":
            return
        reason = self.member(body, "delta", dict).get("stop_reason")
        given = isinstance(reason, str) and bool(reason)
        self.hold(given, "stop-reason", "/delta/stop_reason", f"the stop reason is {reason!r}")
        calls = reason != "tool_use" or self._calls > 0
        self.hold(calls, "stop-tool-use", "/delta/stop_reason", "it stops with tool_use and holds no call")
        spent = self._usage(body, "")
        grows = spent < 0 or spent >= self._output
        self.hold(grows, "usage-grows", "/usage/output_tokens", f"{self._output} at the start, {spent} at the end")

    def _usage(self, holder: dict[str, Any], pointer: str) -> int:
        """The output tokens, -1 where they are not told."""
        found = counts(object_or(holder.get("usage")), "output_tokens")
        self.hold(bool(found), "usage-placed", f"{pointer}/usage", "usage with output_tokens is expected here")
        return found[0] if found else -1

    def _error(self, body: dict[str, Any], before: str) -> None:
        error = object_or(body.get("error"))
        told = all(isinstance(error.get(key), str) for key in ("type", "message"))
        self.hold(told, "error-shape", "/error", "an error needs its type and its message")


_READERS = {
    "message_start": MessagesLifecycle._start,
    "content_block_start": MessagesLifecycle._block_start,
    "content_block_delta": MessagesLifecycle._block_delta,
    "content_block_stop": MessagesLifecycle._block_stop,
    "message_delta": MessagesLifecycle._message_delta,
    "error": MessagesLifecycle._error,
}
