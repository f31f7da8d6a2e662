"""Checkers of loop.md section 3: identical calls, synthesis before the limit, and the limit."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.checks.reader import read
from harness.checks.standing import Span
from harness.vocabulary.outcome import Status
from harness.vocabulary.tools import Effect, OutcomeClass
from harness.vocabulary.turn import StopReason
from harness.vocabulary.verdict import VerdictName

Run = Callable[..., Any]
THRESHOLD = "loop.breaker.threshold"
SYNTHESIS = "loop.breaker.synthesis-before-limit"
LIMIT = "loop.breaker.hard-limit-before-dispatch"
ANY = "loop.breaker.violation-any-arguments"
OVERLAP = "loop.breaker.overlap"
NO_EXTRA = "loop.breaker.no-extra-allowance"
RESUME = "loop.breaker.resume"
RETRY = "loop.breaker.retry-keeps-synthesis"
COUNTS = "loop.breaker.counts"
RESET = "loop.breaker.evidence-reset"
CAP = "loop.breaker.reset-cap"
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


# --- resume ---


def resumed(run: Run, tool: Any, before: int) -> Any:
    """Identical calls, then a suspension for another tool, then a resume."""
    trace = run(tools=[tool("fetch"), tool("pay", approval=True)])
    for _ in range(before):
        trace.step(("fetch", {"u": 1}))
    pay = trace.call("pay")
    trace.request().reply(pay).ask(pay).end(Status.SUSPENDED, waiting_for=(pay.call_id,))
    return trace.intervene("approve", pay.call_id).intervene("resume").execute(pay).join()


def test_a_resumed_run_goes_on_counting(run: Run, tool: Any) -> None:
    trace = resumed(run, tool, 3).step(("fetch", {"u": 1}))
    assert trace.answer(mode=REPEATED).verdict(RESUME) is VerdictName.PASS


def test_counters_lost_at_a_resume_fail(run: Run, tool: Any) -> None:
    trace = resumed(run, tool, 3).step(("fetch", {"u": 1}))
    assert "fetch stand one below the threshold; actual no control" in trace.answer().failure(RESUME)


def test_a_batch_finished_by_an_approval_triggers_synthesis(run: Run, tool: Any) -> None:
    trace = run(tools=[tool("pay", approval=True)], settings={"identical_call_threshold": 2}).request()
    pay = trace.call("pay")
    trace.reply(pay).ask(pay).end(Status.SUSPENDED, waiting_for=(pay.call_id,)).intervene("approve", pay.call_id)
    trace.intervene("resume").execute(pay).join()
    assert trace.answer(mode=REPEATED).verdict(RESUME) is VerdictName.PASS
    del trace.trace[-3:]
    assert trace.answer().verdict(RESUME) is VerdictName.FAIL


def test_a_limit_lost_at_a_resume_fails(run: Run, tool: Any) -> None:
    trace = resumed(run, tool, 3).request()
    trace.reply(trace.call("fetch", {"u": 1}), trace.call("fetch", {"u": 1})).execute().join()
    assert "fetch was started" in trace.answer(mode=REPEATED).failure(RESUME)


def test_counting_after_a_crash(run: Run) -> None:
    trace = repeat(run, 4).checkpoint("tool_call").intervene("crash").intervene("resume")
    assert trace.answer(mode=REPEATED).verdict(RESUME) is VerdictName.PASS
    trace = repeat(run, 4).checkpoint("tool_call").intervene("crash").intervene("resume")
    assert trace.answer().verdict(RESUME) is VerdictName.FAIL


def test_a_run_of_one_life_is_no_occasion_of_resume(run: Run) -> None:
    assert repeat(run).answer(mode=REPEATED).verdict(RESUME) is VerdictName.UNTESTABLE


# --- retry-keeps-synthesis ---


def test_a_retry_inside_synthesis_is_synthesis(run: Run) -> None:
    assert repeat(run).request(REPEATED).fault().answer(mode=REPEATED).verdict(RETRY) is VerdictName.PASS
    assert repeat(run).request(REPEATED).reply().answer(mode=REPEATED).verdict(RETRY) is VerdictName.PASS


def test_a_retry_without_control_fails(run: Run) -> None:
    assert "it carries no control" in repeat(run).request(REPEATED).fault().answer().failure(RETRY)


def test_a_second_instruction_in_the_history_fails(run: Run, instruction: Any, platform: Any) -> None:
    trace = repeat(run).request(REPEATED).fault()
    twice = [*trace.items, platform(instruction(REPEATED).text)]
    assert "exactly one control instruction; actual 2" in trace.request(REPEATED, items=twice).reply(
        say="D"
    ).end().failure(RETRY)


def test_a_second_instruction_in_the_text_fails(run: Run, instruction: Any) -> None:
    twice = instruction(REPEATED, instruction(REPEATED).text + "\n" + instruction(REPEATED).text)
    trace = repeat(run).request(REPEATED).fault().request(twice).reply(say="Done.").end()
    assert "exactly one control instruction" in trace.failure(RETRY)


# --- counts ---


@pytest.mark.parametrize("code", ["tool.denied", "tool.budget_exhausted", "tool.cancelled"])
def test_calls_that_did_not_complete_do_not_count(run: Run, code: str) -> None:
    def three_and(mode: str | None) -> Any:
        trace = run().request()
        call = trace.call("fetch", {"u": 1})
        trace.reply(call).error(call, f"[{code}]\nDo not retry; answer.").join()
        for _ in range(3):
            trace.step(("fetch", {"u": 1}))
        return trace.answer(mode=mode)

    assert three_and(None).verdict(COUNTS) is VerdictName.PASS
    assert "no signature stands one below" in three_and(REPEATED).failure(COUNTS)


@pytest.mark.parametrize(
    ("name", "raw", "stop", "code"),
    [
        ("nowhere", "{}", StopReason.TOOL_CALLS, "tool.unknown"),
        ("fetch", "{", StopReason.TOOL_CALLS, "tool.arguments_invalid"),
        ("fetch", '{"u":1}', StopReason.MAX_TOKENS, "tool.arguments_truncated"),
    ],
)
def test_calls_answered_without_dispatch_count(run: Run, name: str, raw: str, stop: StopReason, code: str) -> None:
    def four(mode: str | None) -> Any:
        trace = run()
        for _ in range(4):
            call = trace.call(name, raw)
            trace.request().reply(call, stop=stop).error(call, f"[{code}]\nNot run.").join()
        return trace.answer(mode=mode)

    assert four(REPEATED).verdict(COUNTS) is VerdictName.PASS
    assert "actual no control" in four(None).failure(COUNTS)


def test_two_identical_calls_in_a_batch_are_two(run: Run) -> None:
    def pairs(mode: str | None) -> Any:
        pair = [("fetch", {"u": 1}), ("fetch", {"u": 1})]
        return run().step(*pair).step(*pair).answer(mode=mode)

    assert pairs(REPEATED).verdict(COUNTS) is VerdictName.PASS
    assert pairs(None).verdict(COUNTS) is VerdictName.FAIL


def test_failed_calls_count(run: Run) -> None:
    trace = run()
    for _ in range(4):
        trace.request().reply(trace.call("fetch", {"u": 1})).execute(text="down", outcome=OutcomeClass.ERROR).join()
    assert trace.answer().verdict(SYNTHESIS) is VerdictName.FAIL


# --- evidence-reset, reset-cap ---


def pages(run: Run, texts: list[str], **more: Any) -> Any:
    trace = run(**more)
    for text in texts:
        trace.step(("fetch", {"u": 1}), text=text)
    return trace


CHANGED = ["one", "one", "one", "two"]


def test_changed_evidence_restarts_the_counter(run: Run) -> None:
    trace = pages(run, CHANGED).answer(counters={"resets": 1})
    assert trace.verdict(RESET) is VerdictName.PASS
    assert read(trace.trace).closing.resets == Span(1, 1)


def test_synthesis_in_spite_of_changed_evidence_fails(run: Run) -> None:
    assert "no signature stands one below" in pages(run, CHANGED).answer(mode=REPEATED, counters={"resets": 1}).failure(
        RESET
    )


def test_the_counter_restarts_at_one(run: Run) -> None:
    texts = [*CHANGED, "two", "two", "two"]
    assert pages(run, texts).answer(mode=REPEATED, counters={"resets": 1}).verdict(RESET) is VerdictName.PASS
    assert "actual no control" in pages(run, texts).answer(counters={"resets": 1}).failure(RESET)


def test_resets_that_did_not_happen_fail(run: Run) -> None:
    assert "0 evidence resets; actual the outcome counts 1" in pages(run, ["one", "one"]).answer(
        counters={"resets": 1}
    ).failure(RESET)
    assert "1 evidence resets; actual the outcome counts 0" in pages(run, CHANGED).answer().failure(RESET)


def test_errors_are_never_new_evidence(run: Run) -> None:
    trace = run()
    for text in ("a", "b", "c", "d"):
        trace.request().reply(trace.call("fetch", {"u": 1})).execute(text=text, outcome=OutcomeClass.ERROR).join()
    assert trace.answer().verdict(SYNTHESIS) is VerdictName.FAIL


def test_a_tool_with_effects_is_no_observation(run: Run, tool: Any) -> None:
    trace = pages(run, CHANGED, tools=[tool("fetch", effect=Effect.IDEMPOTENT)])
    assert trace.answer().verdict(SYNTHESIS) is VerdictName.FAIL


def test_a_tool_with_effects_may_declare_itself_an_observation(run: Run, tool: Any) -> None:
    trace = pages(run, CHANGED, tools=[tool("fetch", effect=Effect.IDEMPOTENT, observation=True)])
    assert trace.answer(counters={"resets": 1}).verdict(RESET) is VerdictName.PASS


def test_volatile_parts_of_an_outcome_are_no_evidence(run: Run, tool: Any) -> None:
    trace = run(tools=[tool("fetch", volatile_outcome=("/at",))])
    for place in range(4):
        trace.request().reply(trace.call("fetch", {"u": 1})).execute(
            text=f"at {place}", data={"at": place, "v": 1}
        ).join()
    assert trace.answer().verdict(SYNTHESIS) is VerdictName.FAIL


def test_an_outcome_behind_an_error_is_not_judged(run: Run) -> None:
    trace = run()
    for text, outcome in [
        ("one", OutcomeClass.OK),
        ("down", OutcomeClass.ERROR),
        ("one", OutcomeClass.OK),
        ("one", OutcomeClass.OK),
    ]:
        trace.request().reply(trace.call("fetch", {"u": 1})).execute(text=text, outcome=outcome).join()
    closing = read(trace.answer().trace).closing
    assert closing.resets == Span(0, 1)
    assert trace.verdict(SYNTHESIS) is VerdictName.UNTESTABLE


def capped(run: Run, mode: str | None, resets: int, **fields: Any) -> Any:
    trace = pages(run, ["a", "b", "c", "d", "e", "f"], settings={"evidence_reset_cap": 2})
    if fields:
        trace.event("synthesis.entered", control=REPEATED, **fields)
    return trace.answer(mode=mode, counters={"resets": resets})


def test_after_the_last_reset_the_strict_count_applies(run: Run) -> None:
    assert capped(run, REPEATED, 2, reset_cap=True).verdict(CAP) is VerdictName.PASS
    assert "actual no control" in capped(run, None, 2).failure(CAP)


def test_more_resets_than_the_cap_fail(run: Run) -> None:
    assert "at most 2 resets; actual the outcome counts 5" in capped(run, None, 5).failure(CAP)


def test_a_control_that_does_not_name_the_cap_fails(run: Run) -> None:
    assert "synthesis.entered names reset_cap" in capped(run, REPEATED, 2, reset_cap=False).failure(CAP)


def test_a_run_below_the_cap_is_no_occasion(run: Run) -> None:
    assert pages(run, CHANGED).answer(counters={"resets": 1}).verdict(CAP) is VerdictName.UNTESTABLE


# --- what the planned progress rules may do ---


def test_repeated_errors_of_varied_calls_may_end_in_synthesis(run: Run) -> None:
    def varied(mode: str | None) -> Any:
        trace = run()
        for place in range(4):
            trace.request().reply(trace.call("fetch", {"u": place})).execute(
                text="down", outcome=OutcomeClass.ERROR
            ).join()
        return trace.answer(mode=mode)

    assert varied(REPEATED).verdict(SYNTHESIS) is VerdictName.UNTESTABLE
    assert varied(None).verdict(SYNTHESIS) is VerdictName.UNTESTABLE


def test_a_retry_budget_holds_the_counter(run: Run, tool: Any) -> None:
    def failing(times: int, mode: str | None) -> Any:
        trace = run(tools=[tool("fetch", retry_budget=3)])
        for _ in range(times):
            trace.request().reply(trace.call("fetch", {"u": 1})).execute(text="down", outcome=OutcomeClass.ERROR).join()
        return trace.answer(mode=mode)

    assert failing(6, None).verdict(SYNTHESIS) is VerdictName.UNTESTABLE
    assert failing(7, REPEATED).verdict(SYNTHESIS) is VerdictName.PASS
    assert failing(7, None).verdict(SYNTHESIS) is VerdictName.FAIL
