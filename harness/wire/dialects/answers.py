"""Chat answers in a server's own ways: what the provider's encoder wrote, changed. Pure; order of keys is kept."""

import json
from collections.abc import Iterable
from typing import Any

from harness.wire.dialects.model import Answers
from harness.wire.events import dump, event

_DATA = b"data: "
_DONE = b"[DONE]"


def whole_of(answer: bytes, ways: Answers) -> bytes:
    """A whole answer."""
    if ways == Answers():
        return answer
    body = json.loads(answer)
    if ways.usage == "absent":
        body.pop("usage", None)
    for choice in body["choices"]:
        message = choice["message"]
        if ways.reasoning_content is not None:
            message["reasoning_content"] = ways.reasoning_content
        if ways.empty_content and message.get("content") is None:
            message["content"] = ""
        _finish(choice, bool(message.get("tool_calls")), ways)
        for call in message.get("tool_calls", ()):
            _identify(call, ways)
    return dump(body)


def chunks_of(events: Iterable[bytes], ways: Answers) -> list[bytes]:
    """A streamed answer."""
    events = list(events)
    if ways == Answers():
        return events
    chunks = [json.loads(data) for one in events if (data := one.removeprefix(_DATA).strip()) != _DONE]
    if ways.usage == "absent":
        chunks = [_without(chunk, "usage") for chunk in chunks if chunk["choices"]]
    calls = any(choice["delta"].get("tool_calls") for chunk in chunks for choice in chunk["choices"])
    if ways.call_index != "counted":
        chunks = _whole_calls(chunks)
    for chunk in chunks:
        for choice in chunk["choices"]:
            _finish(choice, calls, ways)
            _open(choice["delta"], ways)
            for call in choice["delta"].get("tool_calls", ()):
                _identify(call, ways)
                if ways.call_index == "zero":
                    call["index"] = 0
                elif ways.call_index == "absent":
                    del call["index"]
    return [*map(event, _thought(chunks, ways)), *([_DATA + _DONE + b"\n\n"] if ways.done else ())]


def _without(body: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name != key}


def _finish(choice: dict[str, Any], calls: bool, ways: Answers) -> None:
    if calls and choice.get("finish_reason") == "tool_calls":
        choice["finish_reason"] = ways.finish_with_calls


def _open(delta: dict[str, Any], ways: Answers) -> None:
    if ways.empty_content and "role" in delta and delta.get("content") is None:
        delta["content"] = ""


def _identify(call: dict[str, Any], ways: Answers) -> None:
    """Take the id off a call, or empty it; later fragments of a call have none anyway."""
    if ways.call_ids == "absent":
        call.pop("id", None)
    elif ways.call_ids == "empty" and "id" in call:
        call["id"] = ""


def _whole_calls(chunks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The chunks with the fragments of each call put together where it begins: without a counted index nothing else
    tells whose they are."""
    begun: dict[int, dict[str, Any]] = {}
    kept = []
    for chunk in chunks:
        calls = [call for choice in chunk["choices"] for call in choice["delta"].get("tool_calls", ())]
        for call in calls:
            first = begun.setdefault(call["index"], call)
            if first is not call:
                first["function"]["arguments"] += call["function"].get("arguments", "")
        if not calls or any(begun[call["index"]] is call for call in calls):
            kept.append(chunk)
    return kept


def _thought(chunks: list[dict[str, Any]], ways: Answers) -> Iterable[dict[str, Any]]:
    """The chunks, the reasoning text in one of its own after the first."""
    for place, chunk in enumerate(chunks):
        yield chunk
        if place == 0 and ways.reasoning_content is not None and chunk["choices"]:
            delta = {"content": None, "reasoning_content": ways.reasoning_content}
            yield chunk | {"choices": [chunk["choices"][0] | {"delta": delta, "finish_reason": None}]}
