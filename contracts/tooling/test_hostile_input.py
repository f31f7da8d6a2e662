"""Input that is wrong on purpose: one clear message, a usage exit code, and nothing fetched or unfolded for ever."""

import json
import sys
import threading
from collections.abc import Iterator
from errno import ENOSPC
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from harness.cli.doctor_command import doctor
from harness.cli.errors import CommandError
from harness.cli.main import run_command_line
from harness.cli.verdict import say_verdict
from harness.config import ConfigurationError, load_configuration
from harness.loop.task import Toolbox
from harness.recording.bodies import body_of, parsed
from harness.recording.call_records import CallRecordError, read_calls
from harness.recording.captures import read_captures
from harness.reports.lock import sole_writer
from harness.reports.record import RecordError, check_writable
from harness.scenario.load import parse_scenario, scenario_files
from harness.scenario.problems import ScenarioError
from harness.suite.selection import SelectionError, select
from harness.vocabulary.settings import SettingsError
from harness.vocabulary.tools import Effect, ToolDeclaration, ToolDefinition
from harness.wire.anthropic_messages.schemas import _is_schema

GOOD = """\
id: good
title: A good scenario
proves: [loop.tools.unknown]
user: Do it.
tools:
  fetch:
    parameters: {type: object, properties: {n: {type: integer}}}
    answers: [{text: "page {n}", repeat: always}]
script:
  - calls: [{tool: fetch, arguments: {n: 1}}]
  - say: Done.
expect: {outcome: completed}
"""
CASSETTE = """\
interactions:
- request: {method: POST, uri: "%s", %s}
  response: {status: {code: 200}, body: {string: "{}"}}
"""
CHAT = "https://api.openai.com/v1/chat/completions"
_DOUBLED = [
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]" for before, name in zip("abcdefghi", "bcdefghij", strict=True)
]
BOMB = "\n".join(["a: &a [x]", *_DOUBLED, ""])
"""Nine times nine times nine: 387 million values in ten lines."""


@pytest.fixture
def asked() -> Iterator[tuple[str, list[str]]]:
    """A URL on loopback that holds a schema, and what was asked of it."""
    paths: list[str] = []

    class Schema(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"type": "integer"}')

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Schema)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/schema", paths
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_reference_out_of_a_tool_s_schema_is_refused_and_not_fetched(asked: tuple[str, list[str]]) -> None:
    url, paths = asked
    with pytest.raises(ScenarioError, match="only references within the schema are followed"):
        parse_scenario(GOOD.replace("{type: integer}", f'{{$ref: "{url}"}}'), "good.yaml")
    tool = ToolDefinition(name="t", description="", parameters={"type": "object", "properties": {"n": {"$ref": url}}})
    with pytest.raises(SettingsError, match="only references within the schema are followed"):
        Toolbox((ToolDeclaration(definition=tool, effect=Effect.READ_ONLY),))
    assert paths == []


@pytest.mark.parametrize("schema", [{"$schema": "URL"}, {"$ref": "URL"}, {"properties": {"n": {"$schema": "URL"}}}])
def test_the_schema_of_a_captured_tool_is_judged_without_fetching_what_it_names(
    schema: dict[str, object], asked: tuple[str, list[str]]
) -> None:
    url, paths = asked
    assert _is_schema(json.dumps({"type": "object", **schema}).replace("URL", url))
    assert paths == []


BAD_SCENARIOS = {
    "a schema that is none": (
        GOOD.replace("integer", "integr"),
        "good.yaml:7: the parameters of `fetch` are not a JSON",
    ),
    "a pattern that is none": (
        GOOD.replace("integer", 'string, pattern: "("'),
        "good.yaml:7: the parameters of `fetch`",
    ),
    "an alias to itself": ("id: good\ntools: &a\n  x: *a\n", "good.yaml:2: more than 200 parts within one another"),
    "depth under a half character": ('"\\ud800": ' + "[" * 4000, "good.yaml:1: not YAML"),
    "an alias bomb": (BOMB, "more than 200000 values"),
    "an endless number": (GOOD.replace("n: 1", "n: " + "9" * 5000), "good.yaml:10: a number of 5000 digits"),
    "an answer beyond memory": (GOOD.replace('text: "page {n}"', "large: 100000000000"), "at most 67108864"),
    "its long form": (GOOD.replace('text: "page {n}"', "large: {bytes: 100000000000}"), "67108864"),
    "a control character": (GOOD.replace("Do it", "Do\0it"), "control characters are not allowed"),
}


@pytest.mark.parametrize("name", BAD_SCENARIOS)
def test_a_hostile_scenario_is_refused_in_one_line(name: str) -> None:
    text, message = BAD_SCENARIOS[name]
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(text, "good.yaml")
    assert message in str(caught.value)
    assert all(line.startswith("good.yaml:") for line in str(caught.value).splitlines())


def test_a_folder_may_have_a_scenario_file_s_name(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").mkdir()
    inside = tmp_path / "x.yaml" / "good.yaml"
    inside.write_text(GOOD, encoding="utf-8")
    assert scenario_files([tmp_path]) == [inside]


def test_an_empty_name_is_no_wish_for_everything(tmp_path: Path) -> None:
    with pytest.raises(SelectionError, match="an empty name"):
        select([""], [tmp_path])


BAD_CAPTURES = {
    "an alias bomb": (BOMB + CASSETTE % (CHAT, "body: *j"), "unfold to more than"),
    "an alias to itself": (
        CASSETTE.replace("request: {", "request: &r {") % (CHAT, "parsed_body: *r"),
        "an alias to a part that it stands in",
    ),
    "a set": (CASSETTE % (CHAT, "body: !!set {a}"), "not safe YAML"),
    "bytes within JSON": (CASSETTE % (CHAT, "parsed_body: {a: !!binary aGVs}"), "JSON cannot hold"),
    "a URL that is none": (CASSETTE % ("http://[x", 'body: "{}"'), "'http://[x' is none"),
}


@pytest.mark.parametrize("name", BAD_CAPTURES)
def test_a_hostile_cassette_is_named_and_not_obeyed(name: str, tmp_path: Path) -> None:
    text, message = BAD_CAPTURES[name]
    (tmp_path / "one.yaml").write_text(text, encoding="utf-8")
    captures = read_captures([tmp_path])
    assert not captures.exchanges
    assert [message in str(broken) for broken in captures.broken] == [True]


def test_a_date_in_a_cassette_is_the_text_that_it_is(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(CASSETTE % (CHAT, "parsed_body: {model: 2020-01-01}"), encoding="utf-8")
    (exchange,) = read_captures([tmp_path]).exchanges
    assert exchange.request == b'{"model":"2020-01-01"}'


@pytest.mark.parametrize("text", ["[tool]\nharness = 1\n", 'tool = {harness = ["a"]}\n'])
def test_a_setting_where_a_table_must_be_is_said(text: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"tool\.harness must be a table"):
        load_configuration(tmp_path, {}, {})


def test_another_project_s_odd_file_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("tool = 1\n", encoding="utf-8")
    assert load_configuration(tmp_path, {}, {})["seed"] == 0


def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    (tmp_path / "harness.toml").write_bytes(b"\xef\xbb\xbfseed = 7\r\n")
    assert load_configuration(tmp_path, {}, {})["seed"] == 7


def test_an_output_that_cannot_be_written_is_said_before_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "good.yaml").write_text(GOOD.replace("unknown", "every-call-answered"), encoding="utf-8")
    (tmp_path / "file").write_text("kept", encoding="utf-8")
    code = run_command_line(["run", str(tmp_path / "good.yaml"), "--depth", "sim", "--output", str(tmp_path / "file")])
    said = capsys.readouterr()
    assert code == 2 and said.out == ""
    assert "the record cannot be written" in said.err and len(said.err.splitlines()) == 1
    assert (tmp_path / "file").read_text(encoding="utf-8") == "kept"


def test_asking_whether_a_record_can_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    record = tmp_path / "run.jsonl"
    record.write_text("old", encoding="utf-8")
    check_writable(record)
    assert record.read_text(encoding="utf-8") == "old"
    with pytest.raises(RecordError, match="choose another --output folder"):
        check_writable(tmp_path)


def test_doctor_finds_a_subject_and_a_baseline_that_are_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "harness.toml").write_text('subject = "nobody"\nexpected_failures = "gone.toml"\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    shown = CliRunner().invoke(doctor).output
    assert "PROBLEM    no subject is called 'nobody'" in shown
    assert "gone.toml: no such baseline" in shown


def test_a_second_run_into_the_same_folder_is_refused_and_the_first_keeps_its_record(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "good.yaml").write_text(GOOD.replace("unknown", "every-call-answered"), encoding="utf-8")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "run.jsonl").write_text("of the first", encoding="utf-8")
    with sole_writer(tmp_path / "out"):
        code = run_command_line(
            ["run", str(tmp_path / "good.yaml"), "--depth", "sim", "--output", str(tmp_path / "out")]
        )
    assert code == 2
    assert "another run is writing there" in capsys.readouterr().err
    assert (tmp_path / "out" / "run.jsonl").read_text(encoding="utf-8") == "of the first"


BAD_CALLS = {
    "endless depth": "[" * 100_000,
    "a class that is a list": '{"tool": "a", "outcome": {"class": ["ok"]}}',
    "a latency beyond all numbers": '{"tool": "a", "latency_ms": 1' + "0" * 400 + "}",
    "a start time that is a word": '{"resourceSpans": [{"scopeSpans": [{"spans": [{"startTimeUnixNano": "x"}]}]}]}',
}


@pytest.mark.parametrize("name", BAD_CALLS)
def test_a_call_record_of_the_wrong_kind_names_file_and_mend(name: str) -> None:
    with pytest.raises(CallRecordError, match=r"calls\.jsonl.*; (mend|one call a line)"):
        list(read_calls([BAD_CALLS[name]], "calls.jsonl"))


def test_a_body_of_endless_depth_is_text() -> None:
    assert body_of(b"[" * 100_000).kind == "text"
    assert parsed(b"[" * 100_000) is None


def test_a_run_that_lost_a_case_is_a_fault_and_never_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "good.yaml").write_text(GOOD.replace("unknown", "every-call-answered"), encoding="utf-8")
    assert run_command_line(["run", str(tmp_path / "good.yaml"), "--depth", "sim", "--output", str(tmp_path)]) == 0
    record = tmp_path / "run.jsonl"
    record.write_text(record.read_text(encoding="utf-8").replace('"selected":1', '"selected":2'), encoding="utf-8")
    front: Any = SimpleNamespace(problems=[], session=SimpleNamespace(results=[1]))
    plan: Any = None
    with pytest.raises(CommandError, match="1 cases have no result: a worker process died") as caught:
        say_verdict(0, front, plan, tmp_path, "markdown", sys.stdout)
    assert caught.value.code == 4
    assert "1 of 2 selected cases" in capsys.readouterr().out


def test_a_full_disk_is_no_fault_of_the_harness(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(ENOSPC, "No space left on device")

    monkeypatch.setattr("harness.cli.main.command_line.main", full)
    assert run_command_line([]) == 2
    assert capsys.readouterr().err == "harness: the output: no space is left to write to\n"
