"""The command line: one clear message and the right exit code, whatever it is asked (scenarios.md, "Command line")."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.reports.record import read_record

Command = Callable[..., subprocess.CompletedProcess[str]]

GOOD = """\
id: small
title: One answer
proves: [loop.tools.every-call-answered]
user: Go.
tools:
  look: {parameters: {type: object}, effect: read_only, answers: [{text: seen}]}
script:
  - calls: [{tool: look, arguments: {}}]
  - say: Done.
expect: {outcome: completed, executed: {look: 1}}
"""


@pytest.fixture
def harness(tmp_path: Path) -> Command:
    """Runs the command as a user would: another process, another folder."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "HARNESS"))}

    def command(*arguments: str) -> subprocess.CompletedProcess[str]:
        call = [sys.executable, "-c", "from harness.cli import main; main()", *arguments]
        return subprocess.run(call, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=120, check=False)

    return command


def _write(folder: Path, text: str, name: str = "small.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


MISTAKES = {
    "an unknown id": (["run", "batch-over-budgt"], 2, "near matches: batch-over-budget"),
    "a missing folder": (["run", "no/such/folder"], 2, "no such file or folder"),
    "a file that is no scenario": (["run", "notes.txt"], 2, "scenario files end in .yaml"),
    "a folder without scenarios": (["run", "empty"], 2, "no scenario file"),
    "bad YAML": (["run", "broken.yaml"], 2, "broken.yaml:2: not YAML"),
    "an unknown key": (["run", "unknown-key.yaml"], 2, "unknown key `scrpt`; did you mean `script`?"),
    "an unknown rule": (["run", "unknown-rule.yaml"], 2, "no requirement is called `loop.tools.every-cal-answered`"),
    "an exhausted script": (["run", "exhausted.yaml"], 2, "exhausted.yaml:8: the script is exhausted"),
    "an unknown transport": (["run", "--transport", "openai-chats"], 2, "did you mean 'openai-chat'?"),
    "an unknown subject": (["run", "--subject", "refrence"], 2, "did you mean 'reference'?"),
    "an unknown command": (["rn"], 2, "did you mean 'run'?"),
    "an unknown option": (["run", "--dept", "sim"], 2, "--depth"),
    "a baseline that is not there": (["run", "--expected-failures", "no.toml"], 2, "no.toml"),
    "an unknown code": (["replay", "ZZZZZZ"], 2, "ZZZZZZ"),
    "an unknown requirement": (["show", "loop.no.such"], 2, "no scenario is called 'loop.no.such'"),
    "an unknown schema": (["schema", "nothing"], 2, "there are:"),
    "no arm for the scenario": (["run", "confined.yaml", "--transport", "openai-chat"], 5, "no case was selected"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_clear_message_and_no_traceback(mistake: str, harness: Command, tmp_path: Path) -> None:
    _write(tmp_path, "hello", "notes.txt")
    (tmp_path / "empty").mkdir()
    _write(tmp_path, "id: [\n", "broken.yaml")
    _write(tmp_path, GOOD.replace("small", "unknown-key").replace("script:", "scrpt:"), "unknown-key.yaml")
    wrong_rule = GOOD.replace("small", "unknown-rule").replace("every-call", "every-cal")
    _write(tmp_path, wrong_rule, "unknown-rule.yaml")
    _write(tmp_path, GOOD.replace("small", "exhausted").replace("  - say: Done.\n", ""), "exhausted.yaml")
    _write(tmp_path, GOOD.replace("small", "confined") + "arms: [sim]\n", "confined.yaml")
    arguments, code, message = MISTAKES[mistake]
    done = harness(*arguments)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr + done.stdout


def test_a_kept_promise_exits_0_and_leaves_a_whole_record(harness: Command, tmp_path: Path) -> None:
    _write(tmp_path, GOOD)
    done = harness("run", "small.yaml", "--transport", "anthropic-messages")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "KEPT" in done.stdout
    record = read_record(tmp_path / "reports" / "latest" / "run.jsonl")
    assert record.complete and len(record.results) == 2
    assert (tmp_path / "reports" / "latest" / "junit.xml").is_file()
    assert "KEPT" in (tmp_path / "reports" / "latest" / "summary.md").read_text(encoding="utf-8")


def test_a_broken_expectation_exits_1_with_the_failure_block_and_a_replay_that_works(
    harness: Command, tmp_path: Path
) -> None:
    _write(tmp_path, GOOD.replace("look: 1}", "look: 2}"))
    done = harness("run", "small.yaml", "--depth", "sim")
    assert done.returncode == 1
    block = done.stdout.splitlines()
    head = next(place for place, line in enumerate(block) if line.startswith("FAIL  sim  scenario.expect  [MUST]"))
    assert [line.split()[0] for line in block[head + 1 : head + 5]] == ["scenario", "expected", "actual", "replay"]
    code = block[head + 4].split()[3]
    again = harness("replay", code)
    assert again.returncode == 1 and code in again.stdout


def test_json_is_one_object_on_standard_output_and_nothing_else(harness: Command, tmp_path: Path) -> None:
    _write(tmp_path, GOOD)
    done = harness("run", "small.yaml", "--format", "json", "--jobs", "2")
    made = json.loads(done.stdout)
    assert (done.returncode, made["complete"], made["totals"]["fail"], made["cases"]) == (0, True, 0, 8)
    assert made["streaming"] == ["stream", "plain"]
    assert len(made["transports"]) == 4


def test_parallel_and_serial_runs_give_the_same_record(harness: Command, tmp_path: Path) -> None:
    records = []
    for jobs in ("1", "2"):
        assert harness("run", "batch-*", "--jobs", jobs, "--output", f"out{jobs}").returncode == 0
        lines = (tmp_path / f"out{jobs}" / "run.jsonl").read_text(encoding="utf-8").splitlines()
        records.append([{**json.loads(line), "seconds": 0, "started": ""} for line in lines])
    assert records[0] == records[1]


def test_what_lies_in_the_working_folder_cannot_change_a_run(harness: Command, tmp_path: Path) -> None:
    _write(tmp_path, GOOD)
    _write(tmp_path, "[pytest]\naddopts = --no-such-option\n", "pytest.ini")
    _write(tmp_path, "raise SystemExit('hostile')\n", "conftest.py")
    done = harness("run", "small.yaml", "--depth", "sim")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_listed_failure_is_no_failure_and_a_listed_success_is_stale(harness: Command, tmp_path: Path) -> None:
    entry = '[[expected]]\ncheck = "scenario.expect"\ntransport = "*"\nsubject = "reference"\nreason = "known"\n'
    _write(tmp_path, entry + "expires = 2999-01-01\n", "known.toml")
    _write(tmp_path, GOOD.replace("look: 1}", "look: 2}"))
    listed = harness("run", "small.yaml", "--depth", "sim", "--expected-failures", "known.toml")
    assert listed.returncode == 0, listed.stdout + listed.stderr
    _write(tmp_path, GOOD)
    stale = harness("run", "small.yaml", "--depth", "sim", "--expected-failures", "known.toml")
    assert stale.returncode == 3
    assert "STALE" in stale.stdout


def test_every_requirement_is_listed_with_what_proves_it(harness: Command) -> None:
    rows = json.loads(harness("list", "--requirements", "--json").stdout)
    by_id = {row["id"]: row for row in rows}
    assert by_id["loop.budget.fit-before-dispatch"]["status"] == "proven"
    assert all(row["checks"] or row["status"] == "planned" for row in rows)


def test_doctor_says_where_each_setting_comes_from(harness: Command, tmp_path: Path) -> None:
    _write(tmp_path, "seed = 7\n", "harness.toml")
    done = harness("doctor")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"seed = 7  (from {tmp_path / 'harness.toml'})" in done.stdout
    assert "subject = reference  (from default)" in done.stdout


def test_an_unknown_configuration_key_exits_2(harness: Command, tmp_path: Path) -> None:
    _write(tmp_path, "sede = 7\n", "harness.toml")
    done = harness("list")
    assert done.returncode == 2
    assert "unknown key 'sede'; did you mean 'seed'?" in done.stderr
