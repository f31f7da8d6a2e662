"""Checkers of loop.md section 2 that compare an outcome's counters, usage and cost with what was seen."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from harness.vocabulary.usage import Price, Usage
from harness.vocabulary.verdict import VerdictName

Run = Callable[..., Any]
ACCOUNTING = "loop.budget.accounting"
ATTEMPTS = "loop.budget.attempts-count"
COST = "loop.budget.cost"
USAGE = "loop.budget.cumulative-usage"


def batch(run: Run, room: int = 2, size: int = 3, **more: Any) -> tuple[Any, list[Any]]:
    """A first turn with `size` calls and `room` left for them."""
    trace = run(limits={"max_tool_calls": room}, **more).request()
    calls = [trace.call("fetch", {"u": place}) for place in range(size)]
    return trace.reply(*calls), calls


# --- accounting, attempts, usage, cost ---


def test_dispatched_calls_are_counted(run: Run) -> None:
    assert run().step(("fetch", {})).answer().verdict(ACCOUNTING) is VerdictName.PASS
    wrong = run().step(("fetch", {})).answer(counters={"tool_calls": 2})
    assert "1 dispatched tool calls are counted; actual the outcome counts 2" in wrong.failure(ACCOUNTING)


def test_refused_calls_are_no_usage(run: Run) -> None:
    trace, calls = batch(run)
    trace.execute(*calls[:2]).refuse(calls[2]).join().answer(mode="tool_calls", counters={"tool_calls": 3})
    assert "2 dispatched tool calls are counted" in trace.failure(ACCOUNTING)


def test_every_attempt_is_a_model_call(run: Run) -> None:
    assert run().request().fault().answer().verdict(ATTEMPTS) is VerdictName.PASS
    wrong = run().request().fault().answer(counters={"model_calls": 1})
    assert "2 model calls are counted; actual the outcome counts 1" in wrong.failure(ATTEMPTS)


USED = Usage(input_tokens=10, output_tokens=2)


def spent(run: Run, usage: Usage) -> Any:
    trace = run().request().fault(usage=USED).request()
    return trace.reply(say="Done.", usage=USED).end(usage=usage)


def test_the_usage_of_failed_attempts_counts(run: Run) -> None:
    assert spent(run, Usage(input_tokens=20, output_tokens=4)).verdict(ATTEMPTS) is VerdictName.PASS
    assert "input_tokens: at least 20" in spent(run, Usage(input_tokens=10, output_tokens=4)).failure(ATTEMPTS)


def test_usage_is_the_sum_of_final_figures(run: Run) -> None:
    assert spent(run, Usage(input_tokens=20, output_tokens=4)).verdict(USAGE) is VerdictName.PASS
    assert "output_tokens: 4; actual the outcome says 6" in spent(run, Usage(input_tokens=20, output_tokens=6)).failure(
        USAGE
    )


def test_what_nobody_reported_is_none(run: Run) -> None:
    wrong = spent(run, Usage(input_tokens=20, output_tokens=4, cached_tokens=0))
    assert "cached_tokens: not reported (None); actual the outcome says 0" in wrong.failure(USAGE)
    assert "input_tokens: 20; actual the outcome says None" in spent(run, Usage(output_tokens=4)).failure(USAGE)


def test_usage_that_a_wire_fills_in_is_not_judged(run: Run) -> None:
    trace = run(transport="openai-chat").request().reply(say="Done.").end(usage=Usage(input_tokens=3, output_tokens=3))
    assert trace.verdict(USAGE) is VerdictName.UNTESTABLE


PRICES = {"sim-model": Price(input=Decimal(3), output=Decimal(15), cached=Decimal("0.3"))}


def paid(run: Run, counted: str) -> Any:
    usage = Usage(input_tokens=1000, cached_tokens=400, cache_write_tokens=100, output_tokens=50)
    trace = run(settings={"prices": PRICES}).request().reply(say="Done.", usage=usage)
    return trace.end(counters={"cost": Decimal(counted)})


def test_cost_is_usage_times_price(run: Run) -> None:
    # 500 plain and 100 written at 3, 400 cached at 0.3, 50 out at 15
    assert paid(run, "0.00267").verdict(COST) is VerdictName.PASS
    assert "a cost of $0.00267" in paid(run, "0.00375").failure(COST)


def test_a_run_without_prices_has_no_cost(run: Run) -> None:
    assert run().answer().verdict(COST) is VerdictName.UNTESTABLE
