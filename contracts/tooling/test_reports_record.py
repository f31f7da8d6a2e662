"""The run record: what is written is what is read, a run that is cut says so, and damage is named with its line."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.redaction.scrub import MARK, redact
from harness.reports.case import Case, run_id
from harness.reports.record import RecordError, RecordWriter, RunRecord, read_record
from harness.reports.result import CaseResult
from harness.reports.run_object import run_object
from harness.reports.schema_files import UnknownSchema, schema, schema_names
from harness.reports.totals import KEYS
from harness.vocabulary.verdict import Finding, VerdictName

STREAM = Case("batch-over-budget", "anthropic-messages", True)
PLAIN = Case("batch-over-budget", "openai-chat", False)
ANSWERED = "loop.tools.every-call-answered"
HEADER = {
    "harness": "0.1.0",
    "python": "3.11.9",
    "packages": {"openai": "3.57.0"},
    "subject": "reference",
    "seed": 7,
    "depth": "wire",
    "level": "must",
    "transports": ["openai-chat", "anthropic-messages"],
    "streaming": ["stream", "plain"],
    "selected": 2,
    "started": "2030-01-31T12:00:00+00:00",
}
BROKEN = Finding(
    check=ANSWERED,
    verdict=VerdictName.FAIL,
    source="ADR-0115",
    expected="3 results",
    actual="2 results",
    request=3,
    pointer="/messages/4/content",
)
SURROGATE = re.compile("[\ud800-\udfff]")


def result(case: Case, *findings: Finding, **more: Any) -> CaseResult:
    more.setdefault("bare", {"pass": ("loop.turn.order",)})
    return CaseResult(case=case, run=run_id(case, "reference", 7), findings=findings, **more)


def footer(record: RunRecord, **more: Any) -> dict[str, Any]:
    totals = record.totals()
    return {
        "totals": totals.by_name(),
        "cases": totals.cases,
        "scenarios": len(totals.scenarios),
        "broken_cases": totals.broken_cases,
        "faults": totals.faults,
        "stale": [],
        "seconds": 1.5,
        **more,
    }


def written(path: Path, *results: CaseResult, end: bool = True, **header: Any) -> Path:
    writer = RecordWriter(path)
    writer.header({**HEADER, "selected": len(results), **header})
    for one in results:
        writer.case(one)
    if end:
        writer.footer(footer(RunRecord({**HEADER, **header}, results)))
    return path


def test_what_is_written_is_what_is_read(tmp_path: Path) -> None:
    results = (
        result(STREAM, BROKEN, node="scenarios/a.yaml::x", listed=frozenset({ANSWERED}), outcome="completed"),
        result(PLAIN, fault="KeyError: 'x'", seconds=0.25, bare={"not-applicable": ("a.b",), "pass": ("c.d", "e.f")}),
    )
    record = read_record(written(tmp_path / "deep" / "run.jsonl", *results))
    assert record.results == results
    assert record.complete
    assert record.header == {"kind": "header", "format": 1, **HEADER}
    assert record.footer is not None and record.footer["totals"]["expected"] == 1


def test_every_line_is_in_the_file_when_the_call_returns(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    writer = RecordWriter(path)
    writer.header(HEADER)
    assert path.read_bytes().count(b"\n") == 1
    writer.case(result(STREAM))
    assert path.read_bytes().count(b"\n") == 2
    assert not read_record(path).complete


def test_a_new_run_replaces_the_record_of_the_last_one_before_anything_runs(tmp_path: Path) -> None:
    path = written(tmp_path / "run.jsonl", result(STREAM))
    RecordWriter(path)
    assert path.read_bytes() == b""


def test_every_line_keeps_to_the_published_schema(tmp_path: Path) -> None:
    path = written(tmp_path / "run.jsonl", result(STREAM, BROKEN), result(Case("x", "sim", None), fault="broke"))
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [line["kind"] for line in lines] == ["header", "case", "case", "footer"]
    for line in lines:
        jsonschema.validate(line, schema("run-record"))


@pytest.mark.parametrize("change", [{"kind": "other"}, {"findings": [{"check": "x"}]}, {"streaming": "yes"}])
def test_the_schema_of_the_record_refuses_what_is_no_line(tmp_path: Path, change: dict[str, Any]) -> None:
    path = written(tmp_path / "run.jsonl", result(STREAM, BROKEN))
    line = json.loads(path.read_text(encoding="utf-8").splitlines()[1])
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**line, **change}, schema("run-record"))


@given(text=st.text(st.characters(codec=None, categories=None), max_size=60) | st.sampled_from(["\u2028\x85\r\n\x00"]))
def test_any_text_comes_back_redacted_with_surrogates_replaced(
    text: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    finding = Finding(check="a.b", verdict=VerdictName.FAIL, expected=text, actual=text, pointer=text)
    record = read_record(written(path, result(STREAM, finding, fault=text)))
    clean = SURROGATE.sub("\ufffd", redact(text))
    (back,) = record.results
    assert (back.findings[0].expected, back.findings[0].pointer, back.fault) == (clean, clean, clean)
    jsonschema.validate(run_object(record), schema("run"))


def test_a_key_that_a_subject_sent_is_in_no_line(tmp_path: Path) -> None:
    key = "sk-live1234567890abcdef"
    finding = Finding(check="a.b", verdict=VerdictName.FAIL, expected=key, actual=f"got {key}", pointer=f"/x/{key}")
    path = written(tmp_path / "run.jsonl", result(STREAM, finding, fault=key), subject=key, packages={"p": key})
    text = path.read_text(encoding="utf-8")
    assert key not in text
    assert text.count(MARK) == 6


def test_the_whole_of_a_record_cut_at_any_byte_is_an_incomplete_run_or_an_error(tmp_path: Path) -> None:
    path = written(tmp_path / "run.jsonl", result(STREAM, BROKEN), result(PLAIN))
    whole = path.read_bytes()
    ends = [place for place, byte in enumerate(whole) if byte == ord("\n")]
    for cut in range(len(whole) - 1):
        path.write_bytes(whole[:cut])
        if cut < ends[0]:
            with pytest.raises(RecordError, match="line 1: no header"):
                read_record(path)
            continue
        record = read_record(path)
        assert not record.complete
        assert len(record.results) == sum(cut >= end for end in ends[1:3])


def test_a_whole_last_line_counts_without_its_line_end(tmp_path: Path) -> None:
    path = written(tmp_path / "run.jsonl", result(STREAM))
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    assert read_record(path).complete


def test_a_run_that_stopped_before_all_selected_cases_is_not_complete_though_it_has_a_footer(tmp_path: Path) -> None:
    record = read_record(written(tmp_path / "run.jsonl", result(STREAM), selected=3))
    assert record.footer is not None
    assert not record.complete


def _lines(change: Callable[[list[dict[str, Any]]], Any]) -> Callable[[str], str]:
    def changed(text: str) -> str:
        lines = [json.loads(line) for line in text.splitlines()]
        change(lines)
        return "".join(json.dumps(line) + "\n" for line in lines)

    return changed


DAMAGE: dict[str, tuple[Callable[[str], str], str]] = {
    "garbage": (lambda text: text.replace('{"kind":"case"', "{kind", 1), "line 2: not a JSON object"),
    "nan": (lambda text: text.replace('"seconds":0.0', '"seconds":NaN', 1), "line 2: not a JSON object"),
    "no header": (lambda text: text.split("\n", 1)[1], "line 1: the first line is not a header"),
    "other format": (_lines(lambda lines: lines[0].update(format=2)), "line 1: format 2, this version reads 1"),
    "no seed": (_lines(lambda lines: lines[0].pop("seed")), "line 1: no `seed`"),
    "level": (_lines(lambda lines: lines[0].update(level="may")), "line 1: level is 'may'"),
    "kind": (_lines(lambda lines: lines[1].update(kind="what")), "line 2: kind is 'what'"),
    "type": (_lines(lambda lines: lines[1].update(findings=3)), "line 2: `findings` is 3"),
    "verdict": (_lines(lambda lines: lines[1]["findings"][0].update(verdict="may")), "line 2: not a case"),
    "finding": (_lines(lambda lines: lines[1]["findings"][0].pop("actual")), "line 2: no `actual`"),
    "finding type": (_lines(lambda lines: lines[1].update(findings=[3])), "line 2: a finding is not an object"),
    "count": (_lines(lambda lines: lines.pop(1)), "line 3: the footer counts 2 cases, but 1 stand before it"),
    "after footer": (_lines(lambda lines: lines.append(lines[1])), "line 5: a line after the footer"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_record_is_refused_with_file_line_and_mend(tmp_path: Path, damage: str) -> None:
    path = written(tmp_path / "run.jsonl", result(STREAM, BROKEN), result(PLAIN))
    change, message = DAMAGE[damage]
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(RecordError, match=re.escape(message)) as caught:
        read_record(path)
    assert str(path) in str(caught.value)
    assert "again" in str(caught.value)


def test_a_record_that_is_not_there_is_refused_with_what_writes_one(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="`harness run` writes one"):
        read_record(tmp_path / "none.jsonl")


def test_a_record_that_cannot_be_written_names_the_file_and_the_mend(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(RecordError, match="choose another --output folder"):
        RecordWriter(tmp_path / "file" / "run.jsonl")


def test_the_run_object_says_where_each_broken_promise_lies_and_how_to_replay_it(tmp_path: Path) -> None:
    expected = Finding(check="a.listed", verdict=VerdictName.FAIL)
    case = result(STREAM, BROKEN, expected, listed=frozenset({"a.listed"}))
    made = run_object(read_record(written(tmp_path / "run.jsonl", case, result(PLAIN, fault="broke"))))
    jsonschema.validate(made, schema("run"))
    assert made["failures"] == [
        {
            "scenario": "batch-over-budget",
            "transport": "anthropic-messages",
            "streaming": True,
            "check": ANSWERED,
            "verdict": "fail",
            "level": "MUST",
            "expected": "3 results",
            "actual": "2 results",
            "where": "request 3, /messages/4/content",
            "replay": f"harness replay {case.run}",
        }
    ]
    assert [fault["message"] for fault in made["faults"]] == ["broke"]
    assert made["totals"] == dict.fromkeys(KEYS, 0) | {"pass": 2, "fail": 1, "expected": 1}
    assert (made["scenarios"], made["cases"], made["complete"], made["seconds"]) == (1, 2, True, 1.5)


def test_the_run_object_of_a_cut_run_says_so_and_keeps_to_its_schema(tmp_path: Path) -> None:
    made = run_object(read_record(written(tmp_path / "run.jsonl", result(STREAM, seconds=0.5), end=False)))
    jsonschema.validate(made, schema("run"))
    assert (made["complete"], made["seconds"], made["stale"]) == (False, 0.5, [])


def test_the_run_object_can_be_written_as_utf_8_whatever_it_quotes() -> None:
    finding = Finding(check="a.b", verdict=VerdictName.FAIL, actual="\ud800")
    made = run_object(RunRecord({**HEADER, "subject": "\udcff"}, (result(STREAM, finding),)))
    assert json.dumps(made, ensure_ascii=False).encode().count("\ufffd".encode()) == 2


def test_at_level_should_a_warning_is_a_failure_of_the_run_object(tmp_path: Path) -> None:
    warning = Finding(check="a.b", verdict=VerdictName.WARN, level="SHOULD")
    case = result(STREAM, warning)
    made = {
        level: run_object(read_record(written(tmp_path / level, case, level=level)))["failures"]
        for level in ("must", "should")
    }
    assert made["must"] == []
    assert [(failure["verdict"], failure["level"]) for failure in made["should"]] == [("warn", "SHOULD")]


def test_every_published_schema_is_a_valid_schema_that_names_itself() -> None:
    assert {"run", "run-record", "list", "requirements", "lint"} <= set(schema_names())
    for name in schema_names():
        jsonschema.Draft202012Validator.check_schema(schema(name))
        assert schema(name)["$id"].endswith(f":{name}")


def test_an_unknown_schema_is_refused_with_the_near_and_the_known_names() -> None:
    with pytest.raises(UnknownSchema, match="did you mean 'run-record'") as caught:
        schema("run-recrod")
    assert all(name in str(caught.value) for name in schema_names())


LISTED = {
    "list": {
        "id": "a",
        "title": "A",
        "area": "budget",
        "file": "scenarios/budget/a.yaml",
        "proves": [ANSWERED],
        "requires": [],
        "sources": ["ADR-0115"],
        "items": ["a[sim]"],
    },
    "requirements": {
        "id": ANSWERED,
        "level": "MUST",
        "statement": "Each call is answered.",
        "source": "API",
        "checks": [ANSWERED],
        "scenarios": ["a"],
        "status": "proven",
    },
}


@pytest.mark.parametrize("name", LISTED)
def test_the_list_schemas_take_a_row_and_refuse_one_that_lacks_a_key(name: str) -> None:
    row = LISTED[name]
    jsonschema.validate([row], schema(name))
    for key in row:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate([{one: row[one] for one in row if one != key}], schema(name))


def test_the_lint_schema_asks_for_every_count() -> None:
    counts = ["exchanges", "accepted", "rejected", "unparsed", "round_trip_failed"]
    counts += ["recorded_ok_rejected", "recorded_fault_missed"]
    finding = {"id": "x", "transport": "openai-chat", "rule": "r", "where": "/a", "message": "m"}
    made = {**dict.fromkeys(counts, 0), "by_transport": {"openai-chat": {"exchanges": 1}}, "findings": [finding]}
    jsonschema.validate(made, schema("lint"))
    for key in made:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({one: made[one] for one in made if one != key}, schema("lint"))
