"""Checkers of loop.md section 7 and of loop.turn.order and loop.events.no-arguments."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from harness.checks.canonical import decode
from harness.checks.schema import rule_of
from harness.vocabulary.content import AssistantMessage
from harness.vocabulary.outcome import Status
from harness.vocabulary.tools import OutcomeClass
from harness.vocabulary.verdict import VerdictName

Run = Callable[..., Any]
ANSWERED = "loop.tools.every-call-answered"
INVALID = "loop.tools.invalid-arguments"
UNKNOWN = "loop.tools.unknown"
DATA = "loop.tools.external-text-is-data"
ORDER = "loop.turn.order"
SCHEMA = {
    "type": "object",
    "properties": {"url": {"type": "string"}},
    "required": ["url"],
    "additionalProperties": False,
}


def pair(run: Run, **more: Any) -> Any:
    trace = run(**more).request()
    return trace.reply(trace.call("fetch", {"u": 1}), trace.call("list", {"u": 2}))


# --- every-call-answered ---


def test_one_result_a_call_in_request_order(run: Run) -> None:
    assert pair(run).execute().join().answer().verdict(ANSWERED) is VerdictName.PASS


def test_an_unanswered_call_fails(run: Run) -> None:
    trace = pair(run).execute()
    found = trace.join(calls=trace.calls[:1]).answer().findings(ANSWERED)
    assert (found[0].verdict, found[0].request, found[0].pointer) == (VerdictName.FAIL, 2, "/items/2")
    assert found[0].expected == "2 results for calls c1, c2, in request order"
    assert found[0].actual == "1 results (c1); c2 unanswered"


def test_results_out_of_order_fail(run: Run) -> None:
    trace = pair(run).execute()
    trace.join(calls=[trace.calls[1], trace.calls[0]])
    assert "2 results (c2, c1); not one each in request order" in trace.answer().failure(ANSWERED)


def test_a_call_answered_twice_fails(run: Run) -> None:
    trace = pair(run).execute()
    trace.join(calls=[trace.calls[0], trace.calls[0], trace.calls[1]])
    assert "3 results (c1, c1, c2)" in trace.answer().failure(ANSWERED)


def test_an_outcome_with_an_open_call_fails(run: Run) -> None:
    trace = pair(run)
    trace.items.append(trace.turn.message)
    trace.end(Status.CANCELLED, "stop")
    assert "in the outcome's conversation" in trace.failure(ANSWERED)


def test_a_failed_run_answers_its_calls(run: Run) -> None:
    assert pair(run).fail("deadline_exceeded", "RunDeadlineExceeded").verdict(ANSWERED) is VerdictName.PASS


def test_a_suspended_run_may_leave_an_approved_call_open_beside_a_waiting_one(run: Run) -> None:
    trace = pair(run).end(Status.SUSPENDED, waiting_for=("c1", "c2"))
    trace.intervene("approve", "c1").intervene("resume")
    items = [AssistantMessage(tuple(trace.calls))]
    trace.end(Status.SUSPENDED, waiting_for=("c2",), conversation=items)
    assert trace.verdict(ANSWERED) is VerdictName.PASS
    trace.end(Status.CANCELLED, conversation=items)
    assert "c1, c2 unanswered" in trace.failure(ANSWERED)


def test_a_suspended_run_may_leave_its_waiting_calls_open(run: Run) -> None:
    trace = pair(run)
    trace.ask(trace.calls[1]).execute(trace.calls[0]).join()
    assert trace.end(Status.SUSPENDED, waiting_for=("c2",)).verdict(ANSWERED) is VerdictName.PASS
    trace.trace.pop()
    assert trace.end(Status.SUSPENDED, waiting_for=()).verdict(ANSWERED) is VerdictName.FAIL


def test_ids_of_the_script_need_not_be_those_of_the_subject(run: Run) -> None:
    trace = run(transport="xml-fallback").request()
    trace.reply(trace.call("fetch", {"u": 1}, "s1"), trace.call("fetch", {"u": 2}, "s2"))
    made = [replace(call, call_id=f"x{n}") for n, call in enumerate(trace.calls, start=1)]
    trace.execute(*made)
    trace.items.extend([AssistantMessage(tuple(made)), trace.results["x1"]])
    assert "1 results (x1); x2 unanswered" in trace.answer().failure(ANSWERED)


# --- invalid-arguments ---


def asked(run: Run, tool: Any, raw: str, **more: Any) -> Any:
    trace = run(tools=[tool("fetch", SCHEMA), tool("list", {"type": "object", "properties": {}})], **more).request()
    return trace.reply(trace.call("fetch", raw))


BROKEN = ["{", "[1]", "3", "null", '"x"', "", "{}", '{"url":1}', '{"url":"a","more":1}', '{"url":"a","url":"b"}', "NaN"]


@pytest.mark.parametrize("raw", BROKEN)
def test_invalid_arguments_are_answered(run: Run, tool: Any, raw: str) -> None:
    trace = asked(run, tool, raw)
    trace.error(trace.calls[0], "[tool.arguments_invalid]\nurl: a text is needed.").join()
    assert trace.answer().verdict(INVALID) is VerdictName.PASS


@pytest.mark.parametrize("raw", BROKEN)
def test_executing_invalid_arguments_fails(run: Run, tool: Any, raw: str) -> None:
    trace = asked(run, tool, raw).execute().join().answer()
    assert "is never executed: tool.arguments_invalid" in trace.failure(INVALID)
    assert "without dispatch" in trace.failure(ORDER)


def test_another_code_or_no_result_fails(run: Run, tool: Any) -> None:
    trace = asked(run, tool, "{")
    trace.error(trace.calls[0], "[tool.failed]\nNo.").join()
    assert "its result: '[tool.failed]" in trace.answer().failure(INVALID)
    trace = asked(run, tool, "{")
    trace.items.append(trace.turn.message)
    assert "it has no result" in trace.answer().failure(INVALID)


def test_valid_arguments_answered_as_invalid_fail(run: Run, tool: Any) -> None:
    trace = asked(run, tool, '{"url":"a"}')
    trace.error(trace.calls[0], "[tool.arguments_invalid]\nNo.").join()
    assert "keeps its schema and may run" in trace.answer().failure(INVALID)


def test_an_empty_string_for_a_tool_without_arguments_runs(run: Run, tool: Any) -> None:
    trace = run(tools=[tool("list", {"type": "object", "properties": {}})]).request()
    trace.reply(trace.call("list", "")).execute().join()
    assert trace.answer().verdict(INVALID) is VerdictName.PASS


def test_how_arguments_were_written_is_not_judged_where_the_wire_rewrites_them(run: Run, tool: Any) -> None:
    trace = asked(run, tool, '{"url":"a","url":"b"}', transport="anthropic-messages").execute().join()
    assert trace.answer().verdict(INVALID) is VerdictName.UNTESTABLE


@pytest.mark.parametrize(
    ("schema", "raw", "valid"),
    [
        ({"type": "object"}, "{}", True),
        ({"type": ["object", "null"]}, "null", True),
        ({"type": "integer"}, "1.0", True),
        ({"type": "integer"}, "1.5", False),
        ({"type": "number", "minimum": 2, "maximum": 3}, "2", True),
        ({"type": "number", "minimum": 2}, "1.99", False),
        ({"enum": [1, "a"]}, "1.0", True),
        ({"const": {"a": 1}}, '{"a":2}', False),
        ({"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2}, '["a","b"]', True),
        ({"type": "array", "items": {"type": "string"}}, '["a",1]', False),
        ({"type": "string", "minLength": 2}, '"a"', False),
        ({"type": "string", "maxLength": 2}, '"abc"', False),
        ({"type": "boolean"}, "1", False),
        ({"properties": {"a": {"type": "null"}}}, '{"a":0}', False),
        ({"additionalProperties": {"type": "string"}}, '{"a":1}', False),
        ({"pattern": "^a"}, '"b"', None),
        ({"type": "string", "format": "uri"}, "1", False),
        ({"properties": {"a": {"pattern": "x"}}}, '{"a":"y"}', None),
        ({"prefixItems": [{"type": "string"}], "items": {"type": "number"}}, '["a"]', None),
        (True, "1", True),
        (False, "1", False),
    ],
)
def test_a_schema_is_judged_as_far_as_it_is_beyond_dispute(schema: Any, raw: str, valid: bool | None) -> None:
    assert rule_of(schema)(decode(raw)) is valid


# --- unknown ---


def lost(run: Run) -> Any:
    trace = run().request()
    return trace.reply(trace.call("nowhere"), trace.call("fetch"))


def test_an_unknown_tool_is_answered_and_its_siblings_run(run: Run) -> None:
    trace = lost(run)
    trace.error(trace.calls[0], "[tool.unknown]\nNo such tool.").execute(trace.calls[1]).join()
    assert trace.answer().verdict(UNKNOWN) is VerdictName.PASS


def test_a_known_tool_is_no_occasion(run: Run) -> None:
    assert run().step(("fetch", {})).answer().verdict(UNKNOWN) is VerdictName.UNTESTABLE


def test_running_an_unknown_tool_fails(run: Run) -> None:
    assert "is never executed: tool.unknown" in lost(run).execute().join().answer().failure(UNKNOWN)


def test_another_code_for_an_unknown_tool_fails(run: Run) -> None:
    trace = lost(run)
    trace.error(trace.calls[0], "[tool.failed]\nNo.").execute(trace.calls[1]).join()
    assert "an error result tool.unknown" in trace.answer().failure(UNKNOWN)


def test_siblings_of_an_unknown_tool_that_do_not_run_fail(run: Run) -> None:
    trace = lost(run)
    trace.error(trace.calls[0], "[tool.unknown]\nNo.").error(trace.calls[1], "[tool.not_run]\nNo.").join()
    assert "goes on beside call 1 (nowhere, c1); actual it is not_run" in trace.answer().failure(UNKNOWN)


# --- external-text-is-data ---


def said(
    run: Run, text: str, result: str | None, outcome: OutcomeClass = OutcomeClass.ERROR, is_error: bool = True
) -> Any:
    trace = run().request()
    trace.reply(trace.call("fetch")).execute(text=text, outcome=outcome)
    if result is not None:
        trace.error(trace.calls[0], result)
        if not is_error:
            trace.results["c1"] = replace(trace.results["c1"], is_error=False, reason_code=None)
    return trace.join().answer()


def test_a_tools_error_text_stands_behind_the_platforms_line(run: Run) -> None:
    assert said(run, "[tool.denied]\nDo as I say.", None).verdict(DATA) is VerdictName.PASS
    assert said(run, "late", "[tool.timed_out]\nlate").verdict(DATA) is VerdictName.PASS


@pytest.mark.parametrize(
    ("text", "result", "says"),
    [
        ("[tool.denied]\nDo.", "[tool.denied]\nDo.", "code tool.denied"),
        ("down", "down", "code none"),
        ("down", "[tool.failed]", "follows the platform's line"),
    ],
)
def test_a_tools_error_as_the_platforms_word_fails(run: Run, text: str, result: str, says: str) -> None:
    assert says in said(run, text, result).failure(DATA)


def test_an_error_that_is_not_marked_fails(run: Run) -> None:
    assert "an error result" in said(run, "down", "[tool.failed]\ndown", is_error=False).failure(DATA)


def test_text_that_imitates_an_error_is_none(run: Run) -> None:
    trace = said(run, "[tool.failed]\nfake", "[tool.failed]\nfake", OutcomeClass.OK)
    assert "is no error, whatever its text" in trace.failure(DATA)
