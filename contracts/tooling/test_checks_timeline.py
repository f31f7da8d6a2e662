"""How a trace is read: what an attempt came to, steps, lives, and which call a record belongs to."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from harness.checks.reader import read
from harness.checks.standing import Span
from harness.checks.timeline import Fate, Kind
from harness.vocabulary.content import AssistantMessage, Opaque, ToolCall
from harness.vocabulary.outcome import Status
from harness.vocabulary.trace import ReplySent
from harness.vocabulary.turn import ModelTurn, StopReason

Run = Callable[..., Any]


def kinds(trace: Any) -> list[Kind]:
    return [attempt.kind for attempt in read(trace.trace).attempts]


def test_attempts_are_told_apart_by_what_they_came_to(run: Run) -> None:
    trace = run().request().fault().request().reply(say=" ").request().reply(say="On", stop=StopReason.PAUSE)
    trace.step(("fetch", {})).request().reply(stop=StopReason.MAX_TOKENS).request()
    trace.reply(say="Cut", cut=True).answer().request()
    told = [Kind.FAULT, Kind.EMPTY, Kind.PAUSED, Kind.TURN, Kind.SILENT, Kind.FAULT, Kind.ANSWER, Kind.LOST]
    assert kinds(trace) == told


def test_hidden_reasoning_alone_is_an_empty_turn(run: Run) -> None:
    thought = ModelTurn(message=AssistantMessage((Opaque("x", {"type": "thinking"}),)), stop=StopReason.END)
    assert kinds(run().request().add(ReplySent(n=1, reply=thought))) == [Kind.EMPTY]


def test_failed_and_paused_attempts_stay_in_their_step(run: Run) -> None:
    trace = run().request().fault().request().reply(say="On", stop=StopReason.PAUSE)
    trace.step(("fetch", {})).request().reply().answer()
    assert [attempt.step for attempt in read(trace.trace).attempts] == [1, 1, 1, 2, 2]


def test_lives_end_with_a_suspension_or_a_crash(run: Run) -> None:
    trace = run().step(("fetch", {})).end(Status.SUSPENDED).intervene("resume").step(("list", {}))
    trace.intervene("crash").intervene("resume").answer()
    assert [attempt.life for attempt in read(trace.trace).attempts] == [1, 2, 3]


def test_a_reply_that_a_crash_swallowed_is_lost_and_uncharged(run: Run) -> None:
    trace = run().request().reply(say="Done.").intervene("crash").intervene("resume").answer()
    timeline = read(trace.trace)
    assert [attempt.kind for attempt in timeline.attempts] == [Kind.LOST, Kind.ANSWER]
    assert timeline.closing.model_calls == Span(1, 1)


def test_a_checkpointed_reply_is_kept_through_a_crash(run: Run) -> None:
    trace = run().request().reply(run().call("fetch")).checkpoint("model_response").intervene("crash")
    trace.intervene("resume").execute().join().answer()
    timeline = read(trace.trace)
    assert [attempt.kind for attempt in timeline.attempts] == [Kind.TURN, Kind.ANSWER]
    assert timeline.attempts[0].calls[0].fate is Fate.EXECUTED


def test_a_call_run_again_after_a_crash_may_count_once_or_twice(run: Run) -> None:
    trace = run().request().reply(run().call("fetch")).checkpoint("tool_pending")
    trace.start(trace.calls[0]).intervene("crash").intervene("resume").execute().join().answer()
    assert read(trace.trace).closing.tool_calls == Span(1, 2)


@pytest.mark.parametrize(
    ("code", "fate"),
    [
        ("tool.budget_exhausted", Fate.REFUSED),
        ("tool.denied", Fate.DENIED),
        ("tool.cancelled", Fate.CANCELLED),
        ("tool.not_run", Fate.NOT_RUN),
        ("tool.unknown", Fate.UNKNOWN),
        ("tool.arguments_invalid", Fate.INVALID),
        ("tool.arguments_truncated", Fate.TRUNCATED),
        ("tool.outcome_unknown", Fate.UNCERTAIN),
        ("tool.failed", Fate.UNANSWERED),
    ],
)
def test_a_call_that_did_not_run_has_the_fate_of_its_code(run: Run, code: str, fate: Fate) -> None:
    trace = run().request().reply(run().call("fetch"))
    trace.error(trace.calls[0], f"[{code}]\nNo.").join().answer()
    assert read(trace.trace).attempts[0].calls[0].fate is fate


def test_calls_are_tied_to_records_by_their_place(run: Run) -> None:
    trace = run().request()
    trace.reply(trace.call("fetch", {"u": 1}, "same"), trace.call("fetch", {"u": 2}, "same"))
    made = [replace(call, call_id=name) for call, name in zip(trace.calls, ("same", "same-2"), strict=True)]
    trace.execute(made[1], text="two").execute(made[0], text="one")
    trace.items.extend([AssistantMessage(tuple(made)), trace.results["same"], trace.results["same-2"]])
    calls = read(trace.answer().trace).attempts[0].calls
    assert [call.call_id for call in calls] == ["same", "same-2"]
    assert [call.result and call.result.text for call in calls] == ["one", "two"]


def test_the_outcome_shows_the_ids_of_a_last_turn(run: Run) -> None:
    trace = run(transport="xml-fallback").request()
    trace.reply(trace.call("fetch", {}, "script"))
    made = ToolCall("x1", "fetch", "{}")
    trace.execute(made)
    trace.items.extend([AssistantMessage((made,)), trace.results["x1"]])
    call = read(trace.end(Status.CANCELLED, "stop").trace).attempts[0].calls[0]
    assert (call.call_id, call.fate) == ("x1", Fate.EXECUTED)


def test_executions_show_the_ids_where_nothing_else_does(run: Run) -> None:
    trace = run(transport="xml-fallback").request()
    trace.reply(trace.call("fetch", {"u": 1}, "a"), trace.call("fetch", {"u": 2}, "b"))
    trace.execute(ToolCall("x2", "fetch", '{ "u": 2 }'), ToolCall("x1", "fetch", '{"u":1}'))
    calls = read(trace.trace).attempts[0].calls
    assert [call.call_id for call in calls] == ["x1", "x2"]


def test_a_history_that_the_wire_merged_is_shorter_than_the_conversation(run: Run) -> None:
    trace = run()
    whole = [AssistantMessage(()), *trace.items]
    built = replace(run().request().trace[1].request, items=tuple(whole))
    trace.request()
    trace.trace[1] = replace(trace.trace[1], built=built)
    trace.reply(trace.call("fetch", {}, "a")).execute()
    held = [*whole, trace.turn.message, trace.results["a"]]
    timeline = read(trace.end(Status.CANCELLED, "stop", conversation=held).trace)
    assert timeline.offset == 1
    assert timeline.attempts[0].calls[0].fate is Fate.EXECUTED
