"""Recorded traffic is the truth: what a provider accepted is read and accepted here, what it refused for its
conversation is refused in its own words.

The recordings lie beside the repository (`shared/corpus/open`); where they do not, these promises cannot be shown.
"""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from harness.data_root import data_root
from harness.vocabulary.content import AssistantMessage, ToolResult
from harness.vocabulary.trace import Violation
from harness.wire.codec import UndecodableRequest
from harness.wire.registry import codec

CORPUS = data_root().resolve().parent / "shared" / "corpus" / "open"
FILES = {"openai_chat": "openai-chat", "openai_responses": "openai-responses", "anthropic": "anthropic-messages"}
LEAST = {"openai_chat": 150, "openai_responses": 150, "anthropic": 150}
"""So many accepted requests a file must hold: an empty file shows nothing."""
PREDICTED = {"openai_chat": 14, "openai_responses": 9, "anthropic": 6}
"""So many recorded refusals (status 400) are foretold, word for word."""

pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason=f"no recordings at {Path('../shared/corpus/open')}")


@cache
def exchanges(name: str) -> tuple[dict[str, Any], ...]:
    """The exchanges of the providers themselves that hold a request."""
    lines = (CORPUS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    found = (json.loads(line) for line in lines)
    return tuple(one for one in found if one["request"] is not None and "compat" not in one["tags"])


def accepted(name: str) -> Iterator[dict[str, Any]]:
    return (one for one in exchanges(name) if 200 <= one["status"] < 300)


def judged(transport: str, request: dict[str, Any]) -> list[Violation]:
    wire = codec(transport)
    try:
        return wire.judge(wire.decode(json.dumps(request).encode()).payload)
    except UndecodableRequest as fault:
        return [*wire.judge(request), wire.misshapen(fault)]


@pytest.mark.parametrize("name", FILES)
def test_what_a_provider_accepted_is_accepted(name: str) -> None:
    found = list(accepted(name))
    rejected = [(one["id"], bad[0].rule) for one in found if (bad := judged(FILES[name], one["request"]))]
    assert rejected == []
    assert len(found) >= LEAST[name]


@pytest.mark.parametrize("name", FILES)
def test_recorded_refusals_are_foretold_in_the_providers_words(name: str) -> None:
    hits = 0
    for one in exchanges(name):
        if one["status"] == 400:
            found = judged(FILES[name], one["request"])
            error = one["response"]["error"]
            hits += bool(found) and found[0].message == error["message"]
            if found and "error_body_reconstructed" not in one["tags"]:
                assert (found[0].status, found[0].error_type) == (400, error["type"])
                assert (found[0].param, found[0].code) == (error.get("param"), error.get("code"))
    assert hits >= PREDICTED[name]


@pytest.mark.parametrize("name", FILES)
def test_every_recorded_call_and_result_is_read(name: str) -> None:
    """As many calls and results come out of a request as stand in it."""
    for one in accepted(name):
        request = codec(FILES[name]).decode(json.dumps(one["request"]).encode()).request
        turns = [item for item in request.items if isinstance(item, AssistantMessage)]
        calls = sum(len(turn.calls) for turn in turns)
        results = sum(isinstance(item, ToolResult) for item in request.items)
        assert (calls, results) == written(FILES[name], one["request"]), one["id"]


def written(transport: str, payload: dict[str, Any]) -> tuple[int, int]:
    """How many client calls and results stand in a payload, counted on its JSON."""
    if transport == "openai-responses":
        kinds = [item.get("type") for item in payload["input"]] if isinstance(payload["input"], list) else []
        return kinds.count("function_call"), kinds.count("function_call_output")
    if transport == "anthropic-messages":
        contents = [one["content"] for one in payload["messages"] if isinstance(one["content"], list)]
        kinds = [block["type"] for content in contents for block in content]
        return kinds.count("tool_use"), kinds.count("tool_result")
    messages = payload["messages"]
    calls = sum(len(one.get("tool_calls") or []) + (one.get("function_call") is not None) for one in messages)
    return calls, sum(one["role"] in ("tool", "function") for one in messages)
