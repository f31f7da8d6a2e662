"""`harness detect`: what gets nowhere is found where it should have stopped; what gets somewhere is left alone."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from harness.loop.detect import Detector, classify
from harness.loop.signature import call_signature
from harness.recording.call_records import read_calls
from harness.reports.schema_files import schema
from harness.vocabulary.tools import CallRecord, Effect, OutcomeClass, Repetition, ToolDeclaration, ToolDefinition


def call(tool: str, arguments: Any, kind: str | None = "ok", text: str = "", **more: Any) -> dict[str, Any]:
    outcome = None if kind is None else {"class": kind, "text": text}
    return {"tool": tool, "arguments": arguments, "outcome": outcome} | more


def run(*words: object, stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "harness", "detect", *map(str, words)]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)


def found(calls: Sequence[dict[str, Any]], *, threshold: int = 5) -> list[tuple[str, str, int | None, int]]:
    detector = Detector(threshold=threshold)
    for one in read_calls([json.dumps(call) for call in calls], "calls.jsonl"):
        detector.feed(one.call, one.tokens)
    return [(one.tool, one.verdict.value, one.stop_at, one.saved_calls) for one in detector.streaks()]


SAME = {"q": "x"}
CASES: dict[str, tuple[list[dict[str, Any]], list[tuple[str, str, int | None, int]]]] = {
    "a counter hidden in failing arguments": (
        [call("search", {"q": "x", "attempt": n}, "error", "down") for n in range(340)],
        [("search", "recursion", 4, 336)],
    ),
    "a poll that changes forty times": (
        [call("status", {}, "ok", f"{n} of 40") for n in range(40)],
        [("status", "progress", None, 0)],
    ),
    "a paraphrased query that finds nothing": (
        [call("search", {"q": f"words {n}"}, "empty") for n in range(7)],
        [("search", "recursion", 4, 3)],
    ),
    "a retry that succeeds": (
        [*[call("put", SAME, "error", "locked")] * 2, call("put", SAME, "ok", "stored")],
        [("put", "retry", None, 0)],
    ),
    "identical calls with one outcome": (
        [call("list", {}, "ok", "same")] * 6,
        [("list", "recursion", 4, 2)],
    ),
    "pagination by a changing cursor": ([call("page", {"n": n}, "ok", f"page {n}") for n in range(50)], []),
    "two calls in turn": (
        [call("read", {"f": "ab"[n % 2]}, "ok", "ab"[n % 2]) for n in range(10)],
        [("read", "recursion", 7, 1), ("read", "recursion", 8, 1)],
    ),
    "a cycle of three": (
        [call("read", {"f": "abc"[n % 3]}, "ok", "abc"[n % 3]) for n in range(12)],
        [("read", "recursion", 10, 0), ("read", "recursion", 11, 0), ("read", "recursion", 12, 0)],
    ),
    "one other read in between": (
        [call("list", {}, "ok", "same"), call("read", SAME, "ok", "x"), *[call("list", {}, "ok", "same")] * 4],
        [("list", "recursion", 5, 1)],
    ),
    "an undeclared nonce with good outcomes": ([call("read", {"nonce": n}, "ok", "same") for n in range(9)], []),
    "keys in another order and 1 for 1.0": (
        [
            call("read", raw, "ok", "x")
            for raw in ('{"a":1,"b":2}', '{"b":2,"a":1.0}', '{"b": 2.0, "a": 1}', '{"a":1e0,"b":2}')
        ],
        [("read", "recursion", 4, 0)],
    ),
    "no outcome was recorded": ([call("send", SAME, None)] * 5, [("send", "recursion", 4, 1)]),
    "failures of two kinds in turn": (
        [call("search", {"q": n}, "error", ("busy", "gone")[n % 2]) for n in range(12)],
        [],
    ),
    "two traces that are one call each": (
        [call("read", SAME, "ok", "x", trace_id=str(n)) for n in range(8)],
        [],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_streak_has_its_verdict_and_its_stop(case: str) -> None:
    calls, expected = CASES[case]
    assert found(calls) == expected


@pytest.mark.parametrize("threshold", [2, 3, 5, 8])
def test_it_stops_one_below_the_threshold(threshold: int) -> None:
    assert found([call("list", {}, "ok", "same")] * 12, threshold=threshold)[0][2] == threshold - 1


def test_a_declared_retry_budget_is_no_recursion() -> None:
    """Offline over telemetry, with the declarations that the run had."""
    definition = ToolDefinition(name="put", description="", parameters={"type": "object"})
    declared = ToolDeclaration(definition=definition, effect=Effect.IDEMPOTENT, retry_budget=10)
    record = CallRecord(
        tool="put",
        signature=call_signature("put", "{}"),
        outcome=OutcomeClass.ERROR,
        outcome_hash="h",
        counted=True,
        step=0,
    )
    history = [record for _ in range(10)]
    assert classify(history, {"put": declared}) == {"put": Repetition.RETRY}
    assert classify(history) == {"put": Repetition.RECURSION}
    assert classify([*history, *history], {"put": declared}) == {"put": Repetition.RECURSION}


def test_the_command_reports_recursion_and_exits_1(tmp_path: Path) -> None:
    calls, _ = CASES["a counter hidden in failing arguments"]
    file = tmp_path / "calls.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in calls), encoding="utf-8")
    ran = run(file, "--format", "json")
    assert ran.returncode == 1, ran.stderr
    result = json.loads(ran.stdout)
    jsonschema.validate(result, schema("detect"))
    (streak,) = result["streaks"]
    assert (streak["verdict"], streak["from"], streak["to"], streak["stop_at"]) == ("recursion", 1, 340, 4)
    assert streak["saved_calls"] == 336
    pretty = run(file, "--explain")
    assert "should have stopped after call 4" in pretty.stdout
    assert "whatever the arguments" in pretty.stdout


def test_the_command_leaves_progress_alone() -> None:
    calls, _ = CASES["a poll that changes forty times"]
    ran = run("-", stdin="\n".join(map(json.dumps, calls)))
    assert ran.returncode == 0
    assert "PROGRESS   status  40 calls" in ran.stdout


def span(n: int, tool: str, **more: Any) -> dict[str, Any]:
    attributes = [
        {"key": "gen_ai.operation.name", "value": {"stringValue": "execute_tool"}},
        {"key": "gen_ai.tool.name", "value": {"stringValue": tool}},
        {"key": "gen_ai.tool.call.arguments", "value": {"stringValue": json.dumps({"n": n})}},
    ]
    attributes += [{"key": key, "value": {"stringValue": value}} for key, value in more.items()]
    return {
        "traceId": "a" * 32,
        "spanId": f"{n:016x}",
        "startTimeUnixNano": str(1_000_000 - n),
        "endTimeUnixNano": str(2_000_000),
        "attributes": attributes,
    }


@pytest.mark.parametrize("indent", [None, 2])
def test_an_otlp_export_is_read_in_the_order_of_time(indent: int | None) -> None:
    spans = [span(n, "search", **{"error.type": "Timeout"}) for n in range(6)]
    document = {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}
    ran = run("-", "--format", "json", stdin=json.dumps(document, indent=indent))
    assert ran.returncode == 1, ran.stderr
    (streak,) = json.loads(ran.stdout)["streaks"]
    assert (streak["tool"], streak["stop_at"], streak["saved_calls"]) == ("search", 4, 2)
    assert streak["trace_id"] == "a" * 32


SCENARIO = "counters-survive-a-crash"
"""Four identical calls, and a kill among them."""
TOLD = {"tool", "signature", "outcome", "counted", "step", "trace_id", "span_id", "latency_ms", "scenario", "arm"}


def run_scenario(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "harness", "run", SCENARIO, "--depth", "sim", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])


def told(n: int, **more: Any) -> dict[str, Any]:
    """A call as a run tells it."""
    outcome = {"class": "error", "hash": "b" * 64}
    return {"tool": "search", "signature": f"{n:064x}", "outcome": outcome, "step": n, "trace_id": "t"} | more


def test_calls_that_a_run_told_are_judged_by_signature_and_hash() -> None:
    assert found([told(n) for n in range(6)]) == [("search", "recursion", 4, 2)]
    assert found([told(n, outcome={"class": "error", "hash": f"{n}"}) for n in range(6)]) == []
    assert found([told(0, outcome={"class": "ok", "hash": "same"})] * 5) == [("search", "recursion", 4, 1)]


def test_a_call_that_does_not_count_is_no_repetition() -> None:
    assert found([told(0, outcome=None, counted=False)] * 9) == []


def test_what_run_tells_is_what_detect_reads(tmp_path: Path) -> None:
    file = tmp_path / "told" / "calls.jsonl"
    ran = run_scenario("--calls", file, "--output", tmp_path / "record")
    assert ran.returncode == 0, ran.stderr + ran.stdout
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert lines
    assert all(set(line) == TOLD for line in lines)
    assert {(line["scenario"], line["arm"]) for line in lines} == {(SCENARIO, "sim")}
    detected = run(file, "--format", "json")
    assert detected.returncode == 1, detected.stderr
    (streak,) = json.loads(detected.stdout)["streaks"]
    assert (streak["stop_at"], streak["saved_calls"]) == (4, 0), "the loop itself stops where it should"
    assert streak["trace_id"] == lines[0]["trace_id"]


def test_a_calls_file_that_cannot_be_written_is_named_before_anything_runs(tmp_path: Path) -> None:
    ran = run_scenario("--calls", tmp_path)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert f"{tmp_path}: cannot be written" in ran.stderr
    assert "Traceback" not in ran.stderr


WRONG = (
    ("{half", 2, "neither JSON Lines nor one JSON document"),
    ('{"tool":"a"}\n{half', 2, "standard input:2: not JSON"),
    ("[1]", 2, "standard input:1#/0: a int; write one object a line"),
    ('{"name":"a"}', 2, "standard input:1: no `tool`"),
    ('{"tool":"a","outcome":{"class":"fine"}}', 2, "`outcome.class` is 'fine'; write ok, error, empty or noop"),
    ('{"tool":""}', 2, "`tool` must be a name"),
    ('{"tool":"a","signature":7}', 2, "standard input:1: `signature` must be a text"),
    ('{"tool":"a","signature":"s","outcome":{"class":"ok","hash":7}}', 2, "`outcome.hash` must be a text"),
    ('{"tool":"a","signature":"s","outcome":{"class":"fine"}}', 2, "`outcome.class` is 'fine'"),
    ('{"tool":"a","signature":"s","outcome":7}', 2, "`outcome` must be an object"),
    ("", 5, "no tool call was found"),
)


@pytest.mark.parametrize(("text", "code", "says"), WRONG, ids=range(len(WRONG)))
def test_what_cannot_be_read_gets_one_clear_message(text: str, code: int, says: str) -> None:
    ran = run("-", stdin=text)
    assert ran.returncode == code, ran.stdout
    assert says in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_missing_file_is_named() -> None:
    ran = run("no-such.jsonl")
    assert (ran.returncode, "no-such.jsonl" in ran.stderr) == (2, True)
