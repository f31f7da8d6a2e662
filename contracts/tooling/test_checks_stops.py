"""Checkers of cancel and deadline: what a run that was called off may still do."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.vocabulary import trace as records
from harness.vocabulary.content import Text
from harness.vocabulary.outcome import Status
from harness.vocabulary.tools import Effect, OutcomeClass, ToolOutcome
from harness.vocabulary.verdict import VerdictName

Run = Callable[..., Any]
CANCEL = "loop.cancel.points"
TIMEOUT = "loop.tools.timeout"
ORDER = "loop.turn.order"
SCOPE = "loop.budget.step-scope"
HARD = "loop.budget.hard-stop"
STEPS = ("max_steps_exceeded", "BudgetExceeded")
LATE = ("deadline_exceeded", "RunDeadlineExceeded")
LOOPING = ("tool_loop_detected", "ToolLoopDetected")


def ended(call: Any, at: float, **more: Any) -> records.ToolEnded:
    outcome = ToolOutcome(**{"outcome": OutcomeClass.OK, "content": (Text("Same page."),), **more})
    return records.ToolEnded(call_id=call.call_id, tool=call.name, outcome=outcome, at=at)


def five(run: Run) -> Any:
    """A batch over the identical-call limit, that came after a cancel."""
    trace = run().request()
    return trace.reply(*[trace.call("fetch", {"u": 1}) for _ in range(5)]).intervene("cancel", reason="stop")


def test_a_cancel_wins_over_the_limit(run: Run) -> None:
    right = five(run).answer_rest("tool.cancelled").join().end(Status.CANCELLED, "stop")
    assert right.verdict(ORDER) is VerdictName.PASS
    assert right.verdict(CANCEL) is VerdictName.PASS
    wrong = five(run).fail(*LOOPING)
    assert "cancelled, whatever else the turn brings about; actual failed, tool_loop_detected" in wrong.failure(ORDER)
    assert "cancelled, whatever else" in wrong.failure(CANCEL)


def test_a_cancel_that_may_have_come_too_late_for_the_turn_is_not_judged(run: Run) -> None:
    trace = run().request()
    trace.reply(*[trace.call("fetch", {"u": 1}) for _ in range(5)]).event("model.replied").intervene("cancel")
    assert trace.fail(*LOOPING).verdict(ORDER) is VerdictName.PASS


def test_a_cancel_in_a_batch_wins_over_what_its_end_brings(run: Run) -> None:
    def stopped(*end: Any) -> Any:
        trace = run(limits={"max_steps": 1}).request()
        trace.reply(trace.call("fetch")).start(trace.calls[0]).intervene("cancel").finish(trace.calls[0]).join()
        return trace.end(*end)

    assert stopped(Status.CANCELLED, "stop").verdict(CANCEL) is VerdictName.PASS
    assert "max_steps_exceeded" in stopped(Status.FAILED, *STEPS).failure(CANCEL)
    assert "max_steps_exceeded" in stopped(Status.FAILED, *STEPS).failure(ORDER)


def test_no_attempt_after_a_cancel(run: Run) -> None:
    assert "no attempt after a cancel; actual request 2" in run().step(("fetch", {})).intervene(
        "cancel"
    ).answer().failure(CANCEL)


def test_no_call_begins_after_a_cancel_unless_it_began_with_another(run: Run, tool: Any) -> None:
    def two(name: str) -> Any:
        trace = run(tools=[tool("fetch"), tool("send", effect=Effect.IDEMPOTENT)]).request()
        first, second = trace.call(name, {"u": 1}), trace.call(name, {"u": 2})
        trace.reply(first, second).start(first).intervene("cancel").finish(first).execute(second).join()
        return trace.end(Status.CANCELLED, "stop")

    assert two("fetch").verdict(CANCEL) is VerdictName.PASS
    assert "call 2 (send, c2) does not begin after a cancel" in two("send").failure(CANCEL)


def test_a_begun_call_is_recorded_and_the_others_are_answered(run: Run) -> None:
    def left(begun: str, open_code: str | None) -> Any:
        trace = run().request()
        first, second = trace.call("fetch", {"u": 1}), trace.call("fetch", {"u": 2})
        trace.reply(first, second).start(first).intervene("cancel").finish(first)
        if begun:
            trace.error(first, f"[{begun}]\nNot run.")
        if open_code:
            trace.error(second, f"[{open_code}]\nNot run.")
        return trace.join().end(Status.CANCELLED, "stop")

    assert left("", "tool.cancelled").verdict(CANCEL) is VerdictName.PASS
    assert "was begun: its own outcome is recorded" in left("tool.cancelled", "tool.cancelled").failure(CANCEL)
    assert "did not start: it is answered as tool.cancelled" in left("", "tool.not_run").failure(CANCEL)
    assert "actual it has no result" in left("", None).failure(CANCEL)


def test_a_run_that_is_not_cancelled_is_no_occasion(run: Run) -> None:
    assert run().answer().verdict(CANCEL) is VerdictName.UNTESTABLE


# --- deadline ---


def late(run: Run, *end: Any, at: float = 12.0, **more: Any) -> Any:
    trace = run(limits={"max_steps": 1, "deadline": 10.0}, **more).request()
    call = trace.call("fetch")
    trace.reply(call).start(call).finish(call).join()
    trace.trace[-1] = ended(call, at)
    return trace.end(*end, at=at) if end else trace


def test_a_deadline_that_passed_in_a_batch_wins_over_spent_steps(run: Run) -> None:
    assert late(run, Status.FAILED, *LATE).verdict(ORDER) is VerdictName.PASS
    assert "failed, deadline_exceeded, whatever else" in late(run, Status.FAILED, *STEPS).failure(ORDER)
    assert "failed, deadline_exceeded, whatever else" in late(run, Status.FAILED, *STEPS).failure(TIMEOUT)
    assert late(run, Status.FAILED, *STEPS, at=9.0).verdict(ORDER) is VerdictName.UNTESTABLE


def test_a_late_reply_does_not_end_as_a_violation(run: Run) -> None:
    def reply(*end: str) -> Any:
        trace = run(limits={"max_tool_calls": 0, "deadline": 10.0}).request("tool_calls")
        return trace.reply(trace.call("fetch")).fail(*end, at=12.0, details={"synthesis_reserve": "tool_calls"})

    assert reply(*LATE).verdict(ORDER) is VerdictName.PASS
    assert "deadline_exceeded, whatever else" in reply("budget_exceeded", "SynthesisReserveViolation").failure(ORDER)


def test_no_step_begins_after_the_deadline(run: Run) -> None:
    assert late(run, Status.FAILED, *LATE).verdict(SCOPE) is VerdictName.PASS
    begun = late(run).event("step.started", step=2).end(Status.FAILED, *LATE, at=12.0)
    assert "no step starts after the deadline" in begun.failure(SCOPE)


def test_no_call_begins_after_the_deadline(run: Run, tool: Any) -> None:
    def second(at: float) -> Any:
        trace = run(limits={"deadline": 10.0}, tools=[tool("send", effect=Effect.IDEMPOTENT)]).request()
        one, two = trace.call("send", {"u": 1}), trace.call("send", {"u": 2})
        trace.reply(one, two).execute(one).finish(two)
        trace.trace[-1] = records.ToolStarted(call_id=two.call_id, tool="send", arguments=two.arguments, at=at)
        trace.add(ended(two, at)).join()
        return trace.end(Status.FAILED, *LATE, at=12.0)

    assert "call 2 (send, c2) does not begin after the deadline" in second(11.0).failure(TIMEOUT)
    assert second(9.0).verdict(TIMEOUT) is VerdictName.UNTESTABLE


@pytest.mark.parametrize(
    ("effect", "code"), [(Effect.READ_ONLY, "tool.timed_out"), (Effect.IDEMPOTENT, "tool.outcome_unknown")]
)
def test_a_tools_own_time_limit_is_a_result(run: Run, tool: Any, effect: Effect, code: str) -> None:
    def slow(answer: str) -> Any:
        trace = run(tools=[tool("fetch", effect=effect)]).request()
        call = trace.call("fetch")
        trace.reply(call).start(call).finish(call)
        trace.trace[-1] = ended(call, 30.0, outcome=OutcomeClass.ERROR, timed_out=True)
        return trace.error(call, f"[{answer}]\nToo slow.").join().answer()

    assert slow(code).verdict(TIMEOUT) is VerdictName.PASS
    assert f"an error result {code}" in slow("tool.failed").failure(TIMEOUT)


# --- a paused turn and a spent budget ---


def test_a_run_that_pauses_with_nothing_left_ends_for_that(run: Run) -> None:
    from harness.vocabulary.turn import StopReason

    def left(*end: Any, calls: int = 1) -> Any:
        trace = run(limits={"max_model_calls": calls}).request().reply(say="First, ", stop=StopReason.PAUSE)
        return trace.end(*end)

    spent = (Status.FAILED, "budget_exceeded", "BudgetExceeded")
    assert left(*spent).verdict(HARD) is VerdictName.PASS
    assert "failed, budget_exceeded, since model_calls is spent" in left(Status.COMPLETED).failure(HARD)
    assert "model_calls is spent" in left(Status.FAILED, *STEPS).failure(HARD)
    assert "no hard budget is spent" in left(*spent, calls=5).failure(HARD)
