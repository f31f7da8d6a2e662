"""The documents of each side: what is rendered and encoded here for the contract's samples, and what was recorded.

The samples are those that every adapter is shown (`contract.sample_requests`, `contract.sample_turns`): what they hold
is what the project is known to send and to read.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from harness.contract.sample_requests import SAMPLES
from harness.contract.sample_turns import TURNS
from harness.recording.exchange import Exchange
from harness.transports.registry import adapter
from harness.wire.codec import UnencodableTurn
from harness.wire.registry import codec
from harness.wire.schema import Part
from harness.wire.sse import framed

_MODEL = "sim-model"
_DONE = "[DONE]"


def written(transport: str, part: Part) -> Iterator[Any]:
    """The documents that this project writes for its samples."""
    if part == "request":
        for request in SAMPLES.values():
            for stream in (False, True):
                yield json.loads(adapter(transport).render(request, stream=stream))
    else:
        for documents in answers(transport, part):
            yield from documents


def answers(transport: str, part: Part) -> Iterator[list[Any]]:
    """The sample turns as answers: each the documents of one answer (one, or a stream's events)."""
    wire = codec(transport)
    for turn in TURNS.values():
        try:
            if part == "stream":
                yield list(events(b"".join(wire.stream(turn, model=_MODEL, n=1))))
            else:
                yield [json.loads(wire.response(turn, model=_MODEL, n=1))]
        except UnencodableTurn:
            continue


def taken(exchanges: Iterable[Exchange]) -> list[Exchange]:
    """The exchanges that were answered 2xx, or whose status is not known: a refusal says nothing of shapes."""
    return [one for one in exchanges if one.status is None or 200 <= one.status < 300]


def heard(exchanges: Iterable[Exchange], transport: str, part: Part) -> Iterator[tuple[Any, str]]:
    """The documents of a transport's recorded exchanges, each with its place for a person."""
    for exchange in exchanges:
        if exchange.transport == transport:
            yield from ((document, exchange.place) for document in _documents(exchange, part))


def _documents(exchange: Exchange, part: Part) -> Iterator[Any]:
    if part == "request":
        yield from _parsed(exchange.request or b"")
    elif exchange.response is not None and exchange.response.kind == "sse" and part == "stream":
        yield from events(exchange.response.data)
    elif exchange.response is not None and exchange.response.kind == "json" and part == "answer":
        yield from _parsed(exchange.response.data)


def events(body: bytes) -> Iterator[Any]:
    """The events' data, parsed; what is no JSON object is left out (`harness lint` judges that)."""
    for event in framed(body).events:
        if event.data.strip() != _DONE:
            yield from _parsed(event.data)


def _parsed(text: bytes | str) -> Iterator[Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return
    if isinstance(value, dict):
        yield value
