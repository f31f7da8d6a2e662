"""Call ids that a client leaves out of a Chat request, as lenient servers read it: results answer calls in order."""

from typing import Any

from harness.vocabulary.content import JsonObject
from harness.wire.reading import objects


def with_ids(payload: JsonObject) -> JsonObject:
    """The payload with an id for each call and each tool message that has none. The argument is left as it is."""
    messages = payload.get("messages")
    if not isinstance(messages, list):
        return payload
    waiting: list[str] = []
    filled: list[Any] = []
    for i, message in enumerate(messages):
        if isinstance(message, dict) and message.get("role") == "tool":
            message = _answering(message, waiting)
        elif isinstance(message, dict) and isinstance(message.get("tool_calls"), list):
            message = message | {
                "tool_calls": [_named(call, f"call_{i}_{j}") for j, call in _all(message["tool_calls"])]
            }
            waiting = [call["id"] for _, call in objects(message["tool_calls"]) if isinstance(call.get("id"), str)]
        filled.append(message)
    return {**payload, "messages": filled}


def _all(calls: list[Any]) -> list[tuple[int, Any]]:
    return list(enumerate(calls))


def _named(call: Any, name: str) -> Any:
    return call | {"id": name} if isinstance(call, dict) and not call.get("id") else call


def _answering(message: dict[str, Any], waiting: list[str]) -> dict[str, Any]:
    """A tool message with its id; the calls that still wait get shorter by one."""
    given = message.get("tool_call_id")
    if given in waiting:
        waiting.remove(given)
    elif not given and waiting:
        return message | {"tool_call_id": waiting.pop(0)}
    return message
