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
FIT = "loop.budget.fit-before-dispatch"
REFUSAL = "loop.budget.refusal-is-a-result"
CHECKPOINT = "loop.budget.refusal-before-checkpoint"
NEVER_FAIL = "loop.budget.tool-calls-never-fail-the-answer"
RESERVE = "loop.budget.reserve-is-synthesis"
VIOLATION = "loop.budget.reserve-violation"
SCOPE = "loop.budget.step-scope"
ACCOUNTING = "loop.budget.accounting"
ATTEMPTS = "loop.budget.attempts-count"
HARD = "loop.budget.hard-stop"
COST = "loop.budget.cost"
USAGE = "loop.budget.cumulative-usage"


def batch(run: Run, room: int = 2, size: int = 3, **more: Any) -> tuple[Any, list[Any]]:
    """A first turn with `size` calls and `room` left for them."""
    trace = run(limits={"max_tool_calls": room}, **more).request()
    calls = [trace.call("fetch", {"u": place}) for place in range(size)]
    return trace.reply(*calls), calls


# --- fit-before-dispatch ---


def test_the_first_calls_that_fit_run_and_the_rest_are_refused(run: Run) -> None:
    trace, calls = batch(run)
    assert trace.execute(*calls[:2]).refuse(calls[2]).join().answer(mode="tool_calls").verdict(FIT) is VerdictName.PASS


def test_a_batch_that_just_fits_runs_whole(run: Run) -> None:
    trace, _ = batch(run, room=3)
    assert trace.execute().join().answer(mode="tool_calls").verdict(FIT) is VerdictName.PASS


def test_a_batch_well_inside_the_budget_is_no_occasion(run: Run) -> None:
    trace, _ = batch(run, room=9)
    assert trace.execute().join().answer().verdict(FIT) is VerdictName.UNTESTABLE


def test_a_dispatch_beyond_the_budget_fails(run: Run) -> None:
    trace, _ = batch(run)
    assert "call 3 (fetch, c3) is refused: 2 tool calls were left" in trace.execute().join().answer().failure(FIT)


def test_refusing_a_call_that_fits_fails(run: Run) -> None:
    trace, calls = batch(run)
    trace.execute(calls[0], calls[2]).refuse(calls[1]).join().answer(mode="tool_calls")
    found = trace.findings(FIT)
    assert [one.verdict for one in found] == [VerdictName.FAIL] * 2
    assert "call 2" in found[0].expected
    assert "call 3" in found[1].expected


def test_asking_a_person_for_a_call_beyond_the_budget_fails(run: Run) -> None:
    trace, calls = batch(run)
    trace.execute(*calls[:2]).ask(calls[2]).end(Status.SUSPENDED, waiting_for=("c3",))
    assert "put before a person" in trace.failure(FIT)


def test_calls_that_may_not_run_take_no_slot(run: Run) -> None:
    trace = run(limits={"max_tool_calls": 1}).request()
    lost, good = trace.call("nowhere"), trace.call("fetch")
    trace.reply(lost, good).error(lost, "[tool.unknown]\nNo such tool.").execute(good).join().answer(mode="tool_calls")
    assert trace.verdict(FIT) is VerdictName.PASS


def test_a_pending_approval_holds_its_slot(run: Run, tool: Any) -> None:
    trace = run(limits={"max_tool_calls": 2}, tools=[tool("fetch"), tool("pay", approval=True)]).request()
    pay, one, two = trace.call("pay"), trace.call("fetch", {"u": 1}), trace.call("fetch", {"u": 2})
    trace.reply(pay, one, two).execute(one).refuse(two).ask(pay).end(Status.SUSPENDED, waiting_for=("c1",))
    trace.intervene("deny", "c1").intervene("resume").error(pay, "[tool.denied]\nDo not retry.").join()
    assert trace.answer().verdict(FIT) is VerdictName.PASS


def test_a_denial_frees_its_slot(run: Run, tool: Any) -> None:
    trace = run(limits={"max_tool_calls": 1}, tools=[tool("fetch"), tool("pay", approval=True)]).request()
    pay = trace.call("pay")
    trace.reply(pay).ask(pay).end(Status.SUSPENDED, waiting_for=("c1",)).intervene("deny", "c1").intervene("resume")
    trace.error(pay, "[tool.denied]\nDo not retry.").join().step(("fetch", {"u": 1})).answer(mode="tool_calls")
    assert trace.verdict(FIT) is VerdictName.PASS


# --- refusal-is-a-result ---


def test_a_refusal_is_an_error_result_that_asks_for_an_answer(run: Run) -> None:
    trace, calls = batch(run)
    trace.execute(*calls[:2]).refuse(calls[2]).join().answer(mode="tool_calls")
    assert trace.verdict(REFUSAL) is VerdictName.PASS


def test_a_refused_call_without_a_result_fails(run: Run) -> None:
    trace, calls = batch(run)
    trace.execute(*calls[:2]).join().answer(mode="tool_calls")
    assert "call 3 (fetch, c3) has an error result tool.budget_exhausted; actual it has no result" in trace.failure(
        REFUSAL
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[tool.failed]\nAnswer from the evidence.", "error result tool.budget_exhausted"),
        ("Answer from the evidence.", "error result tool.budget_exhausted"),
        ("[tool.budget_exhausted]", "tells the model to answer"),
        ("[tool.budget_exhausted]\nNo more.", "tells the model to answer"),
    ],
)
def test_a_refusal_of_another_form_fails(run: Run, text: str, says: str) -> None:
    trace, calls = batch(run)
    trace.execute(*calls[:2]).refuse(calls[2], text=text).join().answer(mode="tool_calls")
    assert says in trace.failure(REFUSAL)


def test_a_refused_call_that_reached_the_executor_fails(run: Run) -> None:
    trace, calls = batch(run)
    trace.execute().refuse(calls[2]).join().answer(mode="tool_calls")
    assert "never reaches the executor" in trace.failure(REFUSAL)


def test_a_proposed_event_for_a_refused_call_fails(run: Run) -> None:
    trace, calls = batch(run)
    for call in calls:
        trace.event("tool.call.proposed", call_id=call.call_id, tool=call.name)
    trace.execute(*calls[:2]).refuse(calls[2]).join().answer(mode="tool_calls")
    assert "emitted for dispatched calls only" in trace.failure(REFUSAL)


def test_a_wrong_refused_counter_fails(run: Run) -> None:
    trace, calls = batch(run)
    trace.execute(*calls[:2]).refuse(calls[2]).join().answer(mode="tool_calls", counters={"refused_calls": 0})
    assert "1 refused calls are counted apart" in trace.failure(REFUSAL)


# --- refusal-before-checkpoint ---


def refused_late(run: Run, moment: str) -> Any:
    trace, calls = batch(run)
    trace.refuse(calls[2])
    before, after = [*trace.items, trace.turn.message, trace.results["c3"]], [*trace.items, trace.turn.message]
    if moment != "none":
        trace.checkpoint(
            "tool_pending",
            pending=["c1", "c2"] if moment != "pending" else ["c1", "c2", "c3"],
            items=after if moment == "late" else before,
        )
    return trace.execute(*calls[:2]).join().answer(mode="tool_calls")


def test_refusals_in_the_pending_checkpoint_pass(run: Run) -> None:
    assert refused_late(run, "early").verdict(CHECKPOINT) is VerdictName.PASS


@pytest.mark.parametrize(
    ("moment", "says"),
    [
        ("late", "holds the refusal of call 3"),
        ("none", "a tool_pending checkpoint before the first dispatch"),
        ("pending", "call 3 (fetch, c3) stays refused"),
    ],
)
def test_refusals_outside_the_pending_checkpoint_fail(run: Run, moment: str, says: str) -> None:
    assert says in refused_late(run, moment).failure(CHECKPOINT)


def test_a_batch_without_refusals_is_no_occasion(run: Run) -> None:
    assert run().step(("fetch", {})).answer().verdict(CHECKPOINT) is VerdictName.UNTESTABLE


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


# --- accounting, attempts, usage, cost ---


def test_dispatched_calls_are_counted(run: Run) -> None:
    assert run().step(("fetch", {})).answer().verdict(ACCOUNTING) is VerdictName.PASS
    wrong = run().step(("fetch", {})).answer(counters={"tool_calls": 2})
    assert "1 dispatched tool calls are counted; actual the outcome counts 2" in wrong.failure(ACCOUNTING)


def test_refused_calls_are_no_usage(run: Run) -> None:
    trace, calls = batch(run)
    trace.execute(*calls[:2]).refuse(calls[2]).join().answer(mode="tool_calls", counters={"tool_calls": 3})
    assert "2 dispatched tool calls are counted" in trace.failure(ACCOUNTING)


def test_every_attempt_is_a_model_call(run: Run) -> None:
    assert run().request().fault().answer().verdict(ATTEMPTS) is VerdictName.PASS
    wrong = run().request().fault().answer(counters={"model_calls": 1})
    assert "2 model calls are counted; actual the outcome counts 1" in wrong.failure(ATTEMPTS)


USED = Usage(input_tokens=10, output_tokens=2)


def spent(run: Run, usage: Usage) -> Any:
    trace = run().request().fault(usage=USED).request()
    return trace.reply(say="Done.", usage=USED).end(usage=usage)


def test_the_usage_of_failed_attempts_counts(run: Run) -> None:
    assert spent(run, Usage(input_tokens=20, output_tokens=4)).verdict(ATTEMPTS) is VerdictName.PASS
    assert "input_tokens: at least 20" in spent(run, Usage(input_tokens=10, output_tokens=4)).failure(ATTEMPTS)


def test_usage_is_the_sum_of_final_figures(run: Run) -> None:
    assert spent(run, Usage(input_tokens=20, output_tokens=4)).verdict(USAGE) is VerdictName.PASS
    assert "output_tokens: 4; actual the outcome says 6" in spent(run, Usage(input_tokens=20, output_tokens=6)).failure(
        USAGE
    )


def test_what_nobody_reported_is_none(run: Run) -> None:
    wrong = spent(run, Usage(input_tokens=20, output_tokens=4, cached_tokens=0))
    assert "cached_tokens: not reported (None); actual the outcome says 0" in wrong.failure(USAGE)
    assert "input_tokens: 20; actual the outcome says None" in spent(run, Usage(output_tokens=4)).failure(USAGE)


def test_usage_that_a_wire_fills_in_is_not_judged(run: Run) -> None:
    trace = run(transport="openai-chat").request().reply(say="Done.").end(usage=Usage(input_tokens=3, output_tokens=3))
    assert trace.verdict(USAGE) is VerdictName.UNTESTABLE


PRICES = {"sim-model": Price(input=Decimal(3), output=Decimal(15), cached=Decimal("0.3"))}


def paid(run: Run, counted: str) -> Any:
    usage = Usage(input_tokens=1000, cached_tokens=400, cache_write_tokens=100, output_tokens=50)
    trace = run(settings={"prices": PRICES}).request().reply(say="Done.", usage=usage)
    return trace.end(counters={"cost": Decimal(counted)})


def test_cost_is_usage_times_price(run: Run) -> None:
    # 500 plain and 100 written at 3, 400 cached at 0.3, 50 out at 15
    assert paid(run, "0.00267").verdict(COST) is VerdictName.PASS
    assert "a cost of $0.00267" in paid(run, "0.00375").failure(COST)


def test_a_run_without_prices_has_no_cost(run: Run) -> None:
    assert run().answer().verdict(COST) is VerdictName.UNTESTABLE


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
    trace = run(limits={"max_cost": Decimal("0.001")}, settings={"prices": PRICES}).request()
    trace.reply(say="Done.", usage=Usage(input_tokens=1_000_000, output_tokens=1)).end(message="Done.")
    assert trace.verdict(HARD) is VerdictName.PASS
