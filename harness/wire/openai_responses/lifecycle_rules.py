"""The rules and tables of a Responses stream's life, as data.

Three tables: the response, each output item by its index, each text of an item (a content part, a summary part, a
call's arguments). Source: API reference, streaming events; recorded streams of 2025 and 2026.
"""

from harness.wire.openai_responses.decode import ID
from harness.wire.stream_rules import Breach, Row, Table, rows

_DOCUMENT = "API reference, Responses streaming events"
RESPONSE: Table = {
    "new": {
        "created": "created",
        "queued": Breach("created-first", "created"),
        "in_progress": Breach("created-first", "running"),
        "item": Breach("created-first", "running"),
        "completed": Breach("created-first", "ended"),
        "incomplete": Breach("created-first", "ended"),
        "failed": Breach("created-first", "ended"),
        "error": "failing",
    },
    "created": {
        "created": Breach("created-first", "created"),
        "queued": "created",
        "in_progress": "running",
        "item": Breach("in-progress", "running"),
        "completed": Breach("in-progress", "ended"),
        "incomplete": Breach("in-progress", "ended"),
        "failed": "ended",
        "error": "failing",
    },
    "running": {
        "created": Breach("created-first", "running"),
        "queued": Breach("in-progress", "running"),
        "in_progress": Breach("in-progress", "running"),
        "item": "running",
        "completed": "ended",
        "incomplete": "ended",
        "failed": "ended",
        "error": "failing",
    },
    "failing": {
        "created": Breach("after-error", "failing"),
        "queued": Breach("after-error", "failing"),
        "in_progress": Breach("after-error", "failing"),
        "item": Breach("after-error", "failing"),
        "completed": Breach("after-error", "ended"),
        "incomplete": Breach("after-error", "ended"),
        "failed": "ended",
        "error": Breach("after-error", "failing"),
    },
    "ended": {
        "created": Breach("after-end", "ended"),
        "queued": Breach("after-end", "ended"),
        "in_progress": Breach("after-end", "ended"),
        "item": Breach("after-end", "ended"),
        "completed": Breach("after-end", "ended"),
        "incomplete": Breach("after-end", "ended"),
        "failed": Breach("after-end", "ended"),
        "error": Breach("after-end", "ended"),
    },
}
ITEM: Table = {
    "absent": {"added": "open", "inner": Breach("item-open", "absent"), "done": Breach("item-added", "done")},
    "open": {"added": Breach("item-once", "open"), "inner": "open", "done": "done"},
    "done": {
        "added": Breach("item-once", "done"),
        "inner": Breach("item-open", "done"),
        "done": Breach("item-once", "done"),
    },
}
PART: Table = {
    "absent": {
        "added": "open",
        "delta": Breach("part-open", "open"),
        "text": Breach("part-open", "said"),
        "done": Breach("part-open", "done"),
    },
    "open": {
        "added": Breach("part-once", "open"),
        "delta": "open",
        "text": "said",
        "done": Breach("text-done", "done"),
    },
    "said": {
        "added": Breach("part-once", "said"),
        "delta": Breach("text-done", "said"),
        "text": Breach("text-done", "said"),
        "done": "done",
    },
    "done": {
        "added": Breach("part-once", "done"),
        "delta": Breach("part-open", "done"),
        "text": Breach("part-open", "done"),
        "done": Breach("part-once", "done"),
    },
}
_TABLE: tuple[Row, ...] = (
    Row(
        "name",
        "The SSE name of each event is its `type`.",
        _DOCUMENT,
        native=True,
        recorded="a compatible server names none (e9d1a782-0c1082d5-05, 2026-08)",
    ),
    Row(
        "no-done-mark",
        "There is no `[DONE]`: the terminal event says it.",
        _DOCUMENT,
        native=True,
        recorded="none in 126 of 128 streams; a compatible server sends it last (e9d1a782-0c1082d5-05, 2026-08)",
    ),
    Row(
        "sequence",
        "sequence_number counts all events from 0 without a gap.",
        _DOCUMENT,
        recorded="two streams of 2025-03-27 have none at all: all events have it, or none",
    ),
    Row("created-first", "response.created comes first and once; only an error may stand in its place.", _DOCUMENT),
    Row(
        "in-progress",
        "response.in_progress comes once, before the first item.",
        _DOCUMENT,
        recorded="directly after response.created in 128 of 128 streams, 2025-06 to 2026-08",
    ),
    Row("begins-empty", "The response begins in progress, with no output, usage or error.", _DOCUMENT),
    Row("identity", "The response's `id`, `model` and `created_at` are the same in all events.", _DOCUMENT),
    Row("item-added", "An item is done only after it was added.", _DOCUMENT),
    Row("item-once", "An item is added once and done once.", _DOCUMENT),
    Row("item-open", "Events of an item come between its added and its done.", _DOCUMENT),
    Row("item-index", "Items are numbered from 0 without a gap, in the order in which they are added.", _DOCUMENT),
    Row(
        "one-item",
        "An item is added when the one before is done.",
        "recorded streams",
        recorded="no two items overlap in any of 128 streams, 2025-06 to 2026-08; the document is silent",
    ),
    Row(
        "item-identity", "`item_id` is the item's id; `type`, `call_id` and `name` stay as they were added.", _DOCUMENT
    ),
    Row("item-kind", "An event is of a kind that its item can have.", _DOCUMENT),
    Row("item-closed", "No item is open when the response completes or is incomplete.", _DOCUMENT),
    Row("part-once", "A part is added once and done once.", _DOCUMENT),
    Row("part-open", "The events of a text come while its part is open.", _DOCUMENT),
    Row("part-closed", "No part of an item is open when the item is done.", _DOCUMENT),
    Row(
        "text-done",
        "A text that was begun has one done event, after its deltas and before its part is done.",
        _DOCUMENT,
    ),
    Row(
        "deltas-done",
        "A text's deltas joined are the text of its done event.",
        _DOCUMENT,
        recorded="all of 201 texts, 2025-06 to 2026-08, but for 3 whose recorder had replaced a name in the done text",
    ),
    Row("done-item", "What a part or an item is done with is what was streamed of it.", _DOCUMENT),
    Row(
        "final-output",
        "The terminal event holds the items that were done, in their order.",
        _DOCUMENT,
        native=True,
        recorded="encrypted_content differs in each event (2025-10 to 2026-08); chatgpt.com sends no output at all "
        "(6788ed78-326c4a0c-00, in 2026)",
    ),
    Row("final-status", "The response's status is the terminal event's name; its reason or error is told.", _DOCUMENT),
    Row("usage-final", "Usage stands in completed and incomplete only, and its total is its sum.", _DOCUMENT),
    Row(
        "error-shape",
        "An error event holds an error's code and message.",
        _DOCUMENT,
        recorded="the document shows it flat; recorded, it is nested under `error` (bbda07d3-34976b4d-00, 2025-11)",
    ),
    Row(
        "after-error",
        "After an error only response.failed may follow.",
        _DOCUMENT,
        recorded="error, then response.failed (bbda07d3-34976b4d-00, 2025-11)",
    ),
    Row("after-end", "Nothing follows the terminal event.", _DOCUMENT),
    Row("end", "The stream ends with response.completed, incomplete or failed, or an error.", _DOCUMENT),
)
RULES = rows(ID, _TABLE)
