"""OpenAI Chat Completions: answers to neutral events. It knows chunks and messages, not requests.

A plain answer's message is read like one big delta, so both modes give the same turn. Only choice 0 is read. The
stream's end is `[DONE]`; an answer whose `finish_reason` and usage were both seen counts as whole without it, since
`[DONE]` says nothing more. Tolerated, as recorded from compatible servers: chunks without choices, calls without
index, a repeated finish reason, reasoning fields. Source: wire facts 2.1 and 3.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.transports.assembly import TurnAssembly
from harness.transports.errors import fault_of_event, model_error, protocol_error
from harness.transports.fields import as_count, as_list, as_object, as_text, json_object
from harness.transports.jsontext import compact
from harness.transports.openai_chat_render import ID
from harness.vocabulary.turn import StopReason
from harness.vocabulary.usage import NO_USAGE, Usage

_STOPS = {"length": StopReason.MAX_TOKENS, "content_filter": StopReason.CONTENT_FILTER}
_REASONING_FIELDS = ("reasoning_content", "reasoning")
_DONE = "[DONE]"


@dataclass(slots=True)
class _Call:
    """One tool call while its pieces come. It is begun when its name and those of the calls before it are known."""

    key: int
    call_id: str = ""
    name: str = ""
    early: str = ""
    begun: bool = False


class ChatTurn:
    """The `TurnHandler` of this wire."""

    def __init__(self, transport: str = ID) -> None:
        self.turn = TurnAssembly()
        self._transport = transport
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._finish: str | None = None
        self._usage = NO_USAGE
        self._response_id = ""

    def event(self, name: str, data: str) -> None:
        """One chunk, an error, or `[DONE]`."""
        if data.strip() == _DONE:
            self._end()
            return
        chunk = json_object(data, "a chunk")
        self._head(chunk)
        for choice in as_list(chunk.get("choices"), "choices"):
            self._choice(as_object(choice, "a choice"))

    def whole(self, body: Mapping[str, Any]) -> None:
        """A plain answer."""
        self._head(body)
        choices = [as_object(choice, "a choice") for choice in as_list(body.get("choices"), "choices")]
        first = next((choice for choice in choices if choice.get("index", 0) == 0), None)
        if first is None:
            raise protocol_error("the answer has no choice 0")
        self._message(as_object(first.get("message"), "the message"), whole=True)
        self._finish = self._finish_reason(first)
        self._end()

    def ended(self) -> None:
        """The body ended: whole if all was said that `[DONE]` would close."""
        if self._finish is not None and self._usage != NO_USAGE:
            self._end()

    def _head(self, document: Mapping[str, Any]) -> None:
        if document.get("error"):
            raise model_error(fault_of_event(document["error"]))
        self._response_id = self._response_id or as_text(document.get("id"), "id")
        if isinstance(document.get("usage"), dict):
            self._usage = read_usage(document["usage"])

    def _choice(self, choice: Mapping[str, Any]) -> None:
        if choice.get("index", 0) != 0:
            return
        delta = choice.get("delta")
        if delta is not None:
            self._message(as_object(delta, "a delta"), whole=False)
        self._finish = self._finish_reason(choice) or self._finish

    def _finish_reason(self, choice: Mapping[str, Any]) -> str | None:
        return as_text(choice.get("finish_reason"), "finish_reason") or None

    def _message(self, message: Mapping[str, Any], *, whole: bool) -> None:
        for field in _REASONING_FIELDS:
            self._reasoning(field, message.get(field))
        self.content(_content_text(message.get("content")))
        self.turn.text("refusal", as_text(message.get("refusal"), "refusal"), "refusal")
        for place, call in enumerate(as_list(message.get("tool_calls"), "tool_calls")):
            self._call_piece(as_object(call, "a tool call"), place if whole else None)
        if message.get("function_call"):
            # The form of 2023, which a server may still use: one call without an id.
            self._call_piece({"function": message["function_call"]}, 0)

    def content(self, text: str) -> None:
        """Visible text, whole or a piece of it."""
        self.turn.text("text", text)

    def _reasoning(self, field: str, text: Any) -> None:
        if not isinstance(text, str) or not text:
            return
        if not self.turn.has(field):
            self.turn.opaque(field, self._transport, None, reasoning=True)
        self.turn.reasoning(field, text)

    def _call_piece(self, piece: Mapping[str, Any], place: int | None) -> None:
        function = as_object(piece.get("function") or {}, "a function")
        call_id, name = as_text(piece.get("id"), "a call id"), as_text(function.get("name"), "a function name")
        call = self._call_of(piece.get("index") if place is None else place, call_id, name)
        arguments = function.get("arguments")
        text = compact(arguments) if isinstance(arguments, dict | list) else as_text(arguments, "arguments")
        self._extend(call, call_id, name, text)

    def _call_of(self, index: Any, call_id: str, name: str) -> _Call:
        """The call that a piece belongs to: by index, else by id, else the last one. Another id with a name under a
        used index is a new call (servers that number every call 0)."""
        indexed = isinstance(index, int)
        known = self._by_index.get(index) if indexed else self._last_with(call_id)
        if known is None or (call_id and name and known.call_id and known.call_id != call_id):
            known = _Call(len(self._calls))
            self._calls.append(known)
        if indexed:
            self._by_index[index] = known
        return known

    def _last_with(self, call_id: str) -> _Call | None:
        if not call_id:
            return self._calls[-1] if self._calls else None
        return next((call for call in self._calls if call.call_id == call_id), None)

    def _extend(self, call: _Call, call_id: str, name: str, text: str) -> None:
        call.call_id = call.call_id or call_id
        if name and call.begun and name != call.name:
            raise protocol_error("a tool call changed its name")
        if call.begun:
            self.turn.arguments(call.key, text)
            return
        call.name, call.early = call.name or name, call.early + text
        for waiting in self._calls:
            if not (waiting.begun or waiting.name):
                return
            if not waiting.begun:
                self._begin(waiting)

    def _begin(self, call: _Call) -> None:
        self.turn.call(call.key, call.call_id, call.name)
        self.turn.arguments(call.key, call.early)
        call.begun = True

    def _end(self) -> None:
        if self._finish is None:
            raise protocol_error("the answer ended without a finish reason")
        for call in self._calls:
            if not call.begun:
                self._begin(call)
        for field in _REASONING_FIELDS:
            if self.turn.has(field):
                self.turn.opaque(field, self._transport, {field: self.turn.joined(field)}, reasoning=True)
        self.before_end()
        self.turn.end(self._stop(self._finish), self._usage, self._response_id)

    def before_end(self) -> None:
        """All deltas were seen: what is still held back becomes part of the turn."""

    def _stop(self, finish: str) -> StopReason:
        if finish in _STOPS:
            return _STOPS[finish]
        if finish == "error":
            raise protocol_error("the server finished with an error and did not say which")
        if self.turn.has_calls:
            return StopReason.TOOL_CALLS
        return StopReason.REFUSAL if self.turn.has_refusal else StopReason.END


def _content_text(content: Any) -> str:
    """Text of a message: a string, a list of parts of which the text ones are read, or the object that some servers
    put there for structured output (its JSON)."""
    if isinstance(content, dict):
        return compact(content)
    if not isinstance(content, list):
        return as_text(content, "content")
    parts = [part for part in content if isinstance(part, dict) and part.get("type") in ("text", "output_text")]
    return "".join(as_text(part.get("text"), "a text part") for part in parts)


def read_usage(usage: Mapping[str, Any]) -> Usage:
    """Token figures of this wire; its totals hold the cached and the reasoning tokens already."""
    prompt, completion = usage.get("prompt_tokens_details"), usage.get("completion_tokens_details")
    given, made = (detail if isinstance(detail, dict) else {} for detail in (prompt, completion))
    return Usage(
        input_tokens=as_count(usage.get("prompt_tokens")),
        cached_tokens=as_count(given.get("cached_tokens")),
        cache_write_tokens=as_count(given.get("cache_write_tokens")),
        output_tokens=as_count(usage.get("completion_tokens")),
        reasoning_tokens=as_count(made.get("reasoning_tokens")),
    )
