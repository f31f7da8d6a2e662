"""Checkers of loop.md section 3 that look at single counts: what counts, resets, their cap, a resume."""

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
SYNTHESIS = "loop.breaker.synthesis-before-limit"
RESUME = "loop.breaker.resume"
COUNTS = "loop.breaker.counts"
RESET = "loop.breaker.evidence-reset"
CAP = "loop.breaker.reset-cap"
REPEATED = "repeated_tool_calls"


def repeat(run: Run, times: int = 4, *, text: str = "Same page.", **more: Any) -> Any:
    """A run with `times` identical calls, one a step."""
    trace = run(**more)
    for _ in range(times):
        trace.step(("fetch", {"u": 1}), text=text)
    return trace


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
