"""Cassettes: what was recorded is read the same again, without a provider, and nothing else passes for it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from vcr.errors import CannotOverwriteExistingCassetteException

from harness.contract.carried_turns import carried_turn
from harness.contract.wire_facts import own_secret
from harness.data_root import data_root
from harness.recording.captures import read_captures
from harness.recording.lint import lint
from harness.recording.simulated_cassettes import base_url, converse, record, scripted
from harness.recording.vcr_config import HOST, Origin, SecretInCassette, origin_of, recorder
from harness.redaction.scan import find_secrets
from harness.transports.client import ModelClient
from harness.transports.registry import TRANSPORT_IDS
from harness.vocabulary.turn import ModelTurn

CASSETTES = data_root() / "cassettes"
FILES = sorted(CASSETTES.rglob("*.yaml"))
CASES = [(transport, streaming) for transport in TRANSPORT_IDS for streaming in (True, False)]
IDS = [f"{transport}-{'stream' if streaming else 'plain'}" for transport, streaming in CASES]

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def file_of(transport: str, streaming: bool) -> Path:
    return CASSETTES / transport / f"tool-loop-{'stream' if streaming else 'plain'}.yaml"


async def talked(transport: str, streaming: bool) -> list[ModelTurn]:
    client = ModelClient(transport, base_url=base_url(transport, f"https://{HOST}"), stream=streaming, timeout=5.0)
    try:
        return await converse(client)
    finally:
        await client.aclose()


@pytest.mark.parametrize(("transport", "streaming"), CASES, ids=IDS)
def test_what_was_recorded_is_read_the_same(transport: str, streaming: bool) -> None:
    with recorder().use_cassette(str(file_of(transport, streaming))) as cassette:
        turns = asyncio.run(talked(transport, streaming))
        assert cassette.all_played
    calls = 0
    for turn, wanted in zip(turns, scripted(transport), strict=True):
        expected = carried_turn(wanted, transport, streamed=streaming, calls_before=calls)
        calls += len(expected.message.calls)
        assert (turn.message, turn.stop, turn.usage) == (expected.message, expected.stop, expected.usage)


@pytest.mark.parametrize("transport", TRANSPORT_IDS)
def test_another_body_is_a_miss(transport: str) -> None:
    """By method and address alone the streamed conversation would pass for the plain one."""
    with recorder().use_cassette(str(file_of(transport, True))) as cassette:
        with pytest.raises(Exception) as raised:
            asyncio.run(talked(transport, False))
        assert cassette.play_count == 0
    miss = raised.value.__cause__ or raised.value  # one SDK wraps what comes from below
    assert isinstance(miss, CannotOverwriteExistingCassetteException)
    assert "payload" in str(miss)


@pytest.mark.parametrize(("transport", "streaming"), CASES, ids=IDS)
def test_recording_again_gives_the_same_bytes(transport: str, streaming: bool, tmp_path: Path) -> None:
    kept = file_of(transport, streaming)
    again = record(tmp_path, transport, streaming, str(origin_of(kept)["date"]))
    assert again.read_bytes() == kept.read_bytes()


def test_every_transport_has_its_cassettes() -> None:
    assert sorted(file_of(transport, streaming) for transport, streaming in CASES) == FILES


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_a_cassette_says_where_it_comes_from_and_holds_no_secret(file: Path) -> None:
    assert origin_of(file)["origin"] == "simulated"
    text = file.read_text(encoding="utf-8")
    assert find_secrets(text) == []
    assert "127.0.0.1" not in text
    assert "authorization" not in text.lower()


def test_lint_reads_every_cassette() -> None:
    captures = read_captures([CASSETTES])
    result = lint(captures.exchanges)
    assert captures.broken == []
    assert result.total["exchanges"] == 2 * len(FILES)
    assert result.findings == []


def test_recording_needs_an_origin() -> None:
    with pytest.raises(ValueError, match="say where a new cassette comes from"):
        recorder(mode="all")


def test_a_secret_stops_the_write() -> None:
    """What the scrubber let through is stopped by the scanner, which shares no list with it."""
    serializer: Any = recorder(mode="all", origin=Origin(origin="live", date="2026-12-01")).serializers["readable"]
    one = {"request": {"body": f"key {own_secret()}"}, "response": {}}
    with pytest.raises(SecretInCassette, match="not written"):
        serializer.serialize({"version": 1, "interactions": [one]})
