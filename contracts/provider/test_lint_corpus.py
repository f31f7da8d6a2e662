"""Recorded traffic as a whole: nearly all of it is read and survives the way back; every exception has its reason."""

from functools import cache
from pathlib import Path

import pytest

from harness.data_root import data_root
from harness.recording.captures import read_captures
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
