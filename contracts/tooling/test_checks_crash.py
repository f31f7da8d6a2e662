"""Checkers of checkpoints, the effect watermark, recovery and fencing."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.vocabulary import trace as records
from harness.vocabulary.outcome import Status
from harness.vocabulary.tools import Effect
from harness.vocabulary.verdict import VerdictName

Run = Callable[..., Any]
STORED = "loop.crash.checkpoints"
MARK = "loop.crash.effect-watermark"
RECOVERY = "loop.crash.recovery"
POINT = "loop.crash.every-point"
FENCING = "loop.crash.fencing"
UNKNOWN = "[tool.outcome_unknown]\nIt is not known."


def mark(trace: Any, call: Any) -> Any:
    return trace.add(records.EffectMarked(call_id=call.call_id))


# --- checkpoints ---


def sent(run: Run, tool: Any, without: str = "") -> Any:
    """A failed attempt, a batch with one effect, an answer; each checkpoint but one."""

    def store(trigger: str) -> None:
        if trigger != without:
            trace.checkpoint(trigger)

    trace = run(tools=[tool("send", effect=Effect.NON_IDEMPOTENT)]).request().fault(status=503)
    store("model_failed")
    trace.request()
    call = trace.call("send")
    trace.reply(call)
    store("model_response")
    store("tool_pending")
    mark(trace, call).execute()
    store("tool_call")
    trace.join()
    store("tool_call")
    trace.request().reply(say="Done.")
    store("final")
    return trace.end(message="Done.")


def test_each_reply_effect_batch_and_end_is_stored(run: Run, tool: Any) -> None:
    assert sent(run, tool).verdict(STORED) is VerdictName.PASS


@pytest.mark.parametrize(
    ("without", "says"),
    [
        ("model_failed", "checkpoint model_failed before anything follows the reply"),
        ("model_response", "checkpoint model_response before anything follows the reply"),
        ("tool_pending", "checkpoint tool_pending before the first dispatch"),
        ("tool_call", "checkpoint tool_call after the effect of call 1 (send, c1)"),
        ("final", "checkpoint final before the run returns"),
    ],
)
def test_a_missing_checkpoint_fails(run: Run, tool: Any, without: str, says: str) -> None:
    assert says in sent(run, tool, without).failure(STORED)


def test_the_last_checkpoint_is_that_of_the_outcome_and_whole(run: Run) -> None:
    trace = run().request().reply(say="Done.").checkpoint("failed").end()
    assert "checkpoint final before the run returns; actual the last one is failed" in trace.failure(STORED)
    trace = run().request().reply(say="Done.").checkpoint("final", items=()).end()
    assert "holds the whole conversation; actual 0 of 1 items" in trace.failure(STORED)


# --- watermark ---


def test_the_effect_is_marked_before_the_tool_is_reached(run: Run, tool: Any) -> None:
    def two(marks: int) -> Any:
        trace = run(tools=[tool("send", effect=Effect.IDEMPOTENT)]).request()
        trace.reply(trace.call("send", {"u": 1}), trace.call("send", {"u": 2}))
        for place, call in enumerate(trace.calls):
            mark(trace, call) if place < marks else trace
            trace.execute(call)
        return trace.join().answer()

    assert two(2).verdict(MARK) is VerdictName.PASS
    assert "effect sent is marked before send (c2) runs" in two(1).failure(MARK)


def test_a_second_run_is_marked_again(run: Run, tool: Any) -> None:
    trace = run(tools=[tool("send", effect=Effect.IDEMPOTENT)]).request()
    call = trace.call("send")
    mark(trace.reply(call), call).start(call).intervene("crash")
    assert "effect sent is marked" in trace.execute().join().answer().failure(MARK)


def test_read_only_tools_need_no_mark(run: Run) -> None:
    assert run().step(("fetch", {})).answer().verdict(MARK) is VerdictName.UNTESTABLE


# --- recovery ---


def killed(run: Run, tool: Any, effect: Effect, *, marked: bool = True, began: bool = True) -> Any:
    """A batch of one call in which the process was killed."""
    trace = run(tools=[tool("send", effect=effect)]).request()
    call = trace.call("send", {"to": "ann"})
    trace.reply(call).checkpoint("tool_pending", pending=[call.call_id])
    if marked:
        mark(trace, call)
    if began:
        trace.start(call)
    return trace.intervene("crash")


@pytest.mark.parametrize("began", [True, False])
def test_what_may_have_happened_is_not_run_again(run: Run, tool: Any, began: bool) -> None:
    def resumed(again: bool) -> Any:
        trace = killed(run, tool, Effect.NON_IDEMPOTENT, began=began)
        return (trace.execute() if again else trace.error(trace.calls[0], UNKNOWN)).join().answer()

    assert resumed(False).verdict(RECOVERY) is VerdictName.PASS
    assert "may have had its effect and is not run again" in resumed(True).failure(RECOVERY)


def test_what_may_have_happened_is_said_to_be_unknown(run: Run, tool: Any) -> None:
    trace = killed(run, tool, Effect.NON_IDEMPOTENT)
    trace.error(trace.calls[0], "[tool.not_run]\nNot run.")
    assert "is answered as tool.outcome_unknown" in trace.join().answer().failure(RECOVERY)


def test_what_was_not_marked_may_still_run(run: Run, tool: Any) -> None:
    trace = killed(run, tool, Effect.NON_IDEMPOTENT, marked=False, began=False)
    assert mark(trace, trace.calls[0]).execute().join().answer().verdict(POINT) is VerdictName.PASS


@pytest.mark.parametrize("effect", [Effect.READ_ONLY, Effect.IDEMPOTENT, Effect.CONDITIONAL])
def test_what_is_safe_runs_again(run: Run, tool: Any, effect: Effect) -> None:
    assert killed(run, tool, effect).execute().join().answer().verdict(RECOVERY) is VerdictName.PASS
    trace = killed(run, tool, effect)
    trace.error(trace.calls[0], UNKNOWN)
    assert "is safe to run again, and is; actual it was not" in trace.join().answer().failure(RECOVERY)


def test_a_recorded_call_is_not_run_again(run: Run, tool: Any) -> None:
    def recorded(again: bool) -> Any:
        trace = run(tools=[tool("send", effect=Effect.NON_IDEMPOTENT)]).request()
        call = trace.call("send")
        mark(trace.reply(call), call).execute().join().checkpoint("tool_call").intervene("crash")
        return (trace.start(call) if again else trace).answer(counters={"tool_calls": 1})

    assert recorded(False).verdict(RECOVERY) is VerdictName.PASS
    assert "has its recorded result and is not run again" in recorded(True).failure(RECOVERY)


def test_the_same_call_again_is_denied(run: Run, tool: Any) -> None:
    def later(denied: bool) -> Any:
        trace = killed(run, tool, Effect.NON_IDEMPOTENT)
        trace.error(trace.calls[0], UNKNOWN).join().request()
        again = trace.call("send", {"to": "ann"})
        trace.reply(again)
        text = "[tool.denied]\nDo not retry it."
        return (trace.error(again, text) if denied else mark(trace, again).execute()).join().answer()

    assert later(True).verdict(RECOVERY) is VerdictName.PASS
    assert "is denied: its outcome is unknown from an earlier run" in later(False).failure(RECOVERY)


# --- every-point and fencing ---


def test_no_effect_happens_twice(run: Run, tool: Any) -> None:
    trace = killed(run, tool, Effect.NON_IDEMPOTENT).execute().join().answer()
    assert "happens at most once; actual it ran 2 times" in trace.failure(POINT)


def test_no_recorded_result_is_lost(run: Run) -> None:
    def resumed(**end: Any) -> Any:
        return run().step(("fetch", {})).checkpoint("tool_call").intervene("crash").answer(**end)

    assert resumed().verdict(POINT) is VerdictName.PASS
    assert "the recorded result of fetch (c1) is kept; actual it is gone" in resumed(conversation=()).failure(POINT)


def test_a_killed_run_reaches_an_outcome(run: Run) -> None:
    assert "a resumed run reaches an outcome" in run().step(("fetch", {})).intervene("crash").failure(POINT)


@pytest.mark.parametrize("change", ["request", "start", "checkpoint", "mark"])
def test_a_late_worker_changes_nothing(run: Run, change: str) -> None:
    def late() -> Any:
        return run().step(("fetch", {})).intervene("crash").answer().intervene("resume", worker=2)

    assert late().intervene("fenced", worker=2).verdict(FENCING) is VerdictName.PASS
    trace = late()
    changes = {
        "request": trace.request,
        "start": lambda: trace.start(trace.call("fetch")),
        "checkpoint": lambda: trace.checkpoint("final"),
        "mark": lambda: mark(trace, trace.call("fetch")),
    }
    changes[change]()
    assert "the worker that came late changes nothing" in trace.failure(FENCING)


def test_one_worker_is_no_occasion(run: Run) -> None:
    assert run().answer().end(Status.COMPLETED).verdict(FENCING) is VerdictName.UNTESTABLE
