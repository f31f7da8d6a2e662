"""Checkers of call ids and of calls that run side by side."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.vocabulary.content import AssistantMessage, ToolCall
from harness.vocabulary.outcome import Status
from harness.vocabulary.tools import Effect, OutcomeClass
from harness.vocabulary.verdict import VerdictName

Run = Callable[..., Any]
IDS = "loop.tools.ids"
PARALLEL = "loop.tools.parallel"


def given(run: Run, ids: tuple[str, str], kept: tuple[str, str], *, swap: bool = False, skip: bool = False) -> Any:
    """Two calls with the model's ids, and the ids that the conversation has for them."""
    trace = run().step(("fetch", {"u": 0})).request()
    trace.reply(*[ToolCall(name, "fetch", f'{{"u": {place}}}') for place, name in enumerate(ids, 1)])
    stored = tuple([ToolCall(name, "fetch", f'{{"u": {place}}}') for place, name in enumerate(kept, 1)])
    trace.calls = stored
    for call, other in zip(stored, stored[::-1] if swap else stored, strict=True):
        if skip and call is stored[1]:
            trace.error(call, "[tool.unknown]\nNo such tool.")
        else:
            trace.start(call, other.arguments).finish(call)
    return trace.join(said=AssistantMessage(stored)).answer()


@pytest.mark.parametrize("ids", [("same", "same"), ("", "b"), ("c1", "b")])
def test_an_id_that_cannot_be_told_apart_is_rewritten(run: Run, ids: tuple[str, str]) -> None:
    assert given(run, ids, ("new_1", "new_2")).verdict(IDS) is VerdictName.PASS
    assert "has an id of its own" in given(run, ids, ids).failure(IDS)


def test_each_call_runs_with_its_own_arguments(run: Run) -> None:
    failure = given(run, ("same", "same"), ("new_1", "new_2"), swap=True).failure(IDS)
    assert "call 1 (fetch, new_1) runs with its own arguments" in failure


def test_no_call_is_lost_with_its_id(run: Run) -> None:
    assert "call 2 (fetch, new_2) runs, whatever its id; actual it is unknown" in given(
        run, ("same", "same"), ("new_1", "new_2"), skip=True
    ).failure(IDS)


def test_sound_ids_are_no_occasion(run: Run) -> None:
    assert given(run, ("a", "b"), ("a", "b")).verdict(IDS) is VerdictName.UNTESTABLE


# --- parallel ---


def batch(run: Run, tool: Any, names: tuple[str, str], *, together: bool) -> Any:
    tools = [tool("fetch"), tool("list"), tool("send", effect=Effect.IDEMPOTENT)]
    trace = run(tools=tools).request()
    one, two = trace.call(names[0]), trace.call(names[1])
    trace.reply(one, two)
    if together:
        return trace.start(one).start(two).finish(two).finish(one)
    return trace.execute(one).execute(two)


@pytest.mark.parametrize("names", [("fetch", "send"), ("send", "fetch"), ("send", "send")])
def test_only_read_only_calls_run_side_by_side(run: Run, tool: Any, names: tuple[str, str]) -> None:
    assert batch(run, tool, ("fetch", "list"), together=True).join().answer().verdict(PARALLEL) is VerdictName.PASS
    assert batch(run, tool, names, together=False).join().answer().verdict(PARALLEL) is VerdictName.PASS
    assert "run one after the other: not both are read-only" in batch(
        run, tool, names, together=True
    ).join().answer().failure(PARALLEL)


def test_results_stand_in_request_order(run: Run, tool: Any) -> None:
    trace = batch(run, tool, ("fetch", "list"), together=True)
    trace.join(calls=trace.calls[::-1])
    assert "results in request order: c1, c2; actual c2, c1" in trace.answer().failure(PARALLEL)


def test_a_failure_stops_no_sibling(run: Run) -> None:
    def failing(code: str | None) -> Any:
        trace = run().request()
        calls = [trace.call("fetch", {"u": place}) for place in range(3)]
        trace.reply(*calls).execute(calls[0]).execute(calls[1], outcome=OutcomeClass.ERROR)
        trace.execute(calls[2]) if code is None else trace.error(calls[2], f"[{code}]\nNot run.")
        return trace.join().answer()

    assert failing(None).verdict(PARALLEL) is VerdictName.PASS
    assert "goes on although call 2 (fetch, c2) failed; actual it is cancelled" in failing("tool.cancelled").failure(
        PARALLEL
    )


def test_one_call_is_no_occasion(run: Run) -> None:
    assert run().step(("fetch", {})).end(Status.COMPLETED).verdict(PARALLEL) is VerdictName.UNTESTABLE
