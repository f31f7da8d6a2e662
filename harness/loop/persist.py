"""States as JSON: a small head, and append-only parts (conversation items, ledger records) that are written once.

What can be computed again is not stored: counters come from the ledger, excerpts and used ids from the items.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from decimal import Decimal
from typing import Any

from harness.loop.budgets import Spent
from harness.loop.excerpt import excerpt_batch
from harness.loop.history import History
from harness.loop.instructions import CONTROLS
from harness.loop.settle import account
from harness.loop.state import LoopState, Pause, Phase, Slot, SlotState, new_state
from harness.loop.task import Task
from harness.vocabulary.content import (
    AssistantMessage,
    Image,
    Item,
    Opaque,
    Refusal,
    SystemMessage,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
)
from harness.vocabulary.outcome import Counters, RunOutcome, Status
from harness.vocabulary.tools import CallRecord, OutcomeClass
from harness.vocabulary.usage import Usage

_PARTS: dict[str, type] = {kind.__name__: kind for kind in (Text, Refusal, Image, Opaque, ToolCall)}
_ITEMS: dict[str, type] = {kind.__name__: kind for kind in (UserMessage, AssistantMessage, SystemMessage, ToolResult)}
_SLOT = ("signature", "outcome_hash", "counts", "denied", "latency_ms", "marked")
_FLAT = ("step", "attempt", "seen", "truncated_last", "rebuilt")
_WATERMARKS = ("elided_through", "unbound_from", "unbound_through")


def dump_item(item: Item) -> str:
    """One conversation item as JSON text."""
    body = {field.name: getattr(item, field.name) for field in fields(item)}
    if "content" in body:
        body["content"] = [_dump_part(part) for part in body["content"]]
    return json.dumps({"kind": type(item).__name__, **body}, ensure_ascii=False)


def load_item(text: str) -> Item:
    """The item that `dump_item` wrote."""
    body = json.loads(text)
    kind = _ITEMS[body.pop("kind")]
    if "content" in body:
        body["content"] = tuple(_load_part(part) for part in body["content"])
    item: Item = kind(**body)
    return item


def dump_record(record: CallRecord) -> str:
    """One ledger record as JSON text."""
    return json.dumps({**record._asdict(), "extra": dict(record.extra)}, ensure_ascii=False)


def load_record(text: str) -> CallRecord:
    """The record that `dump_record` wrote."""
    body = json.loads(text)
    outcome = body.pop("outcome")
    return CallRecord(outcome=OutcomeClass(outcome) if outcome else None, **body)


def dump_head(state: LoopState) -> str:
    """Everything of a state but its items and records."""
    head: dict[str, Any] = {name: getattr(state, name) for name in _FLAT}
    head |= {name: getattr(state.history, name) for name in (*_WATERMARKS, "shown_bytes")}
    head["phase"] = state.phase.value
    head["causes"] = list(state.causes)
    head["pause"] = state.pause
    head["mode"] = state.mode.name if state.mode else None
    head["paused"] = dump_item(state.paused) if state.paused else None
    head["spent"] = {**state.spent._asdict(), "cost": str(state.spent.cost), "usage": asdict(state.spent.usage)}
    head["effects"] = dict(state.effects)
    head["slots"] = [_dump_slot(slot) for slot in state.slots]
    head["outcome"] = _dump_outcome(state.outcome) if state.outcome else None
    return json.dumps(head, ensure_ascii=False)


def load_state(task: Task, head_text: str, items: Sequence[Item], records: Sequence[CallRecord]) -> LoopState:
    """The state of `task` from its stored parts."""
    head = json.loads(head_text)
    state = new_state(task)
    for record in records:
        state = account(state, record)
    history = replace(_history(state, items), **{name: head[name] for name in (*_WATERMARKS, "shown_bytes")})
    calls = [call for item in items if isinstance(item, AssistantMessage) for call in item.calls]
    state = state._replace(
        history=history,
        phase=Phase(head["phase"]),
        causes=tuple(head["causes"]),
        pause=Pause(*head["pause"]) if head["pause"] else None,
        mode=CONTROLS[head["mode"]] if head["mode"] else None,
        paused=_load_paused(head["paused"]),
        spent=_load_spent(head["spent"]),
        effects=state.effects.update(head["effects"]),
        used_ids=state.used_ids.update({call.call_id: True for call in calls}),
        slots=tuple(_load_slot(slot) for slot in head["slots"]),
        **{name: head[name] for name in _FLAT},
    )
    return state._replace(outcome=_load_outcome(state, head["outcome"]) if head["outcome"] else None)


def _load_paused(text: str | None) -> AssistantMessage | None:
    item = load_item(text) if text else None
    return item if isinstance(item, AssistantMessage) else None


def _dump_part(part: Any) -> dict[str, Any]:
    return {"part": type(part).__name__, **{field.name: getattr(part, field.name) for field in fields(part)}}


def _load_part(body: dict[str, Any]) -> Any:
    return _PARTS[body.pop("part")](**body)


def _dump_slot(slot: Slot) -> dict[str, Any]:
    body = {name: getattr(slot, name) for name in _SLOT}
    body |= {"state": slot.state.value, "outcome": slot.outcome, "call": _dump_part(slot.call)}
    return {**body, "result": dump_item(slot.result) if slot.result else None}


def _load_slot(body: dict[str, Any]) -> Slot:
    result = load_item(body["result"]) if body["result"] else None
    outcome = OutcomeClass(body["outcome"]) if body["outcome"] else None
    parsed = {"state": SlotState(body["state"]), "outcome": outcome, "result": result, "call": _load_part(body["call"])}
    return Slot(**{**body, **parsed})


def _load_spent(body: dict[str, Any]) -> Spent:
    return Spent(**{**body, "cost": Decimal(body["cost"]), "usage": Usage(**body["usage"])})


def _dump_outcome(outcome: RunOutcome) -> dict[str, Any]:
    names = ("message", "truncated", "refused", "reason", "error_class", "waiting_for")
    body = {name: getattr(outcome, name) for name in names}
    counted = {**asdict(outcome.counters), "cost": str(outcome.counters.cost)}
    return {**body, "status": outcome.status.value, "details": dict(outcome.details), "counters": counted}


def _load_outcome(state: LoopState, body: Mapping[str, Any]) -> RunOutcome:
    counted = {**body["counters"], "cost": Decimal(body["counters"]["cost"])}
    parsed = {
        "status": Status(body["status"]),
        "waiting_for": tuple(body["waiting_for"]),
        "counters": Counters(**counted),
        "conversation": state.conversation,
        "usage": state.spent.usage,
        "effects": dict(state.effects),
    }
    return RunOutcome(**{**body, **parsed})


def _history(state: LoopState, items: Sequence[Item]) -> History:
    """The items with the excerpts that the run gave them: what stood before the run is shown as it is."""
    settings = state.task.settings
    given = len(state.task.history) + 1
    history = state.history.append(items[:given])
    batch: list[ToolResult] = []
    for item in [*items[given:], None]:
        if isinstance(item, ToolResult):
            batch.append(item)
            continue
        if batch:
            history = history.append(batch, excerpt_batch(batch, settings.max_result_bytes, settings.max_batch_bytes))
            batch = []
        if item is not None:
            history = history.append([item])
    return history
