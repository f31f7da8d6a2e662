"""Neutral turn -> Responses stream events, in the order and with the fields of recorded streams.

created, in_progress; then for each item: added, its deltas and done events, item done; then completed or incomplete.
`sequence_number` counts all events from 0. There is no `[DONE]` on this wire. An item of the provider that is misshapen
inside goes out as it is, without deltas for what is no text.
"""

from collections.abc import Iterator
from typing import Any

from harness.vocabulary.content import JsonObject
from harness.vocabulary.turn import ModelTurn
from harness.wire.events import event, fragments
from harness.wire.openai_responses import encode
from harness.wire.reading import objects, text_or

Body = dict[str, Any]


def stream(turn: ModelTurn, *, model: str, n: int, payload: JsonObject | None) -> list[bytes]:
    """All events of the answer."""
    output = encode.items(turn, n)
    begun = encode.frame(turn, model=model, n=n, payload=payload)
    ended = encode.finished(turn, output, begun)
    bodies = [("response.created", {"response": begun}), ("response.in_progress", {"response": begun})]
    for index, item in enumerate(output):
        bodies += _item(index, item)
    bodies.append((f"response.{ended['status']}", {"response": ended}))
    return [event({"type": name, **body, "sequence_number": i}, name) for i, (name, body) in enumerate(bodies)]


def _item(index: int, item: Body) -> Iterator[tuple[str, Body]]:
    inner = _INNER.get(text_or(item.get("type")), _nothing)
    yield "response.output_item.added", {"item": _begun(item), "output_index": index}
    place = {"item_id": item.get("id", ""), "output_index": index}
    yield from ((f"response.{name}", body | place) for name, body in inner(item))
    yield "response.output_item.done", {"item": item, "output_index": index}


def _begun(item: Body) -> Body:
    """An item as it is announced: still empty."""
    kind = item.get("type")
    if kind == "message":
        return item | {"status": "in_progress", "content": []}
    if kind == "function_call":
        return item | {"status": "in_progress", "arguments": ""}
    if kind == "reasoning":
        return item | {"summary": []} | ({"content": []} if item.get("content") else {})
    return item


def _nothing(item: Body) -> Iterator[tuple[str, Body]]:
    return iter(())


def _call(item: Body) -> Iterator[tuple[str, Body]]:
    for piece in fragments(item["arguments"]):
        yield "function_call_arguments.delta", {"delta": piece}
    yield "function_call_arguments.done", {"arguments": item["arguments"], "name": item["name"]}


def _message(item: Body) -> Iterator[tuple[str, Body]]:
    for index, part in enumerate(item["content"]):
        said = _refusal(part) if part["type"] == "refusal" else _text(part)
        begun = part | ({"refusal": ""} if part["type"] == "refusal" else {"text": ""})
        yield "content_part.added", {"content_index": index, "part": begun}
        yield from ((name, body | {"content_index": index}) for name, body in said)
        yield "content_part.done", {"content_index": index, "part": part}


def _text(part: Body) -> Iterator[tuple[str, Body]]:
    for piece in fragments(part["text"]):
        yield "output_text.delta", {"delta": piece, "logprobs": []}
    yield "output_text.done", {"text": part["text"], "logprobs": []}


def _refusal(part: Body) -> Iterator[tuple[str, Body]]:
    for piece in fragments(part["refusal"]):
        yield "refusal.delta", {"delta": piece}
    yield "refusal.done", {"refusal": part["refusal"]}


def _reasoning(item: Body) -> Iterator[tuple[str, Body]]:
    for index, part in objects(item.get("summary")):
        yield "reasoning_summary_part.added", {"summary_index": index, "part": part | {"text": ""}}
        yield from _spoken("reasoning_summary_text", {"summary_index": index}, text_or(part.get("text")))
        yield "reasoning_summary_part.done", {"summary_index": index, "part": part}
    for index, part in objects(item.get("content")):
        yield from _spoken("reasoning_text", {"content_index": index}, text_or(part.get("text")))


def _spoken(name: str, place: Body, text: str) -> Iterator[tuple[str, Body]]:
    for piece in fragments(text):
        yield f"{name}.delta", {"delta": piece} | place
    yield f"{name}.done", {"text": text} | place


_INNER = {"function_call": _call, "message": _message, "reasoning": _reasoning}
