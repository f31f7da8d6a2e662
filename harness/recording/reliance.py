"""Which parts of an answer the parsers rely on, found by taking each away: the turn that is read is then another one,
or none.

Only what the samples show can be found so; that a parser looks at a place and would do as well without it does not
count.
"""

import json
from collections.abc import Iterator
from typing import Any

from harness.contract.sample_requests import ORDINARY
from harness.recording.drift_sides import answers
from harness.recording.shapes import escaped
from harness.transports.registry import adapter
from harness.vocabulary.stream import StreamFailed, TurnEnded
from harness.vocabulary.turn import ModelError
from harness.wire.schema import Part

_TAGS = ("type", "role")


def relied_on(transport: str, part: Part, places: frozenset[str]) -> frozenset[str]:
    """Those of the places of sample answers that the transport's parser cannot do without. Of a request all are: what
    is sent is meant."""
    if part == "request":
        return places
    samples = list(answers(transport, part))
    whole = [_read(transport, part, documents) for documents in samples]
    found = set[str]()
    for place in places - {""}:
        steps = _steps(place)
        for documents, expected in zip(samples, whole, strict=True):
            less = [document for one in documents if (document := _without(one, steps)) is not _GONE]
            if less != documents and _read(transport, part, less) != expected:
                found.add(place)
                break
    return frozenset(found)


_GONE = object()


def _steps(place: str) -> list[str]:
    """`/a/*{b}/c` -> a, *, {b}, c."""
    marked = place.replace("{", "/{") if place.startswith("/") else place.replace("{", "/{")[1:] if place else ""
    return [step for step in marked.split("/") if step]


def _without(value: Any, steps: list[str]) -> Any:
    """The value without what stands at the steps; itself where nothing stands there, `_GONE` if it is all of it."""
    if not steps:
        return _GONE
    step, rest = steps[0], steps[1:]
    if step.startswith("{"):
        meant = isinstance(value, dict) and step[1:-1] in (value.get(key) for key in _TAGS)
        return _without(value, rest) if meant else value
    if isinstance(value, list) and step == "*":
        return [left for one in value if (left := _without(one, rest)) is not _GONE]
    if not isinstance(value, dict):
        return value
    kept = {}
    for name, inner in value.items():
        left = _without(inner, rest) if step in ("*", escaped(name)) else inner
        if left is not _GONE:
            kept[name] = left
    return kept


def _read(transport: str, part: Part, documents: list[Any]) -> object:
    """The turn, or the kind of fault there is instead."""
    wire = adapter(transport)
    if part == "answer":
        if not documents:
            return None
        try:
            return wire.parse_response(json.dumps(documents[0]).encode(), ORDINARY)
        except ModelError as error:
            return error.fault.kind
    parser = wire.stream_parser(ORDINARY)
    body = b"".join(_sent(documents))
    last = [*parser.feed(body), *parser.close()][-1]
    if isinstance(last, TurnEnded):
        return last.turn
    return last.fault.kind if isinstance(last, StreamFailed) else None


def _sent(documents: list[Any]) -> Iterator[bytes]:
    for one in documents:
        name = f"event: {one['type']}\n" if isinstance(one.get("type"), str) else ""
        yield f"{name}data: {json.dumps(one)}\n\n".encode()
    yield b"data: [DONE]\n\n"
