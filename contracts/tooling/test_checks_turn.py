"""Checkers of loop.turn.order and loop.events.no-arguments."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.vocabulary.outcome import Status
from harness.vocabulary.turn import StopReason
from harness.vocabulary.verdict import VerdictName

Run = Callable[..., Any]
EVENTS = "loop.events.no-arguments"
ORDER = "loop.turn.order"


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
        {"call": {"url": "https://example.org/a"}},
        {"call": {"arguments": "{}"}},
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
