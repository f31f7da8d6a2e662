"""Checkers of loop.md section 2 that look at one batch: fitting and refusals."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.vocabulary.outcome import Status
from harness.vocabulary.verdict import VerdictName

Run = Callable[..., Any]
FIT = "loop.budget.fit-before-dispatch"
REFUSAL = "loop.budget.refusal-is-a-result"
CHECKPOINT = "loop.budget.refusal-before-checkpoint"


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
