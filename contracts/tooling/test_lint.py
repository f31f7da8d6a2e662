"""What `harness lint` promises: every form of capture is read, each verdict has its place, exit codes hold."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

CHAT = {"model": "gpt-5.2", "messages": [{"role": "user", "content": "hi"}]}
ORPHAN = {
    "model": "gpt-5.2",
    "messages": [{"role": "user", "content": "hi"}, {"role": "tool", "tool_call_id": "call_1", "content": "x"}],
}
ANSWER = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-5.2",
    "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hello.", "refusal": None}}
    ],
    "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7},
}
KEYS = {
    "exchanges",
    "accepted",
    "rejected",
    "unparsed",
    "round_trip_failed",
    "recorded_ok_rejected",
    "recorded_fault_missed",
    "by_transport",
    "findings",
}
URL = "https://api.openai.com/v1/chat/completions"


def record(request: Any = CHAT, response: Any = ANSWER, status: int = 200, **more: Any) -> dict[str, Any]:
    return {"id": "one", "transport": "openai_chat", "request": request, "response": response, "status": status} | more


def lint(*words: object, stdin: bytes | None = None, cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "harness", "lint", *map(str, words)]
    return subprocess.run(command, input=stdin, capture_output=True, check=False, cwd=cwd)


def result(*words: object, stdin: bytes | None = None, code: int = 0) -> dict[str, Any]:
    ran = lint(*words, "--format", "json", stdin=stdin)
    assert ran.returncode == code, ran.stderr.decode()
    found: dict[str, Any] = json.loads(ran.stdout)
    assert found.keys() == KEYS
    return found


def written(folder: Path, name: str, value: Any) -> Path:
    file = folder / name
    file.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return file


def har(request: Any, response: Any) -> dict[str, Any]:
    entry = {
        "request": {"method": "POST", "url": URL, "headers": [], "postData": {"text": json.dumps(request)}},
        "response": {
            "status": 200,
            "headers": [{"name": "content-type", "value": "application/json"}],
            "content": {"text": json.dumps(response)},
        },
    }
    return {"log": {"version": "1.2", "creator": {}, "entries": [entry]}}


def cassette(request: Any, response: Any) -> str:
    one = {
        "request": {"method": "POST", "uri": URL, "body": json.dumps(request), "headers": {}},
        "response": {
            "status": {"code": 200, "message": "OK"},
            "headers": {"content-type": ["application/json"]},
            "body": {"string": json.dumps(response)},
        },
    }
    return json.dumps({"version": 1, "interactions": [one]})


FORMS = {
    "capture.jsonl": json.dumps(record()) + "\n",
    "capture.har": har(CHAT, ANSWER),
    "capture.yaml": cassette(CHAT, ANSWER),
    "payload.json": CHAT,
    "answer.json": ANSWER,
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_of_capture_is_judged(name: str, tmp_path: Path) -> None:
    found = result(written(tmp_path, name, FORMS[name]))
    assert found["exchanges"] == 1
    assert found["by_transport"].keys() == {"openai-chat"}
    assert found["findings"] == []
    assert found["accepted"] == (0 if name == "answer.json" else 1)


def test_a_folder_is_searched_whole(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for name, value in FORMS.items():
        written(tmp_path / "deep", name, value)
    assert result(tmp_path)["exchanges"] == len(FORMS)


def test_a_pasted_payload_learns_which_message_breaks_which_rule_and_the_mend() -> None:
    ran = lint("-", stdin=json.dumps(ORPHAN).encode())
    text = ran.stdout.decode()
    assert ran.returncode == 1
    assert "ILLEGAL  openai-chat  wire.openai-chat.result-answers-a-call" in text
    assert "/messages/1" in text
    assert "mend      drop the tool message" in text


def test_a_rejected_payload_has_its_finding_in_json() -> None:
    found = result("-", stdin=json.dumps(ORPHAN).encode(), code=1)
    (finding,) = found["findings"]
    assert finding.keys() == {"id", "transport", "rule", "where", "message"}
    assert finding["where"].endswith("/messages/1")
    assert found["rejected"] == 1


def test_lines_and_streams_can_be_pasted_too() -> None:
    lines = (json.dumps(record()) + "\n") * 2
    assert result("-", stdin=lines.encode())["exchanges"] == 2
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    first = chunk | {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hi"}, "finish_reason": None}]}
    last = chunk | {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    stream = "".join(f"data: {json.dumps(one)}\n\n" for one in (first, last)) + "data: [DONE]\n\n"
    found = result("-", stdin=stream.encode())
    assert (found["exchanges"], found["unparsed"]) == (1, 0)


def test_a_cut_stream_is_unparsed_and_fails_below_the_minimum(tmp_path: Path) -> None:
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    first = chunk | {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hi"}, "finish_reason": None}]}
    cut = record(response=None, response_sse=f"data: {json.dumps(first)}\n\n", streaming=True)
    file = written(tmp_path, "cut.jsonl", json.dumps(record()) + "\n" + json.dumps(cut) + "\n")
    assert result(file, code=1)["unparsed"] == 1
    assert result(file, "--minimum", "50")["unparsed"] == 1


def test_a_success_that_this_judge_rejects_is_its_own_fault(tmp_path: Path) -> None:
    file = written(tmp_path, "one.jsonl", json.dumps(record(request=ORPHAN, provider_host="api.openai.com")))
    found = result(file, code=1)
    assert found["recorded_ok_rejected"] == 1
    assert found["findings"][0]["rule"] == "wire.openai-chat.result-answers-a-call"


def test_a_refusal_that_no_rule_foretells_is_missed(tmp_path: Path) -> None:
    error = {"error": {"message": "Unheard-of conversation fault.", "type": "invalid_request_error"}}
    unlikely = record(response=error, status=400)
    assert result(written(tmp_path, "a.jsonl", json.dumps(unlikely)))["recorded_fault_missed"] == 1
    account = record(response={"error": {"message": "Incorrect API key provided"}}, status=400)
    assert result(written(tmp_path, "b.jsonl", json.dumps(account)))["recorded_fault_missed"] == 0


def test_a_foretold_refusal_is_no_miss(tmp_path: Path) -> None:
    error = {"error": {"message": "messages with role 'tool' must be a response", "type": "invalid_request_error"}}
    found = result(written(tmp_path, "a.jsonl", json.dumps(record(request=ORPHAN, response=error, status=400))))
    assert (found["rejected"], found["recorded_fault_missed"]) == (1, 0)


WRONG: tuple[tuple[tuple[str, ...], bytes | None, int, str], ...] = (
    ((), None, 2, "name at least one capture"),
    (("no-such.json",), None, 2, "no-such.json: no such file"),
    (("-", "--transport", "openai-chatt"), b"{}", 2, "no transport is called 'openai-chatt'"),
    (("-", "--minimum", "101"), b"{}", 2, "--minimum"),
    (("-",), b"{half", 2, "standard input:1: not JSON"),
    (("-",), b"\xff\xfe", 2, "not UTF-8"),
    (("-",), b'{"some": "thing"}', 5, "no exchange was found"),
    (("--explain", "wire.openai-chat.no-stp"), None, 2, "did you mean 'wire.openai-chat.no-stop'?"),
)


@pytest.mark.parametrize(("words", "stdin", "code", "says"), WRONG, ids=[one[3][:24] for one in WRONG])
def test_wrong_usage_gets_one_clear_message(
    words: tuple[str, ...], stdin: bytes | None, code: int, says: str, tmp_path: Path
) -> None:
    ran = lint(*words, stdin=stdin, cwd=tmp_path)
    said = ran.stderr.decode()
    assert ran.returncode == code, said
    assert says in said
    assert "Traceback" not in said


def test_an_empty_folder_is_nothing_ran(tmp_path: Path) -> None:
    assert lint(tmp_path).returncode == 5


def test_a_broken_line_is_named_and_the_rest_is_judged(tmp_path: Path) -> None:
    file = written(tmp_path, "mixed.jsonl", json.dumps(record()) + "\n{half\n" + json.dumps(record()) + "\n")
    ran = lint(file, "--format", "json")
    assert ran.returncode == 2
    assert f"{file}:2" in ran.stderr.decode()
    assert json.loads(ran.stdout)["exchanges"] == 2


def test_a_rule_explains_itself() -> None:
    ran = lint("--explain", "wire.anthropic-messages.no-prefill")
    text = ran.stdout.decode()
    assert ran.returncode == 0
    assert [line.split()[0] for line in text.splitlines()] == ["rule", "demands", "answer", "message", "mend", "source"]


def test_a_key_in_a_capture_is_not_printed(tmp_path: Path) -> None:
    key = "sk-proj-" + "a1B2c3D4" * 6
    answer = {"error": {"message": f"Unheard-of fault with {key}", "type": "invalid_request_error"}}
    ran = lint(written(tmp_path, "a.jsonl", json.dumps(record(response=answer, status=400))))
    assert "Unheard-of fault" in ran.stdout.decode()
    assert key not in ran.stdout.decode() + ran.stderr.decode()
