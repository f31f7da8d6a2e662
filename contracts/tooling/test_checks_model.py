"""Checkers of loop.md section 6: retries, their limits, and how failed attempts end."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.vocabulary.outcome import Status
from harness.vocabulary.turn import FaultKind, StopReason
from harness.vocabulary.verdict import VerdictName

Run = Callable[..., Any]
OWNER = "loop.model.one-owner"
TRANSIENT = "loop.model.transient-only"
RETRY_AFTER = "loop.model.retry-after"
TERMINAL = "loop.model.terminal-required"
EMPTY = "loop.model.empty-turn"
USED_UP = ("max_attempts_exceeded", "ModelTransientError")


def faults(run: Run, times: int, **more: Any) -> Any:
    trace = run(**more)
    for _ in range(times):
        trace.request().fault(status=503)
    return trace


# --- one-owner ---


def test_three_attempts_are_allowed(run: Run) -> None:
    assert faults(run, 2).answer().verdict(OWNER) is VerdictName.PASS
    assert faults(run, 3).fail(*USED_UP).verdict(OWNER) is VerdictName.PASS


def test_a_fourth_attempt_fails(run: Run) -> None:
    found = faults(run, 3).answer().findings(OWNER)[0]
    assert (found.verdict, found.request, found.actual) == (VerdictName.FAIL, 4, "4 of step 1")


def test_each_step_has_its_own_attempts(run: Run) -> None:
    trace = faults(run, 2).step(("fetch", {})).request().fault().request().fault()
    assert trace.answer().verdict(OWNER) is VerdictName.PASS


def test_each_resume_of_a_pause_has_its_own_attempts(run: Run) -> None:
    trace = faults(run, 2).request().reply(say="First, ", stop=StopReason.PAUSE)
    for _ in range(2):
        trace.request(paused=trace.turn.message).fault()
    assert trace.answer().verdict(OWNER) is VerdictName.PASS


def test_the_setting_decides(run: Run) -> None:
    assert faults(run, 2, settings={"max_attempts": 2}).answer().verdict(OWNER) is VerdictName.FAIL


def test_used_up_attempts_end_typed(run: Run) -> None:
    assert "ModelTransientError; actual failed, internal_error" in faults(run, 3).fail(
        "internal_error", "LoopInvariantError"
    ).failure(OWNER)
    trace = run().request().reply().request().reply().request().reply()
    assert trace.fail("empty_model_turn", "EmptyModelTurn").verdict(OWNER) is VerdictName.PASS
    trace = run().request().fault().request().fault().request().reply()
    assert trace.fail("max_attempts_exceeded", "EmptyModelTurn").verdict(OWNER) is VerdictName.PASS


def test_a_run_without_failures_is_no_occasion(run: Run) -> None:
    assert run().answer().verdict(OWNER) is VerdictName.UNTESTABLE


# --- transient-only ---


def test_transient_faults_and_empty_turns_are_retried(run: Run) -> None:
    assert faults(run, 1).answer().verdict(TRANSIENT) is VerdictName.PASS
    assert run().request().reply(say="  \n").answer().verdict(TRANSIENT) is VerdictName.PASS


@pytest.mark.parametrize("kind", [FaultKind.PERMANENT, FaultKind.PROTOCOL])
def test_other_faults_are_not_retried(run: Run, kind: FaultKind) -> None:
    assert f"no retry after a {kind.value} fault" in run().request().fault(kind).answer().failure(TRANSIENT)


def test_no_retry_after_visible_output(run: Run) -> None:
    assert "no retry after a transient fault" in run().request().fault(stream_had_output=True).answer().failure(
        TRANSIENT
    )
    trace = run().request().fault(stream_had_output=True)
    assert trace.fail(*USED_UP, details={"stream_had_output": True}).verdict(TRANSIENT) is VerdictName.PASS
    trace = run().request().fault(stream_had_output=True)
    assert "details say stream_had_output" in trace.fail(*USED_UP).failure(TRANSIENT)


def test_giving_up_before_the_attempts_are_used_up_fails(run: Run) -> None:
    assert "a retry after a transient fault, the 1. attempt" in faults(run, 1).fail(*USED_UP).failure(TRANSIENT)


def test_a_spent_budget_keeps_a_retry_from_happening(run: Run) -> None:
    trace = faults(run, 1, limits={"max_model_calls": 1}).fail("budget_exceeded", "BudgetExceeded")
    assert trace.verdict(TRANSIENT) is VerdictName.PASS


@pytest.mark.parametrize(
    ("kind", "error_class"),
    [(FaultKind.PERMANENT, "ModelPermanentError"), (FaultKind.PROTOCOL, "ModelProtocolError")],
)
def test_a_permanent_fault_ends_typed(run: Run, kind: FaultKind, error_class: str) -> None:
    trace = run().request().fault(kind)
    assert trace.fail("model_permanent_error", error_class).verdict(TRANSIENT) is VerdictName.PASS
    trace = run().request().fault(kind)
    assert trace.fail("max_attempts_exceeded", error_class).verdict(TRANSIENT) is VerdictName.FAIL


@pytest.mark.parametrize("stop", [StopReason.REFUSAL, StopReason.CONTENT_FILTER, StopReason.MAX_TOKENS])
def test_a_silent_turn_is_not_retried(run: Run, stop: StopReason) -> None:
    trace = run().request().reply(stop=stop).request().reply(say="Done.").end()
    assert "a refused, filtered or cut turn is not retried" in trace.failure(TRANSIENT)


def broken_off(run: Run, ending: str, visible: bool | None) -> Any:
    return run().request().reply(say="Half an", cut=True, ending=ending, visible=visible)


@pytest.mark.parametrize("ending", ["reset", "stall"])
def test_a_stream_that_broke_before_visible_output_is_retried(run: Run, ending: str) -> None:
    assert broken_off(run, ending, False).answer().verdict(TRANSIENT) is VerdictName.PASS
    failure = broken_off(run, ending, False).fail(*USED_UP).failure(TRANSIENT)
    assert "a retry after a stream that broke off before visible output, the 1. attempt" in failure


def test_a_stream_that_broke_after_visible_output_fails_the_run(run: Run) -> None:
    failure = broken_off(run, "reset", True).answer().failure(TRANSIENT)
    assert "no retry after a stream that broke off after visible output; actual it was retried" in failure
    trace = broken_off(run, "reset", True)
    assert trace.fail(*USED_UP, details={"stream_had_output": True}).verdict(TRANSIENT) is VerdictName.PASS
    assert "details say stream_had_output" in broken_off(run, "reset", True).fail(*USED_UP).failure(TRANSIENT)


def test_a_break_of_which_nothing_is_known_is_not_judged(run: Run) -> None:
    for ending, visible in (("reset", None), ("", None)):
        assert broken_off(run, ending, visible).answer().verdict(TRANSIENT) is VerdictName.UNTESTABLE


def test_broken_streams_use_up_the_attempts_too(run: Run) -> None:
    def broken(times: int) -> Any:
        trace = run()
        for _ in range(times):
            trace.request().reply(say="Half an", cut=True, ending="reset", visible=False)
        return trace

    assert broken(2).answer().verdict(OWNER) is VerdictName.PASS
    assert broken(3).end(Status.FAILED, *USED_UP).verdict(OWNER) is VerdictName.PASS
    assert "failed, internal_error" in broken(3).fail("internal_error", "LoopInvariantError").failure(OWNER)
    assert "4 of step 1" in broken(3).answer().failure(OWNER)


# --- retry-after ---


def waited(run: Run, seconds: float, asked: float | None = 7.0, **more: Any) -> Any:
    return run(**more).request(at=100.0).fault(status=429, retry_after=asked).wait(seconds).answer()


def test_the_wait_is_as_long_as_asked(run: Run) -> None:
    assert waited(run, 7.0).verdict(RETRY_AFTER) is VerdictName.PASS
    assert "a wait of 7 s or more; actual 2 s" in waited(run, 2.0).failure(RETRY_AFTER)


def test_no_wait_at_all_fails(run: Run) -> None:
    assert run().request().fault(retry_after=7.0).answer().verdict(RETRY_AFTER) is VerdictName.FAIL


def test_a_backoff_is_bounded(run: Run) -> None:
    assert "at most 120 s; actual 900 s" in waited(run, 900.0, None).failure(RETRY_AFTER)
    assert waited(run, 900.0, 900.0).verdict(RETRY_AFTER) is VerdictName.PASS


def test_no_wait_passes_the_deadline(run: Run) -> None:
    assert "no wait passes the deadline" in waited(run, 7.0, limits={"deadline": 105.0}).failure(RETRY_AFTER)
    assert waited(run, 7.0, limits={"deadline": 107.0}).verdict(RETRY_AFTER) is VerdictName.PASS


def test_a_run_that_never_waits_is_no_occasion(run: Run) -> None:
    assert run().answer().verdict(RETRY_AFTER) is VerdictName.UNTESTABLE


# --- terminal-required ---


def unfinished(run: Run) -> Any:
    trace = run().request()
    return trace.reply(trace.call("fetch"), say="Let me", cut=True)


PROTOCOL = ("model_permanent_error", "ModelProtocolError")


def test_an_unfinished_turn_fails_the_run(run: Run) -> None:
    assert (
        unfinished(run).event("model.failed", kind="protocol").end(Status.FAILED, *PROTOCOL).verdict(TERMINAL)
        is VerdictName.PASS
    )
    assert run().request().fault(FaultKind.PROTOCOL).fail(*PROTOCOL).verdict(TERMINAL) is VerdictName.PASS


def test_running_a_call_of_an_unfinished_turn_fails(run: Run) -> None:
    trace = unfinished(run)
    assert "no call of an unfinished turn runs" in trace.start(trace.calls[0]).end(Status.FAILED, *PROTOCOL).failure(
        TERMINAL
    )


def test_an_unfinished_turn_as_answer_fails(run: Run) -> None:
    trace = run().request().reply(say="Half an", cut=True).end(message="Half an")
    assert "an unfinished turn is no answer" in trace.failure(TERMINAL)


def test_retrying_a_protocol_error_fails(run: Run) -> None:
    assert "a protocol error is not retried" in run().request().fault(FaultKind.PROTOCOL).answer().failure(TERMINAL)
    assert "is not retried" in unfinished(run).event("model.failed", kind="protocol").answer().failure(TERMINAL)


def test_a_connection_that_broke_may_be_retried(run: Run) -> None:
    assert unfinished(run).event("model.failed", kind="transient").answer().verdict(TERMINAL) is VerdictName.PASS


def test_another_end_of_a_protocol_error_fails(run: Run) -> None:
    assert run().request().fault(FaultKind.PROTOCOL).fail(*USED_UP).verdict(TERMINAL) is VerdictName.FAIL


# --- empty-turn ---


def test_an_empty_turn_is_a_failed_attempt(run: Run) -> None:
    assert run().request().reply(say=" \n\t").answer().verdict(EMPTY) is VerdictName.PASS


def test_an_empty_turn_as_answer_fails(run: Run) -> None:
    assert "an empty turn is no answer" in run().request().reply().end(message="").failure(EMPTY)


def test_a_turn_cut_before_its_text_fails_typed(run: Run) -> None:
    trace = run().request().reply(stop=StopReason.MAX_TOKENS)
    assert trace.fail("empty_model_turn", "EmptyModelTurn").verdict(EMPTY) is VerdictName.PASS
    trace = run().request().reply(stop=StopReason.MAX_TOKENS)
    assert "failed, empty_model_turn; actual completed" in trace.end().failure(EMPTY)
    trace = run().request().reply(stop=StopReason.MAX_TOKENS).answer()
    assert "a turn cut before any text is not retried" in trace.failure(EMPTY)


def test_a_refusal_that_says_something_is_not_empty(run: Run) -> None:
    assert run().request().reply(say="No.", refuse=True).end(refused=True).verdict(EMPTY) is VerdictName.UNTESTABLE
