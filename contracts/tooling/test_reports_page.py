"""The HTML report and the comparison of two runs: one file that asks for nothing, hostile text inert, all there."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.reports.case import Case, run_id
from harness.reports.compare import compare
from harness.reports.html import html_report
from harness.reports.record import RunRecord
from harness.reports.result import CaseResult
from harness.suite.promises import requirements
from harness.vocabulary.verdict import Finding, VerdictName

CHECK = "loop.tools.every-call-answered"
HOSTILE = '</script><script>alert(1)</script><img src=x onerror="alert(1)"> & \u2028'
HEADER = {
    "subject": "reference",
    "seed": 7,
    "depth": "wire",
    "level": "must",
    "started": "2030-01-31T12:00:00",
    "transports": ["openai-chat"],
    "streaming": ["stream"],
}


def case(scenario: str, *findings: Finding, seconds: float = 0.01) -> CaseResult:
    named = Case(scenario, "openai-chat", True)
    bare = {"pass": ("loop.turn.order",)} if findings else {"pass": ("loop.turn.order", CHECK)}
    return CaseResult(case=named, run=run_id(named, "reference", 7), bare=bare, findings=findings, seconds=seconds)


def broken(text: str = "two results") -> Finding:
    return Finding(
        check=CHECK, verdict=VerdictName.FAIL, expected="three results", actual=text, request=2, pointer="/x"
    )


def record(*cases: CaseResult, end: bool = True) -> RunRecord:
    footer = {"stale": [], "seconds": 1.0} if end else None
    return RunRecord({**HEADER, "selected": len(cases)}, cases, footer)


def page(*cases: CaseResult, end: bool = True) -> str:
    return html_report(record(*cases, end=end), requirements())


def data(text: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    assert found is not None
    read: dict[str, Any] = json.loads(found[1])
    return read


def test_a_broken_promise_has_its_statement_its_place_and_its_replay() -> None:
    read = data(page(case("one", broken())))
    assert read["word"] == "BROKEN"
    (told,) = read["cases"]
    assert told["findings"] == [["fail", CHECK, "MUST", "request 2, /x", "three results", "two results"]]
    assert told["replay"].startswith("harness replay ")
    assert read["rules"][CHECK][1] == requirements()[CHECK].statement
    assert [CHECK, [[0, 1, 1]]] in read["rows"]


def test_text_of_a_run_is_inert() -> None:
    text = page(case("one", broken(HOSTILE)))
    assert text.count("<script") == 2
    assert text.count("</script>") == 2
    assert "<img" not in text
    assert data(text)["cases"][0]["findings"][0][5].startswith("</script><script>alert(1)")


def test_the_page_asks_for_nothing_and_lets_nothing_in() -> None:
    text = page(case("one", broken()))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy[1]
    assert not re.search(r"(src|href)=|https?://|@import|url\(", text)


def test_a_run_that_was_cut_is_incomplete_on_the_page() -> None:
    text = page(replace(case("one")), end=False)
    assert data(text)["word"] == "INCOMPLETE"


def test_five_thousand_results_stay_small() -> None:
    cases = [case(f"scenario-{n}", broken(f"{n} results")) for n in range(5000)]
    text = page(*cases)
    read = data(text)
    assert len(text.encode()) < 5_000_000
    assert (len(read["cases"]), read["left"]) == (2000, 3000)


def test_a_key_is_on_no_page() -> None:
    key = "sk-proj-" + "a1B2" * 10
    text = page(case("one", broken(f"the key {key}")))
    assert "the key" in text
    assert key not in text


def test_what_fails_now_and_did_not_is_newly_failing() -> None:
    before = record(case("one"), case("two", broken()), case("three", broken()), case("gone"))
    after = record(case("one", broken()), case("two"), case("three", broken()), case("new", broken()))
    found = compare(before, after)
    assert [one.item for one in found.newly_failing] == ["new[openai-chat-stream]", "one[openai-chat-stream]"]
    assert [one.item for one in found.newly_passing] == ["two[openai-chat-stream]"]
    assert [one.item for one in found.still_failing] == ["three[openai-chat-stream]"]
    assert (found.appeared, found.disappeared) == (("new[openai-chat-stream]",), ("gone[openai-chat-stream]",))
    assert found.worse


@pytest.mark.parametrize(("seconds", "slower"), [(0.2, 0), (0.45, 0), (0.6, 1)])
def test_a_case_is_slower_by_ratio_and_by_time(seconds: float, slower: int) -> None:
    found = compare(record(case("one", seconds=0.2)), record(case("one", seconds=seconds)))
    assert len(found.slower) == slower
    assert not found.worse


def test_a_cut_record_is_no_basis() -> None:
    assert compare(record(case("one")), record(case("one"), end=False)).worse


def test_every_run_writes_its_page(tmp_path: Path) -> None:
    import subprocess
    import sys

    run = ["run", "batch-one-over-the-limit", "--depth", "sim", "--output", "out"]
    done = subprocess.run([sys.executable, "-m", "harness", *run], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert data((tmp_path / "out" / "report.html").read_text(encoding="utf-8"))["word"] == "KEPT"
    compared = subprocess.run(
        [sys.executable, "-m", "harness", "compare", "out", "out"], cwd=tmp_path, capture_output=True, check=False
    )
    assert (compared.returncode, b"NOT WORSE" in compared.stdout) == (0, True)
