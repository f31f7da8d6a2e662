"""Checkers of loop.md section 2: what they catch, and what they let pass."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from harness.vocabulary.outcome import Status
from harness.vocabulary.turn import FaultKind
from harness.vocabulary.usage import Price, Usage
from harness.vocabulary.verdict import VerdictName

Run = Callable[..., Any]
NEVER_FAIL = "loop.budget.tool-calls-never-fail-the-answer"
RESERVE = "loop.budget.reserve-is-synthesis"
VIOLATION = "loop.budget.reserve-violation"
SCOPE = "loop.budget.step-scope"
HARD = "loop.budget.hard-stop"


def batch(run: Run, room: int = 2, size: int = 3, **more: Any) -> tuple[Any, list[Any]]:
    """A first turn with `size` calls and `room` left for them."""
    trace = run(limits={"max_tool_calls": room}, **more).request()
    calls = [trace.call("fetch", {"u": place}) for place in range(size)]
    return trace.reply(*calls), calls


# --- tool-calls-never-fail-the-answer, step-scope ---


def test_spent_tool_calls_lead_to_an_answer_turn(run: Run) -> None:
    trace, _ = batch(run, room=1, size=1)
    trace.execute().join().answer(mode="tool_calls")
    assert trace.verdict(NEVER_FAIL) is VerdictName.PASS
    assert trace.verdict(SCOPE) is VerdictName.PASS


def test_spent_tool_calls_without_synthesis_fail(run: Run) -> None:
    trace, _ = batch(run, room=1, size=1)
    assert "actual no control" in trace.execute().join().answer().failure(NEVER_FAIL)


def test_spent_tool_calls_that_fail_the_run_fail(run: Run) -> None:
    trace, _ = batch(run, room=1, size=1)
    trace.execute().join().fail("budget_exceeded", "BudgetExceeded")
    assert "spent tool calls do not fail the run" in trace.failure(NEVER_FAIL)
    assert "spent tool calls do not fail the run" in trace.failure(SCOPE)


def test_one_call_left_is_no_occasion(run: Run) -> None:
    trace, _ = batch(run, room=2, size=1)
    assert trace.execute().join().answer().verdict(NEVER_FAIL) is VerdictName.UNTESTABLE


def test_a_step_past_the_step_limit_fails(run: Run) -> None:
    trace = run(limits={"max_steps": 1}).step(("fetch", {})).answer()
    assert "no step starts once steps is spent; actual step 2 was started" in trace.failure(SCOPE)


def test_a_run_that_ends_with_its_steps_keeps_the_scope(run: Run) -> None:
    trace = run(limits={"max_steps": 1}).step(("fetch", {})).fail("max_steps_exceeded", "BudgetExceeded")
    assert trace.verdict(SCOPE) is VerdictName.PASS


# --- reserve-is-synthesis ---

RESERVES = [
    ({"max_model_calls": 3, "synthesis_reserve_model_calls": 1}, "model_calls"),
    ({"max_steps": 3, "synthesis_reserve_steps": 1}, "steps"),
    ({"max_tool_calls": 3, "synthesis_reserve_tool_calls": 1}, "tool_calls"),
]


def two_steps(run: Run, limits: dict[str, Any], mode: str | None) -> Any:
    return run(limits=limits).step(("fetch", {"u": 1})).step(("fetch", {"u": 2})).answer(mode=mode)


@pytest.mark.parametrize(("limits", "name"), RESERVES)
def test_the_reserve_makes_the_request_synthesis_only(run: Run, limits: dict[str, Any], name: str) -> None:
    assert two_steps(run, limits, name).verdict(RESERVE) is VerdictName.PASS


@pytest.mark.parametrize(("limits", "name"), RESERVES)
def test_an_ignored_reserve_fails(run: Run, limits: dict[str, Any], name: str) -> None:
    trace = two_steps(run, limits, None)
    assert trace.findings(RESERVE)[0].request == 3
    assert f"expected {name} (charged: 2 steps, 2 model calls, 2 tool calls)" in trace.failure(RESERVE)


@pytest.mark.parametrize(("limits", "name"), RESERVES)
def test_synthesis_before_the_reserve_fails(run: Run, limits: dict[str, Any], name: str) -> None:
    trace = run(limits=limits).step(("fetch", {"u": 1})).answer(mode=name)
    assert f"actual the request carries control {name}" in trace.failure(RESERVE)


def test_a_run_that_never_reaches_its_reserve_is_no_occasion(run: Run) -> None:
    assert run(limits=RESERVES[0][0]).answer().verdict(RESERVE) is VerdictName.UNTESTABLE


def test_the_wrong_dimension_fails(run: Run) -> None:
    limits = {"max_steps": 3, "synthesis_reserve_steps": 1, "max_model_calls": 3, "synthesis_reserve_model_calls": 1}
    assert two_steps(run, limits, "steps").verdict(RESERVE) is VerdictName.PASS
    assert "expected steps" in two_steps(run, limits, "model_calls").failure(RESERVE)


def test_exhausted_tool_calls_are_named_before_steps(run: Run) -> None:
    limits = {"max_tool_calls": 2, "max_steps": 3, "synthesis_reserve_steps": 1}
    assert two_steps(run, limits, "tool_calls").verdict(RESERVE) is VerdictName.PASS
    assert "expected tool_calls" in two_steps(run, limits, "steps").failure(RESERVE)


def test_the_reserve_is_read_again_before_a_retry(run: Run) -> None:
    limits = {"max_model_calls": 3, "synthesis_reserve_model_calls": 2}
    assert run(limits=limits).request().fault().answer(mode="model_calls").verdict(RESERVE) is VerdictName.PASS
    assert "actual the request carries no control" in run(limits=limits).request().fault().answer().failure(RESERVE)


def test_the_step_in_progress_is_not_subtracted(run: Run) -> None:
    limits = {"max_steps": 2, "synthesis_reserve_steps": 1}
    assert run(limits=limits).step(("fetch", {})).answer(mode="steps").verdict(RESERVE) is VerdictName.PASS
    assert "control steps" in run(limits=limits).answer(mode="steps").failure(RESERVE)


def test_a_cost_reserve_is_kept(run: Run) -> None:
    settings = {"prices": {"sim-model": Price(input=Decimal(1), output=Decimal(1))}}
    limits = {"max_cost": Decimal("3"), "synthesis_reserve_cost": Decimal("1")}
    used = Usage(input_tokens=1_000_000, output_tokens=1_000_000)

    def spend(mode: str | None) -> Any:
        trace = run(limits=limits, settings=settings).request()
        return trace.reply(trace.call("fetch"), usage=used).execute().join().answer(mode=mode)

    assert spend("cost").verdict(RESERVE) is VerdictName.PASS
    assert "expected cost" in spend(None).failure(RESERVE)


# --- reserve-violation ---


def violated(run: Run, mode: str = "tool_calls") -> Any:
    trace, _ = batch(run, room=1, size=1)
    trace.execute().join().request(mode)
    return trace.reply(trace.call("fetch", {"u": 7}))


def test_a_call_in_budget_synthesis_fails_the_run(run: Run) -> None:
    trace = violated(run).fail(
        "budget_exceeded", "SynthesisReserveViolation", details={"synthesis_reserve": "tool_calls"}
    )
    assert trace.verdict(VIOLATION) is VerdictName.PASS


def test_a_dispatch_in_budget_synthesis_fails(run: Run) -> None:
    trace = violated(run).execute().join()
    trace.end(
        Status.FAILED, "budget_exceeded", "SynthesisReserveViolation", details={"synthesis_reserve": "tool_calls"}
    )
    assert "fetch was started (c2)" in trace.failure(VIOLATION)


@pytest.mark.parametrize(
    ("reason", "error_class", "details"),
    [
        ("budget_exceeded", "BudgetExceeded", {"synthesis_reserve": "tool_calls"}),
        ("tool_loop_detected", "ToolLoopDetected", {}),
        ("budget_exceeded", "SynthesisReserveViolation", {"synthesis_reserve": "steps"}),
        ("budget_exceeded", "SynthesisReserveViolation", {}),
    ],
)
def test_another_end_of_the_violation_fails(run: Run, reason: str, error_class: str, details: dict[str, str]) -> None:
    assert violated(run).fail(reason, error_class, details=details).verdict(VIOLATION) is VerdictName.FAIL


def test_a_violation_that_is_answered_or_retried_fails(run: Run) -> None:
    assert "went on with request 3" in violated(run).answer_rest().join().answer(mode="tool_calls").failure(VIOLATION)
    assert "completed" in violated(run).answer_rest().join().end().failure(VIOLATION)
    assert "no outcome" in violated(run).failure(VIOLATION)


def test_a_cancel_wins_over_the_violation(run: Run) -> None:
    trace = violated(run).intervene("cancel").answer_rest("tool.cancelled").join().end(Status.CANCELLED, "stop")
    assert trace.verdict(VIOLATION) is VerdictName.PASS


# --- hard-stop ---


def test_spent_model_calls_end_the_run(run: Run) -> None:
    trace = run(limits={"max_model_calls": 1}).step(("fetch", {}))
    assert trace.fail("budget_exceeded", "BudgetExceeded").verdict(HARD) is VerdictName.PASS


def test_an_attempt_beyond_a_hard_budget_fails(run: Run) -> None:
    trace = run(limits={"max_model_calls": 1}).step(("fetch", {})).answer()
    assert "no attempt once model_calls is spent" in trace.failure(HARD)


def test_an_attempt_after_the_deadline_fails(run: Run) -> None:
    trace = run(limits={"deadline": 10.0}).step(("fetch", {})).request(at=10.5).reply(say="Done.").end()
    assert "no attempt once deadline is spent" in trace.failure(HARD)


def test_another_end_of_a_spent_budget_fails(run: Run) -> None:
    trace = run(limits={"max_model_calls": 1}).step(("fetch", {})).fail("internal_error", "LoopInvariantError")
    assert "failed, budget_exceeded, since model_calls is spent" in trace.failure(HARD)


def test_the_denial_of_a_last_turn_may_end_the_run_first(run: Run, tool: Any) -> None:
    trace = run(limits={"max_model_calls": 1}, tools=[tool("pay", denied="policy.no")]).request()
    calls = [trace.call("pay", {"n": place}) for place in range(2)]
    trace.reply(*calls).error(calls[0], "[tool.denied]\nDo not retry.").error(calls[1], "[tool.denied]\nDo not retry.")
    assert trace.join().fail("repeated_denial", "ToolPolicyDenied").verdict(HARD) is VerdictName.PASS


def test_an_end_before_the_budget_is_spent_fails(run: Run) -> None:
    trace = run().step(("fetch", {})).fail("budget_exceeded", "BudgetExceeded")
    assert "no hard budget is spent" in trace.failure(HARD)
    trace = run().step(("fetch", {})).fail("max_steps_exceeded", "BudgetExceeded")
    assert "no hard budget is spent" in trace.failure(HARD)


def test_a_retry_that_finds_the_budget_spent_ends_the_run(run: Run) -> None:
    trace = run(limits={"max_model_calls": 1}).request().fault(FaultKind.TRANSIENT)
    assert trace.end(Status.FAILED, "budget_exceeded", "BudgetExceeded").verdict(HARD) is VerdictName.PASS


def test_an_answer_in_hand_completes(run: Run) -> None:
    trace = run(limits={"max_model_calls": 1}).request().reply(say="Done.")
    assert "an answer in hand completes" in trace.end(Status.FAILED, "budget_exceeded", "BudgetExceeded").failure(HARD)
    prices = {"sim-model": Price(input=Decimal(3), output=Decimal(15))}
    trace = run(limits={"max_cost": Decimal("0.001")}, settings={"prices": prices}).request()
    trace.reply(say="Done.", usage=Usage(input_tokens=1_000_000, output_tokens=1)).end(message="Done.")
    assert trace.verdict(HARD) is VerdictName.PASS
