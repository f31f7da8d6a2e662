"""Checkers of loop.md section 3: identical calls, synthesis before the limit, and the limit."""

from collections.abc import Callable
from typing import Any

from harness.vocabulary.content import SystemMessage
from harness.vocabulary.outcome import Status
from harness.vocabulary.tools import OutcomeClass
from harness.vocabulary.verdict import VerdictName

Run = Callable[..., Any]
THRESHOLD = "loop.breaker.threshold"
SYNTHESIS = "loop.breaker.synthesis-before-limit"
LIMIT = "loop.breaker.hard-limit-before-dispatch"
ANY = "loop.breaker.violation-any-arguments"
OVERLAP = "loop.breaker.overlap"
NO_EXTRA = "loop.breaker.no-extra-allowance"
RETRY = "loop.breaker.retry-keeps-synthesis"
REPEATED = "repeated_tool_calls"
LOOP = ("tool_loop_detected", "ToolLoopDetected")


def repeat(run: Run, times: int = 4, *, text: str = "Same page.", **more: Any) -> Any:
    """A run with `times` identical calls, one a step."""
    trace = run(**more)
    for _ in range(times):
        trace.step(("fetch", {"u": 1}), text=text)
    return trace


# --- synthesis-before-limit, threshold ---


def test_four_identical_calls_earn_an_answer_turn(run: Run) -> None:
    trace = repeat(run).answer(mode=REPEATED)
    assert trace.verdict(SYNTHESIS) is VerdictName.PASS
    assert trace.verdict(THRESHOLD) is VerdictName.PASS


def test_four_identical_calls_without_synthesis_fail(run: Run) -> None:
    trace = repeat(run).answer()
    assert "one below the threshold; actual no control" in trace.failure(SYNTHESIS)
    assert trace.findings(SYNTHESIS)[0].request == 5
    assert trace.verdict(THRESHOLD) is VerdictName.FAIL


def test_synthesis_after_three_identical_calls_fails(run: Run) -> None:
    assert "no signature stands one below" in repeat(run, 3).answer(mode=REPEATED).failure(SYNTHESIS)


def test_three_identical_calls_are_no_occasion(run: Run) -> None:
    assert repeat(run, 3).answer().verdict(SYNTHESIS) is VerdictName.UNTESTABLE


def test_the_setting_decides(run: Run) -> None:
    assert (
        repeat(run, 1, settings={"identical_call_threshold": 2}).answer(mode=REPEATED).verdict(SYNTHESIS)
        is VerdictName.PASS
    )
    assert repeat(run, 1, settings={"identical_call_threshold": 2}).answer().verdict(THRESHOLD) is VerdictName.FAIL
    assert (
        repeat(run, 4, settings={"identical_call_threshold": 6}).answer(mode=REPEATED).verdict(SYNTHESIS)
        is VerdictName.FAIL
    )


def test_interleaved_calls_hide_nothing(run: Run) -> None:
    trace = run()
    for place in range(4):
        trace.step(("fetch", {"u": 1})).step(("list", {"page": place}))
    found = trace.answer(mode=REPEATED).findings(THRESHOLD)
    assert found[0].verdict is VerdictName.FAIL  # request 8 should have been synthesis
    assert found[0].request == 8


def test_spelling_hides_nothing(run: Run) -> None:
    trace = run()
    for raw in ('{"u":1,"v":2}', '{"v":2,"u":1}', '{ "u": 1.0, "v": 2 }', '{"u":1e0,"v":2}'):
        trace.request().reply(trace.call("fetch", raw)).execute().join()
    assert trace.answer().verdict(SYNTHESIS) is VerdictName.FAIL


def test_volatile_arguments_hide_nothing(run: Run, tool: Any) -> None:
    trace = run(tools=[tool("fetch", volatile_arguments=("/nonce",))])
    for place in range(4):
        trace.step(("fetch", {"u": 1, "nonce": place}))
    assert trace.answer().verdict(SYNTHESIS) is VerdictName.FAIL


def test_a_threshold_that_was_not_recorded_fails(run: Run) -> None:
    trace = run().event("run.started", identical_call_threshold=9)
    assert "threshold 5 is recorded with the run; actual 9 is" in trace.answer().failure(THRESHOLD)


# --- hard-limit-before-dispatch ---


def limit(run: Run) -> Any:
    """Three identical calls, then two in one batch: five."""
    trace = repeat(run, 3).request()
    return trace.reply(trace.call("fetch", {"u": 1}), trace.call("fetch", {"u": 1}))


def test_a_batch_that_reaches_the_threshold_fails_the_run(run: Run) -> None:
    trace = limit(run).fail(*LOOP)
    assert trace.verdict(LIMIT) is VerdictName.PASS
    assert trace.verdict(THRESHOLD) is VerdictName.PASS


def test_a_dispatch_at_the_limit_fails(run: Run) -> None:
    assert "nothing runs after a batch that reaches" in limit(run).execute().join().end(Status.FAILED, *LOOP).failure(
        LIMIT
    )


def test_going_on_at_the_limit_fails(run: Run) -> None:
    trace = limit(run).answer_rest().join().answer()
    assert "the run went on with request 5" in trace.failure(LIMIT)


def test_asking_a_person_at_the_limit_fails(run: Run) -> None:
    trace = limit(run)
    trace.ask(trace.calls[0]).end(Status.SUSPENDED, waiting_for=("c4",))
    assert "nobody is asked after" in trace.failure(LIMIT)


def test_another_end_at_the_limit_fails(run: Run) -> None:
    assert limit(run).fail("budget_exceeded", "BudgetExceeded").verdict(LIMIT) is VerdictName.FAIL


def test_the_whole_batch_counts_before_fitting(run: Run) -> None:
    trace = run(limits={"max_tool_calls": 1}).request()
    trace.reply(*[trace.call("fetch", {"u": 1}) for _ in range(5)])
    assert trace.fail(*LOOP).verdict(LIMIT) is VerdictName.PASS


def test_failing_below_the_limit_fails(run: Run) -> None:
    trace = repeat(run, 3).request()
    trace.reply(trace.call("fetch", {"u": 1}))
    assert "no signature reaches the threshold" in trace.fail(*LOOP).failure(LIMIT)


def test_an_unused_retry_budget_is_subtracted(run: Run, tool: Any) -> None:
    tools = [tool("fetch", retry_budget=3)]
    trace = run(tools=tools, limits={"max_tool_calls": 9}).request()
    trace.reply(*[trace.call("fetch", {"u": 1}) for _ in range(6)])
    assert (
        trace.execute(text="down", outcome=OutcomeClass.ERROR).join().answer().verdict(LIMIT) is VerdictName.UNTESTABLE
    )


# --- violation-any-arguments, overlap ---


def violated(run: Run, **more: Any) -> Any:
    trace = repeat(run, **more).request(REPEATED)
    return trace.reply(trace.call("list", {"page": 1}))


def test_any_call_in_repetition_synthesis_fails_the_run(run: Run) -> None:
    assert violated(run).fail(*LOOP).verdict(ANY) is VerdictName.PASS


def test_running_another_tool_in_repetition_synthesis_fails(run: Run) -> None:
    assert "list was started (c5)" in violated(run).execute().join().answer(mode=REPEATED).failure(ANY)


def test_retrying_the_violation_fails(run: Run) -> None:
    assert "went on with request 6" in violated(run).answer(mode=REPEATED).failure(ANY)


def overlapping(run: Run, mode: str) -> Any:
    return repeat(run, limits={"max_steps": 5, "synthesis_reserve_steps": 1}).request(mode)


def test_the_budget_names_an_overlap(run: Run) -> None:
    assert overlapping(run, "steps").reply(say="Done.").end().verdict(OVERLAP) is VerdictName.PASS
    assert "control steps: the budget's wins; actual control repeated" in overlapping(run, REPEATED).reply(
        say="D"
    ).end().failure(OVERLAP)


def test_an_overlapping_violation_is_the_budgets(run: Run) -> None:
    trace = overlapping(run, "steps")
    trace.reply(trace.call("list"))
    trace.fail("budget_exceeded", "SynthesisReserveViolation", details={"synthesis_reserve": "steps"})
    assert trace.verdict(OVERLAP) is VerdictName.PASS
    trace = overlapping(run, "steps")
    assert trace.reply(trace.call("list")).fail(*LOOP).verdict(OVERLAP) is VerdictName.FAIL


def test_one_cause_alone_is_no_overlap(run: Run) -> None:
    assert repeat(run).answer(mode=REPEATED).verdict(OVERLAP) is VerdictName.UNTESTABLE


def test_the_overlap_is_read_again_before_a_retry(run: Run) -> None:
    limits = {"max_model_calls": 6, "synthesis_reserve_model_calls": 1}
    trace = repeat(run, limits=limits).request(REPEATED).fault()
    assert trace.answer(mode="model_calls").verdict(OVERLAP) is VerdictName.PASS
    trace = repeat(run, limits=limits).request(REPEATED).fault()
    assert trace.answer(mode=REPEATED).verdict(OVERLAP) is VerdictName.FAIL


# --- no-extra-allowance ---


def test_synthesis_is_one_ordinary_model_call(run: Run) -> None:
    assert repeat(run).answer(mode=REPEATED).verdict(NO_EXTRA) is VerdictName.PASS


def test_starting_research_again_fails(run: Run) -> None:
    trace = violated(run).answer_rest().join().answer()
    assert "research was started again" in trace.failure(NO_EXTRA)


def test_a_tool_run_in_synthesis_fails(run: Run) -> None:
    assert "nothing runs after synthesis" in violated(run).execute().fail(*LOOP).failure(NO_EXTRA)


def test_synthesis_beyond_a_hard_budget_fails(run: Run) -> None:
    trace = repeat(run, limits={"max_model_calls": 4}).answer(mode=REPEATED)
    assert "no synthesis once model_calls is spent" in trace.failure(NO_EXTRA)


def test_a_hard_budget_can_prevent_the_answer(run: Run) -> None:
    trace = repeat(run, limits={"max_model_calls": 4}).fail("budget_exceeded", "BudgetExceeded")
    assert trace.verdict(NO_EXTRA) is VerdictName.PASS


# --- retry-keeps-synthesis ---


def test_a_retry_inside_synthesis_is_synthesis(run: Run) -> None:
    assert repeat(run).request(REPEATED).fault().answer(mode=REPEATED).verdict(RETRY) is VerdictName.PASS
    assert repeat(run).request(REPEATED).reply().answer(mode=REPEATED).verdict(RETRY) is VerdictName.PASS


def test_a_retry_without_control_fails(run: Run) -> None:
    assert "it carries no control" in repeat(run).request(REPEATED).fault().answer().failure(RETRY)


def test_a_second_instruction_in_the_history_fails(run: Run, instruction: Any) -> None:
    trace = repeat(run).request(REPEATED).fault()
    twice = [*trace.items, SystemMessage(instruction(REPEATED).text)]
    assert "exactly one control instruction; actual 2" in trace.request(REPEATED, items=twice).reply(
        say="D"
    ).end().failure(RETRY)


def test_a_second_instruction_in_the_text_fails(run: Run, instruction: Any) -> None:
    twice = instruction(REPEATED, instruction(REPEATED).text + "\n" + instruction(REPEATED).text)
    trace = repeat(run).request(REPEATED).fault().request(twice).reply(say="Done.").end()
    assert "exactly one control instruction" in trace.failure(RETRY)
