"""What lint promises of single exchanges: odd captures are judged and never break it, and no fault hides behind an
excuse."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.recording import lint as linting
from harness.recording.exchange import CaptureError, Exchange
from harness.recording.jsonl import read_record
from harness.recording.judging import Judged, judged
from harness.recording.refusals import only_the_provider_sees
from harness.wire.catalogue import rules

ASKED = {"model": "gpt-5.2", "messages": [{"role": "user", "content": "hi"}]}
SAID = {"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hello."}}]}


def exchange(**record: Any) -> Exchange:
    found = read_record(record, "capture.jsonl:1", "one", 1)
    assert isinstance(found, Exchange), found
    return found


def output(*items: Any) -> dict[str, Any]:
    """A Responses exchange whose answer has these items, and whose request has them too."""
    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi."}]}
    answer = {"id": "resp_1", "object": "response", "status": "completed", "output": [*items, message]}
    request = {"model": "gpt-5.2", "input": [{"role": "user", "content": "hi"}, *items]}
    return {"transport": "openai_responses", "status": 200, "request": request, "response": answer}


def tool(schema: Any) -> dict[str, Any]:
    request = {
        "model": "claude-sonnet-4-6",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "hi"}],
        "tools": [{"name": "t", "input_schema": schema}],
    }
    return {"transport": "anthropic", "request": request, "response": None}


def blocks(*content: Any) -> dict[str, Any]:
    answer = {"id": "msg_1", "type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn"}
    messages = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": content},
        {"role": "user", "content": "more"},
    ]
    request = {"model": "claude-sonnet-4-6", "max_tokens": 9, "messages": messages}
    return {"transport": "anthropic", "status": 200, "request": request, "response": answer}


ODD = {
    "an item's kind is a list": output({"type": [], "id": "x_1"}),
    "an item's kind is an object": output({"type": {}, "id": "x_1"}),
    "an item's id is a list": output({"type": "reasoning", "id": [], "summary": []}),
    "a summary is a number": output({"type": "reasoning", "id": "rs_1", "summary": 1}),
    "a summary holds words": output({"type": "reasoning", "id": "rs_1", "summary": ["x"]}),
    "a summary's text is a number": output({"type": "reasoning", "id": "rs_1", "summary": [{"text": 1}]}),
    "reasoning is a number": output({"type": "reasoning", "id": "rs_1", "summary": [], "content": 1.5}),
    "a schema's key is half a character": tool({"type": "object", "\ud800": 1}),
    "a schema is of a draft that there is not": tool({"type": "object", "$schema": "nowhere"}),
    "a server's call has a list for an id": blocks(
        {"type": "server_tool_use", "id": [], "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": [], "content": []},
    ),
    "thinking is null": blocks({"type": "thinking", "thinking": None, "signature": None}),
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_exchange_is_judged(name: str) -> None:
    found = judged(exchange(**ODD[name]))
    assert found.accepted is not None


def test_a_schema_is_judged_by_the_drafts_rules_though_it_names_another() -> None:
    found = judged(exchange(**tool({"type": "object", "$schema": "nowhere", "properties": 1})))
    assert "wire.anthropic-messages.schema-valid" in {one.rule for one in found.findings}


def test_a_block_that_is_misshapen_inside_survives_the_way_back() -> None:
    found = judged(exchange(**ODD["thinking is null"] | {"request": None}))
    assert (found.parsed, found.round_trip) == (True, True), found.findings


def test_an_answer_without_an_id_survives_the_way_back() -> None:
    found = judged(exchange(transport="openai_chat", status=200, request=ASKED, response=SAID))
    assert (found.parsed, found.round_trip) == (True, True), found.findings


def test_tokens_read_from_a_cache_survive_where_the_rest_is_not_told() -> None:
    record = blocks({"type": "text", "text": "Hi."})
    record["response"]["usage"] = {"cache_read_input_tokens": 1069, "output_tokens": 3}
    found = judged(exchange(**record))
    assert (found.parsed, found.round_trip) == (True, True), found.findings


@pytest.mark.parametrize(
    ("answer", "status"), [(SAID, 200), ({"error": {"message": "no"}}, 400)], ids=["said", "error"]
)
def test_an_answer_without_a_status_is_judged_by_its_kind(answer: Any, status: int) -> None:
    found = exchange(transport="openai_chat", request=ASKED, response=answer)
    assert found.status == status
    assert judged(found).parsed is (True if status == 200 else None)


def test_a_status_that_is_no_number_is_an_error_with_its_place() -> None:
    record = {"transport": "openai_chat", "request": ASKED, "response": SAID, "status": "200"}
    found = read_record(record, "capture.jsonl:7", "one", 7)
    assert isinstance(found, CaptureError)
    assert "capture.jsonl:7: `status` is not an integer" in str(found)


def test_a_fault_of_the_judge_leaves_the_other_exchanges_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(one: Exchange, *, dialect: str | None = None) -> Judged:
        if one.id == "bad":
            raise KeyError("a fault of the judge")
        return judged(one, dialect=dialect)

    monkeypatch.setattr(linting, "judged", failing)
    three = [exchange(id=name, request=ASKED, response=SAID, status=200) for name in ("good", "bad", "fine")]
    found = linting.lint(three)
    assert found.total["exchanges"] == 2
    assert [one.id for one, _ in found.faults] == ["bad"]


def patched(code: str, file: Path) -> subprocess.CompletedProcess[str]:
    """`harness lint FILE` in a process that ran `code` first."""
    front = "from harness.cli.main import run_command_line; raise SystemExit(run_command_line(sys.argv[1:]))"
    words = [sys.executable, "-c", f"import sys\n{code}\n{front}", "lint", str(file)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_a_fault_of_the_judge_names_the_exchange_and_exits_4(tmp_path: Path) -> None:
    file = tmp_path / "one.jsonl"
    file.write_text(json.dumps({"request": ASKED, "response": SAID, "status": 200}), encoding="utf-8")
    ran = patched("import harness.recording.lint as one\none.judged = lambda *a, **k: 1 / 0", file)
    assert ran.returncode == 4, ran.stderr
    assert f"{file}:1: fault of the harness: ZeroDivisionError" in ran.stderr
    assert "FAILED" in ran.stdout


def test_the_network_guard_is_on_while_captures_are_judged(tmp_path: Path) -> None:
    """The attempt is an audit event alone: nothing is sent even where the guard is off."""
    file = tmp_path / "one.jsonl"
    file.write_text(json.dumps({"request": ASKED, "response": SAID, "status": 200}), encoding="utf-8")
    attempt = "lambda *a, **k: sys.audit('socket.connect', None, ('203.0.113.7', 443))"
    ran = patched(f"import harness.recording.lint as one\none.judged = {attempt}", file)
    assert ran.returncode == 4
    assert "the network guard denied: " in ran.stderr
    assert "203.0.113.7" in ran.stderr


@pytest.mark.parametrize("rule", rules())
def test_no_fault_that_a_rule_knows_is_excused(rule: str) -> None:
    assert only_the_provider_sees(rules()[rule].message) is None


BEYOND = (
    ("Incorrect API key provided: sk-PLACEHOLDER.", "the account"),
    ("The requested model 'invalid-model' does not exist.", "the model's name"),
    ("The model `gpt-3.5-turbo-0613` has been deprecated", "the model's name"),
    ("This model's maximum context length is 1048565 tokens.", "the size of the input"),
    ("You uploaded an unsupported image.", "what a file or image holds"),
    ("Additional properties are not allowed", None),
    ("messages.1.content.0.image.source: Field required", None),
    ("Unsupported parameter: 'temperature' is not supported with this model.", None),
)


@pytest.mark.parametrize(("words", "about"), BEYOND)
def test_only_what_no_reader_could_know_is_excused(words: str, about: str | None) -> None:
    assert only_the_provider_sees(words) == about


def test_what_is_excused_is_counted() -> None:
    refused = {"error": {"message": "This model's maximum context length is 9 tokens."}}
    found = linting.lint([exchange(transport="openai_chat", status=400, request=ASKED, response=refused)])
    assert found.beyond == {"the size of the input": 1}
    assert found.total["recorded_fault_missed"] == 0
