"""A trace without its wire: plain nested values that are equal over depths, transports and streaming modes.

Call ids are numbered by their first appearance, arguments are canonical JSON, provider reasoning is left out (each
provider has its own). A reply has no ids: on the XML fallback those of the script never reach the subject. A whole
Anthropic answer holds arguments as an object, so that text which is none becomes {} there: `objects` reads both so.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import Any

from harness.checks.canonical import Undecodable, decode
from harness.checks.canonical import canonical as canonical_text
from harness.vocabulary.content import AssistantMessage, Item, Opaque, SystemMessage, ToolCall, ToolResult
from harness.vocabulary.outcome import RunOutcome
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.trace import (
    ApprovalAsked,
    CheckpointWritten,
    EffectMarked,
    EventEmitted,
    Intervened,
    Record,
    ReplySent,
    RequestSent,
    RunEnded,
    ScriptFault,
    ToolEnded,
    ToolStarted,
    Waited,
)
from harness.vocabulary.turn import ModelFault

Entry = tuple[str, Any]
"""The kind of a record, and what it says."""


def neutral(trace: Sequence[Record], *, objects: bool = False) -> list[Entry]:
    """The neutral trace; `RunStarted`, which names the transport, is left out."""
    return _Reader("{}" if objects else None).read(trace)


class _Reader:
    def __init__(self, undecodable: str | None) -> None:
        self._undecodable = undecodable
        self._ids: dict[str, str] = {}
        self._items: dict[int, tuple[Item, Any]] = {}
        self._kinds: dict[type, Callable[[Any], Entry]] = {
            RequestSent: lambda one: ("request", self._request(one.request if one.built is None else one.built)),
            ReplySent: lambda one: ("reply", self._reply(one)),
            ToolStarted: lambda one: ("tool run", [self._id(one.call_id), one.tool, self._arguments(one.arguments)]),
            ToolEnded: lambda one: ("tool outcome", [self._id(one.call_id), one.tool, plain(one.outcome)]),
            EffectMarked: lambda one: ("effect mark", self._id(one.call_id)),
            CheckpointWritten: lambda one: ("checkpoint", {"trigger": one.trigger, "pending": self._all(one.pending)}),
            EventEmitted: lambda one: ("event", {one.name: self._fields(one.fields)}),
            Waited: lambda one: ("wait", round(one.seconds, 6)),
            ApprovalAsked: lambda one: ("approval", [self._id(one.call_id), one.tool]),
            Intervened: lambda one: (
                "intervention",
                [one.do, one.call_id and self._id(one.call_id), plain(one.details)],
            ),
            RunEnded: lambda one: ("outcome", self._outcome(one.outcome)),
            ScriptFault: lambda one: ("script fault", one.rule),
        }

    def read(self, trace: Sequence[Record]) -> list[Entry]:
        return [self._kinds[type(record)](record) for record in trace if type(record) in self._kinds]

    def _id(self, call_id: str) -> str:
        return self._ids.setdefault(call_id, f"#{len(self._ids) + 1}")

    def _all(self, ids: Sequence[str]) -> list[str]:
        return [self._id(call_id) for call_id in ids]

    def _fields(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        made = {key: plain(value) for key, value in fields.items()}
        if isinstance(made.get("call_id"), str):
            made["call_id"] = self._id(made["call_id"])
        if "waiting_for" in made:
            made["waiting_for"] = self._all(made["waiting_for"])
        return made

    def _request(self, request: ModelRequest) -> dict[str, Any]:
        return {
            "model": request.model,
            "system": request.system,
            "tools": [plain(tool) for tool in request.tools],
            "items": [self._item(item) for item in request.items],
            "control": request.control and request.control.text,
            "tool_choice": request.tool_choice,
            "paused": request.paused and self._item(request.paused),
            "max_output_tokens": request.max_output_tokens,
            "reasoning": request.reasoning,
        }

    def _item(self, item: Item) -> Any:
        """Items are shared between requests: each is read once. The item is kept, so that its address stays its own."""
        known = self._items.get(id(item))
        if known is None:
            known = self._items[id(item)] = (item, self._read_item(item))
        return known[1]

    def _read_item(self, item: Item) -> dict[str, Any]:
        if isinstance(item, SystemMessage):
            return {"system": item.text}
        if isinstance(item, AssistantMessage):
            return {"assistant": [self._part(part) for part in item.content if not isinstance(part, Opaque)]}
        parts = [self._part(part) for part in item.content if not isinstance(part, Opaque)]
        if not isinstance(item, ToolResult):
            return {"user": parts}
        call = self._id(item.call_id)
        for part in parts:
            if "elided" in part.get("text", ""):
                part["text"] = part["text"].replace(item.call_id, call)
        return {"result": parts, "call": call, "tool": item.tool, "error": item.is_error, "code": item.reason_code}

    def _part(self, part: Any) -> dict[str, Any]:
        if isinstance(part, ToolCall):
            return {"call": self._id(part.call_id), "tool": part.name, "arguments": self._arguments(part.arguments)}
        return {"kind": type(part).__name__, **asdict(part)}

    def _arguments(self, text: str) -> str:
        return canonical(text, self._undecodable)

    def _reply(self, sent: ReplySent) -> dict[str, Any]:
        reply = sent.reply
        if isinstance(reply, ModelFault):
            return {"fault": reply.kind.value, "status": reply.status, "retry_after": reply.retry_after}
        parts = [self._reply_part(part) for part in reply.message.content if not isinstance(part, Opaque)]
        return {"turn": parts, "stop": reply.stop.value, "usage": plain(reply.usage), "cut": sent.cut}

    def _reply_part(self, part: Any) -> dict[str, Any]:
        if isinstance(part, ToolCall):
            return {"tool": part.name, "arguments": self._arguments(part.arguments)}
        return {"kind": type(part).__name__, **asdict(part)}

    def _outcome(self, outcome: RunOutcome) -> dict[str, Any]:
        flat = ("status", "message", "truncated", "refused", "reason", "error_class")
        made: dict[str, Any] = {name: plain(getattr(outcome, name)) for name in flat}
        made |= {name: plain(getattr(outcome, name)) for name in ("details", "usage", "counters", "effects")}
        made["waiting_for"] = self._all(outcome.waiting_for)
        made["conversation"] = [self._item(item) for item in outcome.conversation]
        return made


def canonical(arguments: str, undecodable: str | None = None) -> str:
    """Argument text in canonical form (the judge's: a key that stands twice does not decode, nor does NaN). Where it
    holds no value, and where `undecodable` is given no object, it is `undecodable`, else the text."""
    try:
        value = decode(arguments)
        if undecodable is None or isinstance(value, dict):
            return canonical_text(value)
    except (Undecodable, RecursionError):
        pass
    return arguments if undecodable is None else undecodable


def plain(value: Any) -> Any:
    """Dataclasses, mappings and sequences as plain dicts and lists; other values as they are."""
    if is_dataclass(value) and not isinstance(value, type):
        return {key: plain(inner) for key, inner in asdict(value).items()}
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return value
