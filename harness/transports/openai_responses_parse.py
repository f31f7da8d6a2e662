"""OpenAI Responses: answers to neutral events. It knows the answer's items and events, not requests.

A plain answer is read as a row of finished items, so both modes give the same turn. In a stream the finished item
(`output_item.done`) is the authority; the items of the terminal event fill in what was not seen, since some servers
leave either out. Reasoning and items that only the provider understands stay verbatim. Unknown events are passed
over. Source: wire facts 2.2 and 3.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from harness.transports.assembly import Kind, TurnAssembly
from harness.transports.errors import fault_of_event, model_error, protocol_error
from harness.transports.fields import as_count, as_index, as_list, as_object, as_text, json_object
from harness.transports.openai_responses_render import ID
from harness.vocabulary.turn import StopReason
from harness.vocabulary.usage import NO_USAGE, Usage

_CUTS = {"max_output_tokens": StopReason.MAX_TOKENS, "content_filter": StopReason.CONTENT_FILTER}
_TERMINAL = {
    "response.completed": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
    "response.cancelled": "cancelled",
}
_TEXT_EVENTS: dict[str, tuple[str, Kind]] = {
    "response.output_text.delta": ("delta", "text"),
    "response.output_text.done": ("text", "text"),
    "response.refusal.delta": ("delta", "refusal"),
    "response.refusal.done": ("refusal", "refusal"),
}
_MESSAGE_PARTS: dict[str, tuple[str, Kind]] = {"output_text": ("text", "text"), "refusal": ("refusal", "refusal")}
_ARGUMENT_EVENTS = {
    "response.function_call_arguments.delta": "delta",
    "response.function_call_arguments.done": "arguments",
}
_REASONING_EVENTS = frozenset({"response.reasoning_summary_text.delta", "response.reasoning_text.delta"})


class ResponsesTurn:
    """The `TurnHandler` of this wire."""

    def __init__(self) -> None:
        self.turn = TurnAssembly()
        self._begun: set[int] = set()
        self._done: set[int] = set()
        self._last_number: int | None = None
        self._lost_events = False

    def event(self, name: str, data: str) -> None:
        """One event; the `type` inside counts, the SSE name only where there is none."""
        if data.strip() == "[DONE]":
            return
        event = json_object(data, "an event")
        kind = as_text(event.get("type"), "an event's type") or name
        self._in_order(event.get("sequence_number"))
        if kind == "error" or (event.get("error") and kind not in _TERMINAL):
            raise model_error(fault_of_event(_error_of(event)))
        if kind in _TERMINAL:
            self._finish(_TERMINAL[kind], as_object(event.get("response"), "the response"))
        else:
            self._progress(kind, event)

    def whole(self, body: Mapping[str, Any]) -> None:
        """A plain answer."""
        status = as_text(body.get("status"), "status") or "completed"
        if body.get("error") and status != "failed":
            raise model_error(fault_of_event(body["error"]))
        if "output" not in body and status == "completed":
            raise protocol_error("the answer has no output")
        self._finish(status, body)

    def ended(self) -> None:
        """Only a terminal event ends this wire's turn."""

    def _in_order(self, number: Any) -> None:
        """Sequence numbers, where a server sends them, only grow. A gap is borne (gateways leave events out), but then
        the deltas must equal the final texts."""
        if not isinstance(number, int):
            return
        if self._last_number is not None:
            if number <= self._last_number:
                raise protocol_error("an event came out of order")
            self._lost_events = self._lost_events or number > self._last_number + 1
        self._last_number = number

    def _progress(self, kind: str, event: Mapping[str, Any]) -> None:
        if kind == "response.output_item.added":
            self._begin(as_index(event.get("output_index"), "output_index"), as_object(event.get("item"), "an item"))
        elif kind == "response.output_item.done":
            self._close(as_index(event.get("output_index"), "output_index"), as_object(event.get("item"), "an item"))
        elif kind in _TEXT_EVENTS:
            self._text(kind, event)
        elif kind in _ARGUMENT_EVENTS:
            self._arguments(kind, event)
        elif kind in _REASONING_EVENTS:
            place = self._open_place(event)
            if self.turn.has(place):
                self.turn.reasoning(place, as_text(event.get("delta"), "a delta"))

    def _open_place(self, event: Mapping[str, Any]) -> int:
        place = as_index(event.get("output_index"), "output_index")
        if place in self._done:
            raise protocol_error("a delta came for an item that was done")
        return place

    def _begin(self, place: int, item: Mapping[str, Any]) -> None:
        if place in self._begun:
            raise protocol_error("an item was begun twice")
        self._begun.add(place)
        kind = item.get("type")
        if kind == "function_call":
            self.turn.call(place, as_text(item.get("call_id"), "call_id"), as_text(item.get("name"), "name"))
            self.turn.arguments(place, as_text(item.get("arguments"), "arguments"))
        elif kind != "message":
            self._keep(place, item)

    def _text(self, kind: str, event: Mapping[str, Any]) -> None:
        field, part = _TEXT_EVENTS[kind]
        key = (self._open_place(event), as_index(event.get("content_index", 0), "content_index"))
        text = as_text(event.get(field), field)
        if field == "delta":
            self.turn.text(key, text, part)
        else:
            self.turn.settle(key, text, part, strict=self._lost_events)

    def _arguments(self, kind: str, event: Mapping[str, Any]) -> None:
        field, place = _ARGUMENT_EVENTS[kind], self._open_place(event)
        text = as_text(event.get(field), field)
        if not self.turn.has(place):
            raise protocol_error("arguments came for a call that was not begun")
        if field == "delta":
            self.turn.arguments(place, text)
        else:
            self.turn.settle(place, text, "call")

    def _close(self, place: int, item: Mapping[str, Any]) -> None:
        """The finished item: whatever was not seen of it yet joins the turn now."""
        if place in self._done:
            raise protocol_error("an item was done twice")
        if place not in self._begun:
            self._begin(place, item)
        self._done.add(place)
        kind = item.get("type")
        if kind == "message":
            self._close_message(place, item)
        elif kind == "function_call":
            self.turn.settle(place, as_text(item.get("arguments"), "arguments"), "call")
        else:
            self._keep(place, item)

    def _close_message(self, place: int, item: Mapping[str, Any]) -> None:
        parts = [as_object(part, "a content part") for part in as_list(item.get("content"), "content")]
        for n, part in enumerate(parts):
            found = _MESSAGE_PARTS.get(str(part.get("type")))
            if found is not None:
                field, kind = found
                self.turn.settle((place, n), as_text(part.get(field), field), kind, strict=self._lost_events)

    def _keep(self, place: int, item: Mapping[str, Any]) -> None:
        self.turn.opaque(place, ID, dict(item), reasoning=item.get("type") == "reasoning")

    def _finish(self, status: str, response: Mapping[str, Any]) -> None:
        usage = read_usage(response.get("usage"))
        if status == "failed":
            raise model_error(replace(fault_of_event(response.get("error")), usage=usage))
        if status not in ("completed", "incomplete"):
            raise protocol_error(f"the answer is not finished: its status is {status[:40]!r}")
        for place, item in enumerate(as_list(response.get("output"), "output")):
            if place not in self._done:
                self._close(place, as_object(item, "an item"))
        stop = self._stop(status, response)
        self.turn.end(stop, usage, as_text(response.get("id"), "id"))

    def _stop(self, status: str, response: Mapping[str, Any]) -> StopReason:
        if status == "incomplete":
            details = response.get("incomplete_details")
            reason = details.get("reason") if isinstance(details, dict) else None
            # A reason that is not known still says that the answer was cut.
            return _CUTS.get(str(reason), StopReason.MAX_TOKENS)
        if self.turn.has_calls:
            return StopReason.TOOL_CALLS
        return StopReason.REFUSAL if self.turn.has_refusal else StopReason.END


def _error_of(event: Mapping[str, Any]) -> Any:
    """The error of an `error` event: nested, or flat with `type` being the event's own."""
    return event.get("error") or {key: value for key, value in event.items() if key != "type"}


def read_usage(usage: Any) -> Usage:
    """Token figures of this wire; its totals hold the cached and the reasoning tokens already."""
    if not isinstance(usage, dict):
        return NO_USAGE
    given, made = usage.get("input_tokens_details"), usage.get("output_tokens_details")
    given, made = (detail if isinstance(detail, dict) else {} for detail in (given, made))
    return Usage(
        input_tokens=as_count(usage.get("input_tokens")),
        cached_tokens=as_count(given.get("cached_tokens")),
        cache_write_tokens=as_count(given.get("cache_write_tokens")),
        output_tokens=as_count(usage.get("output_tokens")),
        reasoning_tokens=as_count(made.get("reasoning_tokens")),
    )
