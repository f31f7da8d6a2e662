"""Checkers of cut, refused and paused turns, and of the provider's hidden reasoning."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from harness.vocabulary.content import AssistantMessage, Opaque, Text
from harness.vocabulary.outcome import Status
from harness.vocabulary.turn import StopReason
from harness.vocabulary.verdict import VerdictName

Run = Callable[..., Any]
TRUNCATED = "loop.model.truncated"
REFUSAL = "loop.model.refusal"
PAUSED = "loop.model.paused"
VERBATIM = "loop.model.reasoning-verbatim"
FILTERED = ("model_permanent_error", "ContentFiltered")


# --- truncated ---


def test_a_cut_answer_completes_and_says_so(run: Run) -> None:
    def cut(stop: StopReason = StopReason.MAX_TOKENS) -> Any:
        return run().request().reply(say="Half an", stop=stop)

    assert cut().end(message="Half an", truncated=True).verdict(TRUNCATED) is VerdictName.PASS
    assert "completed, truncated; actual completed" in cut().end(message="Half an").failure(TRUNCATED)
    assert "completed, truncated" in cut().fail("empty_model_turn", "EmptyModelTurn").failure(TRUNCATED)
    assert "completes the run; actual another request" in cut().answer().failure(TRUNCATED)
    whole = cut(StopReason.END).end(message="Half an", truncated=True)
    assert "completed, not truncated; actual completed, truncated" in whole.failure(TRUNCATED)


def test_the_last_call_of_a_cut_turn_never_runs_and_the_others_do(run: Run) -> None:
    def cut(first: str | None = None, last: str | None = "tool.arguments_truncated") -> Any:
        trace = run().request()
        one, two = trace.call("fetch", {"u": 1}), trace.call("fetch", {"u": 2})
        trace.reply(one, two, stop=StopReason.MAX_TOKENS)
        for call, code in ((one, first), (two, last)):
            trace.execute(call) if code is None else trace.error(call, f"[{code}]\nCut.")
        return trace.join().answer()

    assert cut().verdict(TRUNCATED) is VerdictName.PASS
    assert "is the last of a cut turn and never runs" in cut(last=None).failure(TRUNCATED)
    assert "is answered as tool.arguments_truncated" in cut(last="tool.unknown").failure(TRUNCATED)
    assert "stands before the cut and is not concerned" in cut(first="tool.arguments_truncated").failure(TRUNCATED)


# --- refusal ---


@pytest.mark.parametrize("refuse", [True, False])
def test_a_refusal_that_says_something_completes_marked(run: Run, refuse: bool) -> None:
    def refused() -> Any:
        return run().request().reply(say="I will not.", stop=StopReason.REFUSAL, refuse=refuse)

    assert refused().end(message="I will not.", refused=True).verdict(REFUSAL) is VerdictName.PASS
    assert "completed, refused; actual completed" in refused().end(message="I will not.").failure(REFUSAL)
    assert "completes the run; actual another request" in refused().answer().failure(REFUSAL)
    assert "completed, refused" in refused().fail(*FILTERED).failure(REFUSAL)


def test_an_ordinary_answer_is_not_marked_as_a_refusal(run: Run) -> None:
    assert "completed, not refused; actual completed, refused" in run().answer(refused=True).failure(REFUSAL)
    assert run().answer().verdict(REFUSAL) is VerdictName.UNTESTABLE


@pytest.mark.parametrize("stop", [StopReason.REFUSAL, StopReason.CONTENT_FILTER])
def test_a_filtered_turn_without_text_fails_typed(run: Run, stop: StopReason) -> None:
    assert run().request().reply(stop=stop).fail(*FILTERED).verdict(REFUSAL) is VerdictName.PASS
    assert "model_permanent_error / ContentFiltered; actual completed" in run().request().reply(
        stop=stop
    ).end().failure(REFUSAL)
    assert "is not retried" in run().request().reply(stop=stop).answer().failure(REFUSAL)


# --- paused ---


def pause(run: Run, **more: Any) -> Any:
    return run(**more).request().reply(say="First, ", stop=StopReason.PAUSE)


def test_a_pause_is_resumed_unchanged(run: Run) -> None:
    trace = pause(run)
    right = trace.request(paused=trace.turn.message).reply(say="then.").end(message="First, then.")
    assert right.verdict(PAUSED) is VerdictName.PASS
    for held in (None, AssistantMessage((Text("First, then "),)), AssistantMessage(())):
        trace = pause(run)
        assert "unchanged" in trace.request(paused=held).reply(say="then.").end(message="then.").failure(PAUSED)


def test_a_second_pause_is_added_to_the_first(run: Run) -> None:
    def twice(text: str) -> Any:
        trace = pause(run)
        trace.request(paused=trace.turn.message).reply(say="second, ", stop=StopReason.PAUSE)
        return trace.request(paused=AssistantMessage((Text(text),))).reply(say="third.").end(message="third.")

    assert twice("First, second, ").verdict(PAUSED) is VerdictName.PASS
    assert "the 2 parts of the paused turn" in twice("second, ").failure(PAUSED)


def test_a_pause_begins_no_step_and_is_no_end(run: Run) -> None:
    trace = pause(run).event("step.started", step=2)
    resumed = trace.request(paused=trace.turn.message).reply(say="then.").end(message="then.")
    assert "a resume begins no step; actual step 2" in resumed.failure(PAUSED)
    assert "a paused turn is no answer" in pause(run).end(message="First, ").failure(PAUSED)
    assert "a paused turn is resumed" in pause(run).fail("empty_model_turn", "EmptyModelTurn").failure(PAUSED)
    spent = pause(run, limits={"max_model_calls": 1}).fail("budget_exceeded", "BudgetExceeded")
    assert spent.verdict(PAUSED) is VerdictName.UNTESTABLE


# --- reasoning ---


def thinking(text: str = "Page 1 first.", provider: str = "sim") -> Opaque:
    return Opaque(provider, {"thinking": text})


def replayed(run: Run, *back: Opaque, given: tuple[Opaque, ...] = (), **more: Any) -> Any:
    trace = run(**more).request()
    call = trace.call("fetch")
    trace.reply(call)
    turn = replace(trace.turn, message=AssistantMessage((*(given or (thinking(),)), call)))
    trace.trace[-1] = replace(trace.trace[-1], reply=turn)
    return trace.execute().join(said=AssistantMessage((*back, call))).answer()


def test_reasoning_goes_back_verbatim_and_in_order(run: Run) -> None:
    assert replayed(run, thinking()).verdict(VERBATIM) is VerdictName.PASS
    assert "1 pieces of reasoning go back; actual 0 do" in replayed(run).failure(VERBATIM)
    assert "reasoning goes back as it came" in replayed(run, thinking("Page 2.")).failure(VERBATIM)
    two = (thinking("a"), thinking("b"))
    assert replayed(run, *two, given=two).verdict(VERBATIM) is VerdictName.PASS
    assert "as it came" in replayed(run, *two[::-1], given=two).failure(VERBATIM)


def test_reasoning_goes_only_to_the_provider_that_made_it(run: Run) -> None:
    mine, other = thinking(provider="anthropic-messages"), thinking(provider="openai-responses")
    assert replayed(run, mine, given=(mine,), transport="anthropic-messages").verdict(VERBATIM) is VerdictName.PASS
    failure = replayed(run, other, given=(mine,), transport="anthropic-messages").failure(VERBATIM)
    assert "only reasoning of anthropic-messages; actual some of openai-responses" in failure


def test_a_run_without_reasoning_is_no_occasion(run: Run) -> None:
    assert run().step(("fetch", {})).answer().verdict(VERBATIM) is VerdictName.UNTESTABLE
    assert run().end(Status.COMPLETED).verdict(VERBATIM) is VerdictName.UNTESTABLE
