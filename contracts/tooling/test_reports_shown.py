"""What a person or a CI system sees of a run: terminal, JUnit XML, Markdown. Meaning in words, hostile text inert."""

import io
import json
import os
import re
import subprocess
import sys
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.redaction.scrub import MARK
from harness.reports.case import Case, run_id
from harness.reports.junit import junit_xml
from harness.reports.markdown import markdown_summary
from harness.reports.record import RunRecord
from harness.reports.result import CaseResult
from harness.reports.run_object import run_object
from harness.reports.standing import standing
from harness.reports.terminal import failure_lines, fault_lines, matrix_lines, summary_lines, write_lines
from harness.reports.totals import Totals
from harness.vocabulary.verdict import Finding, VerdictName

TRANSPORTS = ("openai-responses", "openai-chat", "anthropic-messages", "xml-fallback")
STREAM = Case("batch-over-budget", "anthropic-messages", True)
NODE = "scenarios/budget/batch-over-budget.yaml::batch-over-budget[anthropic-messages-stream]"
BROKEN = Finding(
    check="loop.tools.every-call-answered",
    verdict=VerdictName.FAIL,
    source="ADR-0115, wire: tool_use needs tool_result",
    expected="3 results for calls a, b, c in request order",
    actual="2 results (a, b); c unanswered: the provider would answer 400",
    request=3,
    pointer="/messages/4/content",
)
HOSTILE = "\x1b[31m\x00\r\n]]> <script>`x`|*\u202e\ud800\uffff ``` & \"'"
KEY = "sk-live1234567890abcdef"
ANY_TEXT = st.text(st.characters(codec=None, categories=None), max_size=80)


def result(case: Case = STREAM, *findings: Finding, **more: Any) -> CaseResult:
    more.setdefault("bare", {"pass": ("loop.turn.order",)})
    return CaseResult(case=case, run=run_id(case, "reference", 7), findings=findings, **more)


def saying(text: str) -> Finding:
    return Finding(check="a.b", verdict=VerdictName.FAIL, expected=text, actual=text, pointer=text, source=text)


def record(*results: CaseResult, stale: tuple[str, ...] = (), end: bool = True, **header: Any) -> RunRecord:
    head = {"subject": "reference", "seed": 7, "depth": "wire", "level": "must", "started": "2030-01-31T12:00:00"}
    modes = {"transports": list(TRANSPORTS), "streaming": ["stream", "plain"], "selected": len(results)}
    footer = {"stale": list(stale), "seconds": 1.5} if end else None
    return RunRecord({**head, **modes, **header}, results, footer)


def totals_of(*results: CaseResult) -> Totals:
    return record(*results).totals()


def parsed(made: RunRecord) -> ET.Element:
    root = ET.fromstring(junit_xml(made).encode())
    suite = root.find("testsuite")
    assert suite is not None
    return suite


def test_the_failure_block_has_the_shape_of_the_design() -> None:
    case = result(STREAM, BROKEN, node=NODE)
    assert failure_lines(case, BROKEN) == [
        "FAIL  anthropic-messages  loop.tools.every-call-answered  [MUST]  ADR-0115, wire: tool_use needs tool_result",
        "      scenario batch-over-budget, request 3, /messages/4/content",
        "      expected  3 results for calls a, b, c in request order",
        "      actual    2 results (a, b); c unanswered: the provider would answer 400",
        f'      replay    harness replay {case.run}   |   pytest "{NODE}"',
    ]


def test_what_a_finding_does_not_say_is_left_out_of_its_block() -> None:
    case = result(Case("x", "sim", None))
    lines = failure_lines(case, Finding(check="a.b", verdict=VerdictName.UNTESTABLE, actual="did not happen"))
    assert lines[0] == "UNTESTABLE  sim  a.b  [MUST]"
    assert lines[1] == "      scenario x"
    assert lines[2] == "      expected  (nothing said)"
    assert lines[4] == f"      replay    harness replay {case.run}"


def test_long_text_is_wrapped_under_itself_and_nothing_of_it_is_lost() -> None:
    words = " ".join(f"half-way-{n}" for n in range(80)) + " " + "x" * 300
    lines = failure_lines(result(), saying(words), width=100)
    body = lines[2 : lines.index(next(line for line in lines if line.startswith("      actual")))]
    assert all(len(line) <= 100 for line in body)
    assert all(line.startswith(" " * 16) for line in body[1:])
    assert "".join(line[16:].replace(" ", "") for line in body) == words.replace(" ", "")
    assert not any(line.endswith("-") for line in body)


def test_a_replay_line_is_never_wrapped_and_a_shell_reads_it_whole() -> None:
    assert failure_lines(result(node="a b/" + "c" * 200), BROKEN)[-1].endswith("c" * 200 + '"')
    assert failure_lines(result(node='$(x)"`'), BROKEN)[-1].endswith("|   pytest '$(x)\"`'")


@given(text=ANY_TEXT)
def test_no_line_of_a_block_holds_a_character_that_does_not_print(text: str) -> None:
    case = result(Case(text, text, None), fault=text, node=text)
    for line in [*failure_lines(case, saying(text)), *fault_lines(case)]:
        assert line.isprintable()
        line.encode()


def test_control_characters_are_shown_as_escapes_not_dropped() -> None:
    assert "\\x1b[31m\\x00\\r\\n]]>" in failure_lines(result(), saying(HOSTILE))[2]


def test_keys_are_taken_out_of_every_report() -> None:
    made = record(result(STREAM, saying(f"got {KEY}"), fault=f"sent {KEY}"), stale=(f"entry {KEY}",), subject=KEY)
    texts = (junit_xml(made), markdown_summary(made), "\n".join(summary_lines(made)), json.dumps(run_object(made)))
    blocks = "\n".join(fault_lines(made.results[0]) + failure_lines(made.results[0], made.results[0].findings[0]))
    for text in (*texts, blocks):
        assert KEY not in text
        assert MARK in text.replace("\\", "")


def test_a_fault_accuses_the_harness_and_says_nothing_of_the_subject() -> None:
    lines = fault_lines(result(fault="KeyError: 'x'"))
    assert lines[0] == "HARNESS FAULT  anthropic-messages  nothing is said of the subject"
    assert "      fault     KeyError: 'x'" in lines
    assert not any("FAIL" in line for line in lines)


def test_the_matrix_of_all_transports_fits_a_hundred_columns_with_the_longest_requirement_on_one_line() -> None:
    longest = "loop.budget.tool-calls-never-fail-the-answer"
    cases = [Case("s", transport, mode) for transport in TRANSPORTS for mode in (True, False)]
    lines = matrix_lines(totals_of(*(result(case, bare={"pass": (longest,)}) for case in cases)), 100)
    assert all(len(line) <= 100 for line in lines)
    row = next(line for line in lines if line.startswith(longest))
    assert row.split() == [longest] + ["1"] * 8
    heads = [line.split() for line in lines[2:4]]
    assert lines[0].endswith("FAIL below where one was broken")
    assert heads == [
        ["resp.", "resp.", "chat", "chat", "anthr.", "anthr.", "xml", "xml"],
        ["requirement", *["stream", "plain"] * 4],
    ]


def test_a_broken_cell_says_so_in_words_below_its_count() -> None:
    other = Case("batch-over-budget", "openai-chat", False)
    kept = {"pass": (BROKEN.check,)}
    totals = totals_of(result(STREAM, BROKEN), result(STREAM, bare=kept), result(other))
    lines = matrix_lines(totals, 100)
    at = next(number for number, line in enumerate(lines) if line.startswith(BROKEN.check))
    assert lines[at].split() == [BROKEN.check, "1/2", "-"]
    assert lines[at + 1].split() == ["FAIL"]
    assert lines[at + 1].index("FAIL") + 4 == lines[at].index("1/2") + 3


def test_what_the_baseline_expects_is_not_marked_as_broken_in_the_matrix() -> None:
    totals = totals_of(result(STREAM, BROKEN, listed=frozenset({BROKEN.check})))
    lines = matrix_lines(totals, 100)
    assert "FAIL" not in "".join(lines[1:])
    assert any(line.split() == [BROKEN.check, "0/1"] for line in lines)


@pytest.mark.parametrize("width", [28, 50, 80, 100, 200])
def test_a_narrow_matrix_becomes_several_tables_and_loses_no_cell(width: int) -> None:
    cases = [Case("s", transport, mode) for transport in TRANSPORTS for mode in (True, False)]
    lines = matrix_lines(totals_of(*(result(case, bare={"pass": ("a.b",)}) for case in cases)), width)
    assert all(len(line) <= width for line in lines)
    assert sum(line.split()[1:].count("1") for line in lines if line.startswith("a.b")) == 8


def test_the_matrix_of_nothing_is_nothing() -> None:
    assert matrix_lines(Totals(), 100) == []


NOTHING: dict[str, Any] = {"bare": {"not-applicable": ("a.b",)}}
STANDINGS: dict[str, tuple[RunRecord, str]] = {
    "KEPT": (record(result()), "no promise broken in 1 case"),
    "BROKEN": (record(result(STREAM, BROKEN), result()), "1 promise broken in 1 of 2 cases"),
    "HARNESS FAULT": (record(result(fault="x"), result(STREAM, BROKEN)), "the harness itself failed in 1 case, of"),
    "INCOMPLETE": (record(result(), end=False, selected=3), "the run was cut: 1 of 3 selected cases in the record"),
    "STALE BASELINE": (record(result(), stale=("x", "y")), "2 entries of the baseline stale"),
    "NOTHING RAN": (record(), "no case ran"),
    "NOTHING JUDGED": (record(result(**NOTHING)), "no promise applied in 1 case"),
}


@pytest.mark.parametrize("word", STANDINGS)
def test_every_report_says_what_the_run_comes_to_in_the_same_words(word: str) -> None:
    made, sentence = STANDINGS[word]
    end = standing(made)
    assert end.word == word
    assert end.sentence.startswith(sentence)
    assert summary_lines(made)[0] == f"{word}  {end.sentence}"
    assert markdown_summary(made).startswith(f"**{word}**: {sentence}")


def test_a_cut_run_with_broken_promises_says_both() -> None:
    sentence = standing(record(result(STREAM, BROKEN), end=False)).sentence
    assert "the run was cut" in sentence
    assert "1 promise broken in 1 of 1 case" in sentence


def test_the_summary_has_every_total_and_what_is_needed_to_run_it_again() -> None:
    lines = summary_lines(record(result(STREAM, BROKEN)))
    assert lines[1].strip() == "1 case of 1 scenario in 1.50 s; subject reference, seed 7, depth wire, level must"
    assert lines[2].strip() == "1 pass, 1 fail, 0 warn, 0 untestable, 0 not applicable, 0 info, 0 expected"


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colour_repeats_the_words_and_only_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    lines = [*failure_lines(result(node=NODE), BROKEN), "[bold]:smile:", "x" * 300]
    plain, coloured = io.StringIO(), _Terminal()
    write_lines(lines, plain)
    write_lines(lines, coloured)
    assert plain.getvalue() == "\n".join(lines) + "\n"
    assert "\x1b[1;31mFAIL\x1b[0m" in coloured.getvalue()
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured.getvalue()) == plain.getvalue()


def test_a_stream_that_lacks_a_letter_gets_an_escape_for_it() -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii", newline="\n")
    write_lines(["é"], out)
    out.flush()
    assert raw.getvalue() == b"\\xe9\n"


def test_reports_load_neither_pytest_nor_rich_nor_an_sdk() -> None:
    code = (
        "import sys, harness.reports.terminal, harness.reports.junit, harness.reports.markdown\n"
        "import harness.reports.run_object, harness.reports.baseline, harness.reports.schema_files\n"
        "print(*sorted({'pytest', 'rich', 'openai', 'anthropic', 'pydantic'} & set(sys.modules)))"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
    assert done.stdout.strip() == ""


def test_junit_has_one_test_case_a_case_with_what_is_needed_to_replay_it() -> None:
    made = record(result(STREAM, BROKEN), result(Case("b", "sim", None), seconds=0.25))
    suite = parsed(made)
    assert [case.get("name") for case in suite] == ["batch-over-budget[anthropic-messages-stream]", "b[sim]"]
    properties = {one.get("name"): one.get("value") for one in suite[0].iter("property")}
    assert properties == {
        "seed": "7",
        "transport": "anthropic-messages",
        "streaming": "stream",
        "replay": f"harness replay {made.results[0].run}",
    }
    assert suite[1].get("time") == "0.250"
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "2",
        "failures": "1",
        "errors": "0",
        "skipped": "0",
    }


def test_junit_tells_broken_promises_harness_faults_and_what_does_not_apply_apart() -> None:
    suite = parsed(record(result(STREAM, BROKEN), result(fault="broke"), result(**NOTHING), result()))
    kinds = [[child.tag for child in case if child.tag != "properties"] for case in suite]
    assert kinds == [["failure"], ["error"], ["skipped"], []]
    failure, error = suite[0].find("failure"), suite[1].find("error")
    assert failure is not None and failure.text == "\n".join(failure_lines(result(STREAM, BROKEN), BROKEN))
    assert error is not None and error.text == "\n".join(fault_lines(result(fault="broke")))


def test_junit_shows_an_expected_failure_as_such_and_not_as_skipped() -> None:
    suite = parsed(record(result(STREAM, BROKEN, listed=frozenset({BROKEN.check}))))
    properties = {one.get("name"): one.get("value") for one in suite.iter("property")}
    assert properties["expected-failure"] == BROKEN.check
    assert [child.tag for child in suite[0]] == ["properties"]


@pytest.mark.parametrize("made", [record(result(), end=False), record(result(), selected=2), record()])
def test_junit_of_a_run_that_was_cut_or_ran_nothing_is_not_green(made: RunRecord) -> None:
    last = parsed(made)[-1]
    error = last.find("error")
    assert error is not None
    assert standing(made).sentence in str(error.get("message"))


def test_junit_of_a_stale_baseline_is_not_green() -> None:
    failure = parsed(record(result(), stale=("entry 1 is stale",)))[-1].find("failure")
    assert failure is not None and failure.text == "entry 1 is stale"


@given(text=ANY_TEXT)
def test_junit_parses_whatever_text_a_run_holds(text: str) -> None:
    case = Case(text, text, True)
    suite = parsed(record(result(case, saying(text), node=text), result(fault=text), stale=(text,), started=text))
    assert len(suite) == 3


def test_junit_keeps_hostile_text_readable() -> None:
    suite = parsed(record(result(STREAM, saying(HOSTILE))))
    failure = suite[0].find("failure")
    assert failure is not None and failure.text is not None
    assert "\\x1b[31m\\x00\\r\\n]]> <script>`x`|*\\u202e\\ud800\\uffff ``` & \"'" in failure.text


def test_the_markdown_summary_has_the_matrix_and_the_failures_with_their_replay_lines() -> None:
    text = markdown_summary(record(result(STREAM, BROKEN, node=NODE), result(fault="broke")))
    assert "| requirement | anthropic-messages-stream |\n| --- | --- |\n" in text
    assert "| loop.tools.every-call-answered | **FAIL** 0/1 |\n" in text
    assert "| loop.turn.order | 2/2 |\n" in text
    assert "\n".join(failure_lines(result(STREAM, BROKEN, node=NODE), BROKEN)) in text
    assert "\n".join(fault_lines(result(fault="broke"))) in text
    assert "truncated" not in text


def test_text_of_a_run_is_never_markup_in_the_summary() -> None:
    case = Case("s", "a|b", None)
    finding = Finding(check="a|`b`<i>", verdict=VerdictName.FAIL, actual=HOSTILE)
    text = markdown_summary(record(result(case, finding), subject="<b>*x*", stale=("a_b_ [l](u)",)))
    outside = re.sub(r"(?ms)^(`{3,})text\n.*?^\1\n", "", text)
    assert "| a\\|\\`b\\`&lt;i&gt; | **FAIL** 0/1 |" in outside
    assert "| requirement | a\\|b |" in outside
    assert "&lt;b&gt;\\*x\\*" in outside
    assert "a\\_b\\_ \\[l\\](u)" in outside
    assert "<" not in outside
    assert "\n````text\n" in text


@given(text=ANY_TEXT, limit=st.integers(0, 4000), cases=st.integers(0, 12))
def test_the_summary_keeps_within_any_limit_of_bytes(text: str, limit: int, cases: int) -> None:
    made = record(*[result(STREAM, saying(text * 3), fault=text)] * cases, stale=(text,), subject=text)
    assert len(markdown_summary(made, limit).encode()) <= limit
    whole = markdown_summary(made)
    assert whole.count("```text\n") == 2 * cases


def test_a_summary_that_had_to_leave_something_out_says_so_and_breaks_no_block() -> None:
    made = record(*[result(STREAM, BROKEN)] * 100)
    text = markdown_summary(made, 5000)
    shown = text.count("FAIL  anthropic-messages")
    assert 0 < shown < 100
    assert text.splitlines()[-1] == f"**truncated**: {100 - shown} parts left out here; the run record has all of it."
    assert text.count("```") == 2 * shown
    assert text.startswith("**BROKEN**")


def test_a_truncated_summary_always_ends_with_the_whole_line_that_says_so() -> None:
    made = record(*[result(STREAM, BROKEN)] * 30)
    for limit in range(600, 2400, 61):
        assert markdown_summary(made, limit).endswith("left out here; the run record has all of it.\n")


def test_a_summary_of_exactly_the_limit_is_whole() -> None:
    made = record(*[result(STREAM, BROKEN)] * 10)
    size = len(markdown_summary(made).encode())
    assert "truncated" not in markdown_summary(made, size)
    assert "**truncated**: 1 part left out" in markdown_summary(made, size - 1)


def test_one_enormous_text_does_not_push_the_others_out_of_the_summary() -> None:
    made = record(result(STREAM, saying("é" * 3_000_000)), result(STREAM, BROKEN))
    text = markdown_summary(made)
    assert "truncated: 2996000 more characters" in re.sub(r"\n +", " ", text)
    assert BROKEN.actual in text
