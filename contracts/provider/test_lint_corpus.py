"""Recorded traffic as a whole: nearly all of it is read and survives the way back; every exception has its reason."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

from harness.data_root import data_root
from harness.recording.captures import read_captures
from harness.recording.exchange import Body, Exchange, compact
from harness.recording.lint import LintResult, lint

CORPUS = data_root().resolve().parent / "shared" / "corpus" / "open"
UNREADABLE = {
    "86b82b70-4417a554-00": "the stream ends with an error event: the token limit was reached",
    "d7bd4a95-4631e6d7-00": "an error inside a 200 answer: the server refused the model's tool call",
    "d7bd4a95-ca44dd7c-00": "an error inside a 200 answer: the server behind a router failed",
    "bbda07d3-34976b4d-00": "the stream ends with response.failed: the account's quota",
    "cf043903-9e3a6ad9-00": "a background response that is still queued: there is no turn yet",
}
"""The answers that hold no turn, and what they hold instead."""

pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason=f"no recordings at {Path('../shared/corpus/open')}")


@cache
def linted() -> LintResult:
    captures = read_captures([CORPUS])
    assert captures.broken == []
    return lint(captures.exchanges)


def test_every_answer_that_holds_a_turn_is_read_and_survives_the_way_back() -> None:
    found = {one.id for one in linted().findings if one.kind in ("unparsed", "round_trip_failed")}
    assert found == set(UNREADABLE)
    assert linted().total["answered"] >= 700
    assert linted().share >= 98


def test_nothing_that_a_provider_accepted_is_rejected() -> None:
    assert [one for one in linted().findings if one.kind == "recorded_ok_rejected"] == []
    assert linted().total["accepted"] >= 700


JUNK: tuple[Any, ...] = (None, True, 0, -1, 1.5, "", "x", "\ud800", [], {}, [None], {"type": None}, [[]])


def _bent(value: Any, chance: Random) -> Any:
    """A JSON value with junk in one place of it."""
    if isinstance(value, dict | list) and value and chance.random() < 0.9:
        copy = value.copy()
        key = chance.choice(list(copy)) if isinstance(copy, dict) else chance.randrange(len(copy))
        copy[key] = _bent(copy[key], chance)
        return copy
    return chance.choice(JUNK)


def _odd(exchange: Exchange, chance: Random) -> Exchange:
    """The exchange with junk somewhere in its request, or in its answer or one event of it."""
    if exchange.request is not None and chance.random() < 0.5:
        return replace(exchange, request=compact(_bent(json.loads(exchange.request), chance)))
    body = exchange.response
    if body is None or body.kind == "text":
        return exchange
    if body.kind == "json":
        return replace(exchange, response=Body("json", compact(_bent(body.json, chance))))
    lines = body.data.split(b"\n")
    place = chance.choice([i for i, line in enumerate(lines) if line.startswith(b"data: {")])
    lines[place] = b"data: " + compact(_bent(json.loads(lines[place][6:]), chance))
    return replace(exchange, response=Body("sse", b"\n".join(lines)))


def test_no_exchange_bent_in_one_place_breaks_the_judge() -> None:
    chance = Random(1)
    recorded = read_captures([CORPUS]).exchanges
    result = lint(_odd(chance.choice(recorded), chance) for _ in range(3000))
    assert [(one.id, repr(error)) for one, error in result.faults] == []
    assert result.total["rejected"] > 100
    assert result.total["unparsed"] > 10
