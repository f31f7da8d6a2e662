"""Cassettes: what was recorded is read the same again, without a provider, and nothing else passes for it."""

import asyncio
import gzip
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from vcr.request import Request
from vcr.serialize import deserialize, serialize

from harness.contract.carried_turns import carried_turn
from harness.contract.sample_requests import ORDINARY
from harness.contract.wire_facts import own_secret
from harness.data_root import data_root
from harness.provider.loopback import LoopbackServer
from harness.provider.replies import Answer
from harness.recording import simulated_cassettes
from harness.recording.captures import read_captures
from harness.recording.lint import lint
from harness.recording.replay import CassetteMiss, replaying
from harness.recording.simulated_cassettes import base_url, converse, main, place, record, scripted
from harness.recording.vcr_config import HOST, Origin, SecretInCassette, canonical, origin_of, recorder
from harness.redaction.scan import find_secrets
from harness.transports.client import ModelClient
from harness.transports.registry import TRANSPORT_IDS
from harness.vocabulary.content import Text, UserMessage
from harness.vocabulary.turn import ModelTurn

CASSETTES = data_root() / "cassettes"
FILES = sorted(CASSETTES.rglob("*.yaml"))
CASES = [(transport, streaming) for transport in TRANSPORT_IDS for streaming in (True, False)]
IDS = [f"{transport}-{'stream' if streaming else 'plain'}" for transport, streaming in CASES]
TODAY = Origin(origin="simulated", date="2026-12-01")

every_case = pytest.mark.parametrize(("transport", "streaming"), CASES, ids=IDS)
every_transport = pytest.mark.parametrize("transport", TRANSPORT_IDS)


def file_of(transport: str, streaming: bool) -> Path:
    return place(CASSETTES, transport, streaming)


async def talked(transport: str, streaming: bool, host: str = f"https://{HOST}") -> list[ModelTurn]:
    client = ModelClient(transport, base_url=base_url(transport, host), stream=streaming, timeout=5.0)
    try:
        return await converse(client)
    finally:
        await client.aclose()


def asked_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on the conversation opens with another question, one letter longer."""
    first = ORDINARY.items[0]
    assert isinstance(first, UserMessage) and isinstance(first.content[0], Text)
    other = replace(first, content=(Text(first.content[0].text + "!"), *first.content[1:]))
    changed = replace(ORDINARY, items=(other, *ORDINARY.items[1:]))
    monkeypatch.setattr(simulated_cassettes, "ORDINARY", changed)


@every_case
def test_what_was_recorded_is_read_the_same(transport: str, streaming: bool) -> None:
    with replaying(file_of(transport, streaming)) as cassette:
        turns = asyncio.run(talked(transport, streaming))
        assert cassette.all_played
    calls = 0
    for turn, wanted in zip(turns, scripted(transport), strict=True):
        expected = carried_turn(wanted, transport, streamed=streaming, calls_before=calls)
        calls += len(expected.message.calls)
        assert (turn.message, turn.stop, turn.usage) == (expected.message, expected.stop, expected.usage)


@every_case
def test_another_body_is_one_clear_error(transport: str, streaming: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    asked_otherwise(monkeypatch)
    file = file_of(transport, streaming)
    with pytest.raises(CassetteMiss) as raised, replaying(file):
        asyncio.run(talked(transport, streaming))
    text = str(raised.value)
    assert text.startswith(f"{file}: interaction 1 of 2 has another payload: /")
    assert "stamps?!" in text
    assert text.endswith("record the cassette anew")
    assert "\n" not in text


@every_transport
def test_a_streamed_conversation_does_not_pass_for_a_plain_one(transport: str) -> None:
    """By method and address alone it would."""
    with pytest.raises(CassetteMiss, match="another payload"), replaying(file_of(transport, True)) as cassette:
        asyncio.run(talked(transport, False))
    assert cassette.play_count == 0


@every_transport
def test_an_exchange_is_played_once(transport: str) -> None:
    file = file_of(transport, False)
    with pytest.raises(CassetteMiss, match="after all 2 interactions were played"), replaying(file):
        asyncio.run(talked(transport, False))
        asyncio.run(talked(transport, False))


def test_an_interaction_that_nobody_asked_for_is_an_error() -> None:
    file = file_of("openai-chat", False)
    with pytest.raises(CassetteMiss, match="only 0 of 2 interactions were asked for"), replaying(file):
        pass


def test_another_path_is_said() -> None:
    file = file_of("openai-chat", False)
    said = "is POST /v1/chat/completions, asked for is POST /v1/responses"
    with pytest.raises(CassetteMiss, match=said), replaying(file):
        asyncio.run(talked("openai-responses", False))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "cannot be read: No such file"),
        (b"a: [1", "not safe YAML"),
        (b"\xff", "it is not UTF-8"),
        (b"x: 1", "no cassette"),
        (b"interactions: []", "does not say where it comes from"),
        (b"interactions: []\norigin: rumour\ndate: d\nrecorder: r", "does not say where it comes from"),
        (b"interactions: [!!python/object/apply:os.getcwd []]", "not safe YAML"),
    ],
)
def test_a_file_that_is_no_cassette_is_one_error(content: bytes | None, why: str, tmp_path: Path) -> None:
    file = tmp_path / "one.yaml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ValueError) as raised, replaying(file):
        raise AssertionError("the cassette was opened")
    assert str(file) in str(raised.value)
    assert why in str(raised.value)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (b'{"a": 1, "b": [2]}', b'{"b":[2],"a":1}', True),
        (b'{"a":"\\u00e9"}', '{"a":"é"}'.encode(), True),
        (b'{"a":1}', b'{"a":true}', False),
        (b'{"a":1}', b'{"a":1.0}', False),
        (b'{"a":0}', b'{"a":false}', False),
        (b'{"a":1}', b'{"a":"1"}', False),
        (b'{"a":1}', b'{"a":1,"b":null}', False),
        (b'{"a":[1,2]}', b'{"a":[2,1]}', False),
        (b'{"a":1,"a":2}', b'{"a":2}', False),
        (b"no json", b"no  json", False),
        (b"", None, True),
    ],
)
def test_key_order_and_spacing_say_nothing_and_types_do(one: bytes, other: bytes | None, same: bool) -> None:
    assert (canonical(one) == canonical(other)) is same


@every_case
def test_recording_again_gives_the_same_bytes(transport: str, streaming: bool, tmp_path: Path) -> None:
    kept = file_of(transport, streaming)
    again = record(tmp_path, transport, streaming, origin_of(kept))
    assert again.read_bytes() == kept.read_bytes()


def test_only_what_has_changed_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file whose exchanges are the same keeps its date; one that says something else is recorded."""
    monkeypatch.setattr(simulated_cassettes, "TRANSPORT_IDS", ("openai-chat",))
    old = replace(TODAY, date="2001-01-01")
    kept = record(tmp_path, "openai-chat", False, old).read_bytes()
    stale = record(tmp_path, "openai-chat", True, old)
    stale.write_bytes(stale.read_bytes().replace(b"stamps?", b"stamp?"))
    main(tmp_path)
    assert place(tmp_path, "openai-chat", False).read_bytes() == kept
    assert b"stamps?" in stale.read_bytes()
    assert origin_of(stale).date > old.date
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["recorded", "unchanged"]


def test_a_recording_that_fails_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = record(tmp_path, "openai-chat", False, TODAY)
    kept = file.read_bytes()
    monkeypatch.setattr(simulated_cassettes, "scripted", lambda transport: scripted(transport)[:1])
    with pytest.raises(RuntimeError):
        record(tmp_path, "openai-chat", False, TODAY)
    assert file.read_bytes() == kept


def test_every_transport_has_its_cassettes() -> None:
    assert sorted(file_of(transport, streaming) for transport, streaming in CASES) == FILES


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_a_cassette_says_where_it_comes_from_and_holds_no_secret(file: Path) -> None:
    origin = origin_of(file)
    assert origin.origin == "simulated"
    assert origin.recorder.startswith("run-loop-harness ")
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


class Talkative:
    """A provider that echoes secrets: in headers, and in a compressed body."""

    def answer(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        told = {"echo": f"key {own_secret()}", "authorization": headers["authorization"]}
        secret = {"set-cookie": f"s={own_secret()}", "openai-organization": "acme-corporation", "x-other": own_secret()}
        answered = {"content-type": "application/json", "content-encoding": "gzip", "x-request-id": "req_1"}
        return Answer(status=200, headers={**answered, **secret}, chunks=(gzip.compress(json.dumps(told).encode()),))


def test_secrets_of_request_and_answer_are_not_written(tmp_path: Path) -> None:
    import httpx2

    file = tmp_path / "one.yaml"
    sent = {"authorization": f"Bearer {own_secret()}", "content-type": "application/json", "x-api-key": own_secret()}
    with LoopbackServer(Talkative()) as server, recorder(origin=TODAY, mode="all").use_cassette(str(file)):
        address = f"{server.url}/v1/{own_secret()}/chat?key={own_secret()}"
        with httpx2.Client(trust_env=False) as client:
            answer = client.post(address, content=json.dumps({"prompt": own_secret()}), headers=sent)
        assert own_secret() in answer.text  # the client that records sees what was sent
    text = file.read_text(encoding="utf-8")
    assert own_secret() not in text
    assert "acme" not in text
    assert text.count("[redacted]") >= 4  # path, prompt, and both values of the answer
    assert "x-request-id" in text
    assert server.url.rpartition(":")[2] not in text


def test_a_secret_stops_the_write() -> None:
    """What the scrubber let through is stopped by the scanner, which shares no list with it."""
    serializer: Any = recorder(mode="all", origin=TODAY).serializers["readable"]
    one = {"request": {"body": f"key {own_secret()}"}, "response": {}}
    with pytest.raises(SecretInCassette, match=r"not written: line 7 would hold a secret \(openai-key\)") as raised:
        serializer.serialize({"version": 1, "interactions": [one]})
    assert own_secret() not in str(raised.value)


BREAKS = st.lists(
    st.sampled_from(["\n", "\r", "\x85", "\u2028", "\u2029", " ", "\t", ": ", "#", "a", "\ufeff", "\x00"])
)


@given(st.one_of(st.binary(), BREAKS.map("".join).map(str.encode)))
@example(b"data: a\n\ndata: [DONE]\n\n")
@example("\x85".encode())
def test_every_body_survives_the_file(body: bytes) -> None:
    serializer: Any = recorder(mode="all", origin=TODAY).serializers["readable"]
    answer = {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": body}}
    request = Request("POST", f"https://{HOST}/v1", body, {})
    text = serialize({"requests": [request], "responses": [answer]}, serializer)
    requests, answers = deserialize(text, serializer)
    assert (requests[0].body, answers[0]["body"]["string"]) == (body, body)


def test_a_cassette_is_utf_8_whatever_the_locale(tmp_path: Path) -> None:
    kept = file_of("openai-chat", False)
    code = (
        "import sys; from pathlib import Path; from harness.recording.vcr_config import *;"
        "made = recorder(origin=origin_of(Path(sys.argv[1])), mode='all'); files = made.persister;"
        "readable = made.serializers['readable']; whole = files.load_cassette(sys.argv[1], readable);"
        "files.save_cassette(sys.argv[2], dict(zip(('requests', 'responses'), whole)), readable)"
    )
    plain = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    copy = tmp_path / "copy.yaml"
    subprocess.run([sys.executable, "-c", code, str(kept), str(copy)], env=plain, check=True)
    assert copy.read_bytes() == kept.read_bytes()
