"""Recorded traffic is the truth: what a server accepted is accepted in its dialect, what it refused for its
conversation or its schemas is refused by the same rule, in the provider's own words.

The exchanges of one cassette are successive: what the provider answered before is known to the judge. The recordings
lie beside the repository (`shared/corpus/open`); where they do not, these promises cannot be shown.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from harness.data_root import data_root
from harness.vocabulary.content import AssistantMessage, ToolResult
from harness.vocabulary.trace import Violation
from harness.wire.codec import Circumstances, Issued, UndecodableRequest
from harness.wire.dialects import codec_of, of_host
from harness.wire.registry import codec

CORPUS = data_root().resolve().parent / "shared" / "corpus" / "open"
FILES = {"openai_chat": "openai-chat", "openai_responses": "openai-responses", "anthropic": "anthropic-messages"}
LEAST = {"openai_chat": 250, "openai_responses": 270, "anthropic": 210}
"""So many accepted requests a file must hold: an empty file shows nothing."""
FORETOLD = {"openai_chat": 22, "openai_responses": 10, "anthropic": 12}
"""So many recorded refusals are foretold."""
NOT_SEEN_FROM_HERE = {
    "the account": r"api-?.?key|authenticat|credit|quota|subscription|invalid token",
    "the model's name": r"does not exist|deprecated|supported api model names|invalid model|^model: |not a chat model"
    r"|not allowed to sample|model not found|resource not found|endpoints found",
    "the size of the input": r"context window|context length|messages is too long",
    "what an image holds": r"unsupported image|error while downloading",
    "the tokens of the output": r"output limit was reached",
    "what the model wrote": r"tool call validation failed",
    "the server behind a gateway": r"provider returned error|invalid input error",
    "the load": r"rate limit",
}
"""Refusals that a look at the request cannot foretell, by their texts."""
OTHER_WORDS = {
    "unknown variant `image_url`": "text-parts-only",
    "unknown variant `input_audio`": "text-parts-only",
}
"""Refusals foretold by the rule, though their texts count lines and columns."""

pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason=f"no recordings at {Path('../shared/corpus/open')}")


@cache
def exchanges(name: str) -> tuple[dict[str, Any], ...]:
    """The exchanges that hold a request."""
    lines = (CORPUS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(one for one in map(json.loads, lines) if one["request"] is not None)


@cache
def issued(name: str) -> dict[str, tuple[Issued, ...]]:
    """For each exchange the answers that its cassette holds before it."""
    found: dict[str, tuple[Issued, ...]] = {}
    earlier: dict[str, list[Issued]] = {}
    for one in sorted(exchanges(name), key=lambda one: (cassette(one), int(one["id"].rpartition("-")[2]))):
        before = earlier.setdefault(cassette(one), [])
        found[one["id"]] = tuple(before)
        answer = answered(one)
        if answer is not None:
            before.append(Issued(one["request"], answer))
    return found


def cassette(one: dict[str, Any]) -> str:
    return str(one["id"].rpartition("-")[0])


def answered(one: dict[str, Any]) -> dict[str, Any] | None:
    """The whole answer, put together where it was streamed."""
    if not 200 <= one["status"] < 300:
        return None
    if one["response_sse"] is None:
        return one["response"] if isinstance(one["response"], dict) else None
    datas = (
        line.removeprefix("data:").strip() for line in one["response_sse"].splitlines() if line.startswith("data:")
    )
    events = [json.loads(data) for data in datas if data.startswith("{")]
    whole = next((event["response"] for event in reversed(events) if event.get("type") == "response.completed"), None)
    return whole or {"content": blocks(events)}


def blocks(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The blocks of a Messages stream; arguments of calls are left as they begin."""
    found: dict[int, dict[str, Any]] = {}
    for event in events:
        if event.get("type") == "content_block_start":
            found[event["index"]] = dict(event["content_block"])
        for key in ("thinking", "signature"):
            if event.get("type") == "content_block_delta" and key in event["delta"]:
                block = found[event["index"]]
                block[key] = block.get(key, "") + event["delta"][key]
    return [found[index] for index in sorted(found)]


def accepted(name: str) -> Iterator[dict[str, Any]]:
    return (one for one in exchanges(name) if 200 <= one["status"] < 300)


def judged(name: str, one: dict[str, Any]) -> list[Violation]:
    """What the judge says in the dialect of the host."""
    dialect = of_host(one["provider_host"])
    assert dialect is not None, f"no dialect has the host {one['provider_host']}"
    wire = codec_of(dialect, FILES[name])
    circumstances = Circumstances(issued=issued(name)[one["id"]])
    try:
        return wire.judge(wire.decode(json.dumps(one["request"]).encode()).payload, circumstances)
    except UndecodableRequest as fault:
        return [*wire.judge(one["request"], circumstances), wire.misshapen(fault)]


def error_of(one: dict[str, Any]) -> dict[str, Any]:
    """The error object of an answer; servers that give another shape have their text in `message`."""
    body = one["response"] if isinstance(one["response"], dict) else {}
    error = body.get("error", body)
    return error if isinstance(error, dict) else {"message": error}


def message_of(one: dict[str, Any]) -> str:
    error = error_of(one)
    return str(error.get("message") or error.get("detail") or one["response"])


def seen_from_here(one: dict[str, Any]) -> bool:
    said = message_of(one).lower()
    return not any(re.search(pattern, said) for pattern in NOT_SEEN_FROM_HERE.values())


@pytest.mark.parametrize("name", FILES)
def test_what_a_server_accepted_is_accepted_in_its_dialect(name: str) -> None:
    found = list(accepted(name))
    rejected = [(one["id"], bad[0].rule) for one in found if (bad := judged(name, one))]
    assert rejected == []
    assert len(found) >= LEAST[name]


@pytest.mark.parametrize("name", FILES)
def test_every_refusal_for_the_conversation_or_a_schema_is_foretold_in_the_servers_words(name: str) -> None:
    refused = [one for one in exchanges(name) if 400 <= one["status"] < 500 and seen_from_here(one)]
    for one in refused:
        found, said = judged(name, one), message_of(one)
        assert found, f"{one['id']} is taken, but was answered {one['status']}: {said}"
        other = next((slug for words, slug in OTHER_WORDS.items() if words in said), None)
        if other is not None:
            assert found[0].rule.endswith(f".{other}")
            continue
        assert (found[0].message, found[0].status) == (said, one["status"]), one["id"]
        if "compat" not in one["tags"] and "error_body_reconstructed" not in one["tags"]:
            error = error_of(one)
            assert found[0].error_type == error["type"]
            assert (found[0].param, found[0].code) == (error.get("param"), error.get("code"))
    assert len(refused) >= FORETOLD[name]


@pytest.mark.parametrize("name", FILES)
def test_a_refusal_that_no_request_can_foretell_is_not_foretold(name: str) -> None:
    """Or the judge finds faults at random: a request with a wrong key or an unknown model is itself legal."""
    unforeseen = [one for one in exchanges(name) if 400 <= one["status"] < 500 and not seen_from_here(one)]
    assert [(one["id"], bad[0].rule) for one in unforeseen if (bad := judged(name, one))] == []


@pytest.mark.parametrize("name", FILES)
def test_every_recorded_call_and_result_is_read(name: str) -> None:
    """As many calls and results come out of a request as stand in it."""
    for one in accepted(name):
        if "compat" in one["tags"]:
            continue
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
