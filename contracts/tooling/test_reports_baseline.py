"""The baseline of expected failures: it excuses what it lists, nothing else, and no longer than it says."""

import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from harness.reports.baseline import BaselineError, load_baseline
from harness.reports.case import Case, run_id
from harness.reports.result import CaseResult
from harness.vocabulary.verdict import Finding, VerdictName

KNOWN = ("loop.turn.order", "loop.tools.unknown", "trace.equal")
TODAY = date(2030, 1, 31)
CHAT = Case("a", "openai-chat", True)
ANTHROPIC = Case("a", "anthropic-messages", False)
ENTRY = {
    "check": '"loop.turn.order"',
    "transport": '"openai-chat"',
    "subject": '"reference"',
    "reason": '"known, being mended"',
    "expires": "2030-01-31",
}


def file_of(folder: Path, *entries: dict[str, str]) -> Path:
    tables = ("[[expected]]\n" + "".join(f"{key} = {value}\n" for key, value in one.items()) for one in entries)
    path = folder / "expected-failures.toml"
    path.write_text("\n".join(tables), encoding="utf-8")
    return path


def judged(case: Case, verdict: VerdictName, check: str = "loop.turn.order", **more: Any) -> CaseResult:
    run = run_id(case, "reference", 0)
    if verdict in (VerdictName.PASS, VerdictName.NOT_APPLICABLE):
        return CaseResult(case=case, run=run, bare={str(verdict): (check,)}, **more)
    return CaseResult(case=case, run=run, findings=(Finding(check=check, verdict=verdict),), **more)


def test_an_entry_lists_its_check_for_its_transport_and_subject_only(tmp_path: Path) -> None:
    baseline = load_baseline(file_of(tmp_path, ENTRY), KNOWN, TODAY)
    checks = {"loop.turn.order", "loop.tools.unknown"}
    assert baseline.listed(CHAT, "reference", checks) == {"loop.turn.order"}
    assert baseline.listed(ANTHROPIC, "reference", checks) == frozenset()
    assert baseline.listed(CHAT, "other", checks) == frozenset()
    assert baseline.listed(CHAT, "reference", {"loop.tools.unknown"}) == frozenset()


def test_a_star_stands_for_any_transport_and_any_subject(tmp_path: Path) -> None:
    entry = {**ENTRY, "transport": '"*"', "subject": '"*"'}
    baseline = load_baseline(file_of(tmp_path, entry), KNOWN, TODAY)
    for case in (CHAT, ANTHROPIC, Case("b", "sim", None)):
        assert baseline.listed(case, "any", {"loop.turn.order"}) == {"loop.turn.order"}


@pytest.mark.parametrize("verdict", [VerdictName.FAIL, VerdictName.WARN, VerdictName.UNTESTABLE])
def test_an_entry_whose_check_still_fails_somewhere_is_not_stale(tmp_path: Path, verdict: VerdictName) -> None:
    baseline = load_baseline(file_of(tmp_path, ENTRY), KNOWN, TODAY)
    assert baseline.stale([judged(CHAT, VerdictName.PASS), judged(CHAT, verdict)], "reference") == []


def test_an_entry_whose_check_is_kept_wherever_it_counts_is_stale(tmp_path: Path) -> None:
    path = file_of(tmp_path, ENTRY)
    results = [judged(CHAT, VerdictName.PASS), judged(ANTHROPIC, VerdictName.FAIL)]
    assert load_baseline(path, KNOWN, TODAY).stale(results, "reference") == [
        f"{path}: loop.turn.order on openai-chat for reference (known, being mended): "
        "kept in 1 case and broken in none; remove the entry"
    ]


@pytest.mark.parametrize(
    "results",
    [
        [],
        [judged(ANTHROPIC, VerdictName.PASS)],
        [judged(CHAT, VerdictName.NOT_APPLICABLE)],
        [judged(CHAT, VerdictName.INFO)],
        [judged(CHAT, VerdictName.PASS, "loop.tools.unknown")],
        [judged(CHAT, VerdictName.PASS, fault="broke")],
    ],
)
def test_a_run_that_did_not_judge_the_check_says_nothing_of_the_entry(
    tmp_path: Path, results: list[CaseResult]
) -> None:
    assert load_baseline(file_of(tmp_path, ENTRY), KNOWN, TODAY).stale(results, "reference") == []


def test_a_run_of_another_subject_says_nothing_of_the_entry(tmp_path: Path) -> None:
    baseline = load_baseline(file_of(tmp_path, ENTRY), KNOWN, TODAY)
    assert baseline.stale([judged(CHAT, VerdictName.PASS)], "other") == []
    assert len(baseline.stale([judged(CHAT, VerdictName.PASS)])) == 1


@pytest.mark.parametrize("expires", ["2030-01-30", '"2030-01-30"'])
def test_an_expired_entry_is_stale_whether_its_check_fails_or_not(tmp_path: Path, expires: str) -> None:
    baseline = load_baseline(file_of(tmp_path, {**ENTRY, "expires": expires}), KNOWN, TODAY)
    for results in ([], [judged(CHAT, VerdictName.FAIL)], [judged(CHAT, VerdictName.PASS)]):
        (stale,) = baseline.stale(results, "reference")
        assert "expired on 2030-01-30" in stale
    assert baseline.listed(CHAT, "reference", {"loop.turn.order"}) == {"loop.turn.order"}


def test_an_entry_counts_on_its_last_day(tmp_path: Path) -> None:
    assert load_baseline(file_of(tmp_path, ENTRY), KNOWN, TODAY).stale([], "reference") == []


def test_an_empty_baseline_expects_nothing(tmp_path: Path) -> None:
    baseline = load_baseline(file_of(tmp_path), KNOWN, TODAY)
    assert baseline.listed(CHAT, "reference", KNOWN) == frozenset()
    assert baseline.stale([judged(CHAT, VerdictName.FAIL)], "reference") == []


WRONG: dict[str, tuple[dict[str, str], str]] = {
    "unknown check": ({"check": '"loop.turn.ordre"'}, "no check is called 'loop.turn.ordre' (did you mean 'loop.turn."),
    "unknown key": ({"expiry": "2030-01-31"}, "unknown key 'expiry' (did you mean 'expires'?); the keys are check,"),
    "empty reason": ({"reason": '" "'}, "`reason` is missing or empty; write a text"),
    "transport": ({"transport": "3"}, "`transport` is missing or empty; write a text, or '*' for any"),
    "no day": ({"expires": '"soon"'}, "`expires` is missing or not a day; write one, as in expires = 2030-01-31"),
    "a time": ({"expires": "2030-01-31T10:00:00"}, "`expires` is missing or not a day"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_entry_is_refused_with_file_entry_and_mend(tmp_path: Path, wrong: str) -> None:
    change, message = WRONG[wrong]
    path = file_of(tmp_path, {**ENTRY, "transport": '"*"'}, {**ENTRY, **change})
    with pytest.raises(BaselineError, match=re.escape(f"{path}: entry 2: {message}")):
        load_baseline(path, KNOWN, TODAY)


@pytest.mark.parametrize("key", ENTRY)
def test_every_key_of_an_entry_is_needed(tmp_path: Path, key: str) -> None:
    path = file_of(tmp_path, {one: ENTRY[one] for one in ENTRY if one != key})
    with pytest.raises(BaselineError, match=f"entry 1: `{key}` is missing"):
        load_baseline(path, KNOWN, TODAY)


def test_the_same_failure_is_expected_once(tmp_path: Path) -> None:
    path = file_of(tmp_path, ENTRY, {**ENTRY, "reason": '"again"'})
    with pytest.raises(BaselineError, match=r"entry 2: loop\.turn\.order is expected there already"):
        load_baseline(path, KNOWN, TODAY)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("expected = [", "not TOML"),
        ("[expected]\ncheck = 'x'\n", "write [[expected]], with two brackets"),
        ("[[expect]]\n", "unknown key 'expect'; write [[expected]] tables only"),
        ("expected = [3]\n", "entry 1: not a table"),
    ],
)
def test_a_file_of_another_form_is_refused_with_the_mend(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "expected-failures.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BaselineError, match=re.escape(message)) as caught:
        load_baseline(path, KNOWN, TODAY)
    assert str(path) in str(caught.value)


def test_a_baseline_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BaselineError, match="cannot be read"):
        load_baseline(tmp_path / "none.toml", KNOWN, TODAY)
