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
from harness.vocabulary.turn import StopReason
from harness.vocabulary.verdict import VerdictName

Run = Callable[..., Any]
ANSWERED = "loop.tools.every-call-answered"
INVALID = "loop.tools.invalid-arguments"
UNKNOWN = "loop.tools.unknown"
DATA = "loop.tools.external-text-is-data"
EVENTS = "loop.events.no-arguments"
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


# --- events ---


def told(run: Run, name: str = "tool.call.finished", **fields: Any) -> Any:
    trace = run().request()
    trace.reply(trace.call("fetch", {"url": "https://example.org/a"})).execute(text="The page says 42.")
    return trace.event(name, **fields).join().answer()


def test_identity_and_classification_pass(run: Run) -> None:
    trace = told(run, call_id="c1", tool="fetch", outcome="ok", reason_code=None, step=1, waiting_for=("c1",))
    assert trace.verdict(EVENTS) is VerdictName.PASS


@pytest.mark.parametrize(
    "fields",
    [
        {"arguments": "{}"},
        {"result": "ok"},
        {"detail": "https://example.org/a"},
        {"detail": '{"url": "https://example.org/a"}'},
        {"detail": "The page says 42."},
        {"detail": "fetched https://example.org/a and all went very well"},
        {"call": {"url": "x"}},
    ],
)
def test_arguments_and_result_text_in_events_fail(run: Run, fields: dict[str, Any]) -> None:
    assert "identity and classification only" in told(run, **fields).failure(EVENTS)


def test_settings_are_recorded_when_a_run_starts(run: Run) -> None:
    trace = (
        run()
        .event("run.started", settings={"model": "sim-model"})
        .step(("fetch", {}))
        .event("tool.call.finished", tool="fetch")
    )
    assert trace.answer().verdict(EVENTS) is VerdictName.PASS


# --- turn order ---


def test_answers_come_before_fitting(run: Run) -> None:
    def mixed(code: str) -> Any:
        trace = run(limits={"max_tool_calls": 1}).request()
        bad, good = trace.call("nowhere"), trace.call("fetch")
        trace.reply(good, bad).execute(good).error(bad, f"[{code}]\nAnswer from the evidence.").join()
        return trace.answer(mode="tool_calls")

    assert mixed("tool.unknown").verdict(ORDER) is VerdictName.PASS
    assert "takes no budget slot; actual it was refused" in mixed("tool.budget_exhausted").failure(ORDER)


def test_a_truncated_call_never_runs(run: Run) -> None:
    def truncated(execute: bool) -> Any:
        trace = run().request()
        first, last = trace.call("fetch", {"u": 1}), trace.call("fetch", {"u": 2})
        trace.reply(first, last, stop=StopReason.MAX_TOKENS).execute(first)
        trace.execute(last) if execute else trace.error(last, "[tool.arguments_truncated]\nCut.")
        return trace.join().answer()

    assert truncated(False).verdict(ORDER) is VerdictName.PASS
    assert "answered as tool.arguments_truncated, without dispatch" in truncated(True).failure(ORDER)


def test_a_truncated_call_in_synthesis_is_a_violation(run: Run) -> None:
    trace = run(limits={"max_tool_calls": 0}).request("tool_calls")
    trace.reply(trace.call("fetch", "{"), stop=StopReason.MAX_TOKENS)
    trace.error(trace.calls[0], "[tool.arguments_truncated]\nCut.").join()
    assert "SynthesisReserveViolation; actual the run went on" in trace.answer(mode="tool_calls").failure(ORDER)


def test_the_budget_violation_wins_over_the_limit(run: Run) -> None:
    def five(reason: str, error_class: str) -> VerdictName:
        trace = run(limits={"max_tool_calls": 0}).request("tool_calls")
        trace.reply(*[trace.call("fetch", {"u": 1}) for _ in range(5)])
        verdict: VerdictName = trace.fail(reason, error_class, details={"synthesis_reserve": "tool_calls"}).verdict(
            ORDER
        )
        return verdict

    assert five("budget_exceeded", "SynthesisReserveViolation") is VerdictName.PASS
    assert five("tool_loop_detected", "ToolLoopDetected") is VerdictName.FAIL


def test_asking_for_a_call_that_is_then_refused_fails(run: Run, tool: Any) -> None:
    trace = run(limits={"max_tool_calls": 1}, tools=[tool("fetch"), tool("pay", approval=True)]).request()
    one, pay = trace.call("fetch"), trace.call("pay")
    trace.reply(one, pay).ask(pay).execute(one).refuse(pay).join()
    assert "approval is asked for fitted calls only" in trace.answer(mode="tool_calls").failure(ORDER)


def test_a_run_ends_once(run: Run) -> None:
    trace = run().answer()
    trace.request().reply(say="Again.")
    assert "nothing happens after the run has completed; actual request 2" in trace.failure(ORDER)
    trace = run().answer().end(Status.FAILED, "internal_error", "LoopInvariantError")
    assert "one outcome: completed; actual another: failed" in trace.failure(ORDER)


def test_an_answer_ends_the_run(run: Run) -> None:
    trace = run().request().reply(say="Done.").answer()
    assert "an answer in hand ends the run; actual another request was sent" in trace.failure(ORDER)


def test_text_that_reads_as_a_call_on_the_xml_fallback_is_not_judged(run: Run) -> None:
    trace = run(transport="xml-fallback").request().reply(say='<tool_call name="fetch">{}</tool_call>').answer()
    assert trace.verdict(ORDER) is VerdictName.UNTESTABLE


def test_telling_the_outcome_again_is_allowed(run: Run) -> None:
    assert run().answer().end(message="Done.").verdict(ORDER) is VerdictName.UNTESTABLE
