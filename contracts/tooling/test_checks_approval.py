"""Checkers of loop.md section 8: suspension, single execution, denials."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.vocabulary.outcome import Status
from harness.vocabulary.verdict import VerdictName

Run = Callable[..., Any]
SUSPEND = "loop.approval.suspend"
ONCE = "loop.approval.once"
DENIED = "loop.approval.denied"
DENIAL = "[tool.denied]\nThis call was denied. Do not retry it."
END = ("repeated_denial", "ToolPolicyDenied")


def proposed(run: Run, tool: Any, **more: Any) -> Any:
    """A turn with a call that needs approval, before one that does not."""
    trace = run(tools=[tool("fetch"), tool("pay", approval=True)], **more).request()
    return trace.reply(trace.call("pay", {"sum": 3}), trace.call("fetch"))


def suspended(run: Run, tool: Any, trigger: str = "suspended", waiting: tuple[str, ...] = ("c1",)) -> Any:
    trace = proposed(run, tool)
    pay, fetch = trace.calls
    trace.execute(fetch).ask(pay)
    held = [*trace.items, trace.turn.message, trace.results["c2"]]
    return trace.checkpoint(trigger, items=held).end(Status.SUSPENDED, waiting_for=waiting, conversation=held)


# --- suspend ---


def test_the_run_suspends_and_runs_what_was_approved(run: Run, tool: Any) -> None:
    trace = suspended(run, tool).intervene("approve", "c1").intervene("resume")
    trace.execute(trace.calls[0]).join().answer()
    assert trace.verdict(SUSPEND) is VerdictName.PASS
    assert trace.verdict("loop.tools.every-call-answered") is VerdictName.PASS


def test_a_run_that_does_not_suspend_fails(run: Run, tool: Any) -> None:
    trace = proposed(run, tool)
    trace.ask(trace.calls[0]).execute().join().answer()
    assert "the run suspends for call 1 (pay, c1)" in trace.failure(SUSPEND)


def test_running_before_the_decision_fails(run: Run, tool: Any) -> None:
    trace = proposed(run, tool)
    pay, fetch = trace.calls
    trace.ask(pay).execute(fetch, pay).checkpoint("suspended").end(Status.SUSPENDED, waiting_for=("c1",))
    assert "runs only when approved" in trace.intervene("approve", "c1").failure(SUSPEND)


def test_running_without_approval_fails(run: Run, tool: Any) -> None:
    trace = suspended(run, tool).intervene("resume")
    assert "runs only when approved" in trace.execute(trace.calls[0]).join().answer().failure(SUSPEND)


def test_siblings_that_run_after_the_suspension_fail(run: Run, tool: Any) -> None:
    trace = proposed(run, tool)
    pay, fetch = trace.calls
    trace.ask(pay).checkpoint("suspended").end(Status.SUSPENDED, waiting_for=("c1",)).intervene("approve", "c1")
    trace.intervene("resume").execute(pay, fetch).join().answer()
    assert "call 2 (fetch, c2) is done before the run suspends" in trace.failure(SUSPEND)


def test_a_suspension_without_checkpoint_fails(run: Run, tool: Any) -> None:
    assert "a suspended checkpoint" in suspended(run, tool, trigger="tool_call").failure(SUSPEND)


def test_a_suspension_that_waits_for_other_calls_fails(run: Run, tool: Any) -> None:
    assert "it waits for ['c1']; actual it waits for ['c2']" in suspended(run, tool, waiting=("c2",)).failure(SUSPEND)


def test_other_arguments_than_the_stored_ones_fail(run: Run, tool: Any) -> None:
    trace = suspended(run, tool).intervene("approve", "c1").intervene("resume")
    pay = trace.calls[0]
    trace.start(pay, '{"sum":3}').finish(pay).join().answer()
    assert """the stored arguments '{"sum": 3}'; actual it ran with '{"sum":3}'""" in trace.failure(SUSPEND)


def test_a_decision_may_be_shown_by_an_event(run: Run, tool: Any) -> None:
    trace = suspended(run, tool).event("approval.resolved", call_id="c1", tool="pay", decision="approve")
    assert trace.execute(trace.calls[0]).join().answer().verdict(SUSPEND) is VerdictName.PASS


def test_a_run_without_approvals_is_no_occasion(run: Run) -> None:
    assert run().step(("fetch", {})).answer().verdict(SUSPEND) is VerdictName.UNTESTABLE


# --- once ---


def resumed(run: Run, tool: Any, *interventions: str, runs: int = 1) -> Any:
    trace = suspended(run, tool)
    for do in interventions:
        trace.intervene(do, "c1" if do == "approve" else None)
    for _ in range(runs):
        trace.execute(trace.calls[0])
    return trace.join().answer()


@pytest.mark.parametrize(
    "twice", [("approve", "approve", "resume"), ("approve", "resume", "resume"), ("approve", "resume_twice")]
)
def test_resolving_or_resuming_twice_runs_once(run: Run, tool: Any, twice: tuple[str, ...]) -> None:
    assert resumed(run, tool, *twice).verdict(ONCE) is VerdictName.PASS
    assert "it ran 2 times" in resumed(run, tool, *twice, runs=2).failure(ONCE)


def test_one_resume_is_no_occasion(run: Run, tool: Any) -> None:
    assert resumed(run, tool, "approve", "resume").verdict(ONCE) is VerdictName.UNTESTABLE


def test_a_run_again_after_a_crash_is_not_judged_here(run: Run, tool: Any) -> None:
    trace = suspended(run, tool).intervene("approve", "c1").intervene("resume")
    pay = trace.calls[0]
    trace.start(pay).intervene("crash").intervene("resume").execute(pay).join().answer()
    assert trace.verdict(ONCE) is VerdictName.UNTESTABLE


# --- denied ---


def denials(run: Run, tool: Any, times: int, text: str = DENIAL) -> Any:
    trace = run(tools=[tool("fetch"), tool("pay", denied="policy.no_payments")])
    for _ in range(times):
        trace.request().reply(trace.call("pay"))
        trace.error(trace.calls[0], text).join()
    return trace


def test_a_denial_asks_not_to_retry(run: Run, tool: Any) -> None:
    assert denials(run, tool, 1).answer().verdict(DENIED) is VerdictName.PASS
    assert "asks not to retry" in denials(run, tool, 1, "[tool.denied]\nNo.").answer().failure(DENIED)


def test_the_third_identical_denial_ends_the_run(run: Run, tool: Any) -> None:
    assert denials(run, tool, 3).fail(*END).verdict(DENIED) is VerdictName.PASS
    assert "the run went on with request 4" in denials(run, tool, 3).answer().failure(DENIED)
    assert "failed, repeated_denial" in denials(run, tool, 3).fail("internal_error", "LoopInvariantError").failure(
        DENIED
    )


def test_ending_before_the_third_denial_fails(run: Run, tool: Any) -> None:
    assert "no call was denied 3 times" in denials(run, tool, 2).fail(*END).failure(DENIED)


def test_running_what_policy_denies_fails(run: Run, tool: Any) -> None:
    trace = denials(run, tool, 0).step(("pay", {})).answer()
    assert "was denied and does not run" in trace.failure(DENIED)


def test_a_policy_denial_takes_no_slot(run: Run, tool: Any) -> None:
    trace = run(tools=[tool("fetch"), tool("pay", denied="policy.no_payments")], limits={"max_tool_calls": 1}).request()
    one, pay = trace.call("fetch"), trace.call("pay")
    trace.reply(one, pay).execute(one).refuse(pay).join()
    assert "is denied by policy, and takes no budget slot" in trace.answer(mode="tool_calls").failure(DENIED)


def test_running_what_a_person_denied_fails(run: Run, tool: Any) -> None:
    trace = suspended(run, tool).intervene("deny", "c1").intervene("resume")
    assert "was denied and does not run" in trace.execute(trace.calls[0]).join().answer().failure(DENIED)


def test_denials_of_other_reasons_may_be_counted_apart(run: Run, tool: Any) -> None:
    def three(*reasons: str) -> Any:
        trace = run(tools=[tool("pay", approval=True)])
        for reason in reasons:
            trace.request().reply(trace.call("pay"))
            pay = trace.calls[0]
            trace.ask(pay).end(Status.SUSPENDED, waiting_for=(pay.call_id,)).intervene(
                "deny", pay.call_id, reason=reason
            )
            trace.intervene("resume").error(pay, DENIAL).join()
        return trace

    assert three("a", "a", "a").answer().verdict(DENIED) is VerdictName.FAIL
    assert three("a", "b", "c").answer().verdict(DENIED) is VerdictName.PASS
    assert three("a", "b", "c").fail(*END).verdict(DENIED) is VerdictName.PASS
