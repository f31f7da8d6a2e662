"""Budgets: scopes, reserves, accounting and cost (loop.md section 2)."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.loop.budgets import BudgetScope, BudgetSpent, Spent, add_usage, attempt_cost, check, due_control
from harness.loop.defaults import default_limits
from harness.loop.task import Task
from harness.vocabulary.settings import RunLimits, SettingsError
from harness.vocabulary.usage import NO_USAGE, Price, Usage


def _limits(**more: object) -> RunLimits:
    return RunLimits(**{"max_steps": 10, "max_model_calls": 10, "max_tool_calls": 10, **more})  # type: ignore[arg-type]


def test_the_step_scope_does_not_read_tool_calls() -> None:
    check(Spent(tool_calls=10), _limits(), BudgetScope.STEP, 0.0)
    with pytest.raises(BudgetSpent, match="tool_calls"):
        check(Spent(tool_calls=10), _limits(), BudgetScope.TOOL_CALL, 0.0)


@pytest.mark.parametrize(("used", "due"), [(7, None), (8, "model_calls"), (9, "model_calls")])
def test_a_remainder_at_its_reserve_makes_synthesis_due(used: int, due: str | None) -> None:
    assert due_control(Spent(model_calls=used), _limits(synthesis_reserve_model_calls=2)) == due


def test_a_spent_tool_budget_is_synthesis_even_without_a_reserve() -> None:
    assert due_control(Spent(tool_calls=9), _limits()) is None
    assert due_control(Spent(tool_calls=10), _limits()) == "tool_calls"


def test_dimensions_are_named_in_their_order() -> None:
    limits = _limits(synthesis_reserve_steps=1, synthesis_reserve_model_calls=1, synthesis_reserve_tool_calls=1)
    assert due_control(Spent(steps=9, model_calls=9, tool_calls=9), limits) == "steps"
    assert due_control(Spent(steps=0, model_calls=9, tool_calls=9), limits) == "model_calls"
    assert due_control(Spent(steps=9, model_calls=9, tool_calls=10), limits) == "tool_calls"


@pytest.mark.parametrize("dimension", ["steps", "model_calls", "tool_calls"])
def test_a_reserve_lies_strictly_below_its_limit(dimension: str) -> None:
    _limits(**{f"synthesis_reserve_{dimension}": 9})
    with pytest.raises(SettingsError, match=f"synthesis_reserve_{dimension} is 10"):
        _limits(**{f"synthesis_reserve_{dimension}": 10})


def test_recording_a_tool_call_and_checking_it_are_one_operation() -> None:
    spent = Spent(tool_calls=9).with_tool_call(_limits())
    assert spent.tool_calls == 10
    with pytest.raises(BudgetSpent):
        spent.with_tool_call(_limits())


def test_cost_follows_the_price_table_by_token_class() -> None:
    price = Price(input=Decimal(2), output=Decimal(10), cached=Decimal("0.2"))
    usage = Usage(input_tokens=1_000_000, cached_tokens=500_000, cache_write_tokens=0, output_tokens=100_000)
    assert attempt_cost(usage, price) == Decimal("2.1")


def test_max_cost_without_a_price_is_refused() -> None:
    with pytest.raises(SettingsError, match="has no price"):
        Task(run_id="r", system="", user="u", limits=_limits(max_cost=Decimal(1)))


def test_unreported_usage_stays_unreported() -> None:
    assert add_usage(Usage(input_tokens=1), Usage(input_tokens=2)).output_tokens is None
    assert add_usage(NO_USAGE, Usage(output_tokens=0)).output_tokens == 0


@given(st.lists(st.one_of(st.none(), st.integers(0, 100)), max_size=5))
def test_usage_sums_what_was_reported(values: list[int | None]) -> None:
    total = NO_USAGE
    for value in values:
        total = add_usage(total, Usage(input_tokens=value))
    known = [value for value in values if value is not None]
    assert total.input_tokens == (sum(known) if known else None)


def test_the_published_limits_are_as_decided() -> None:
    interactive, evaluation = default_limits("interactive"), default_limits("evaluation")
    assert (interactive.max_steps, interactive.max_model_calls, interactive.max_tool_calls) == (32, 24, 64)
    assert (interactive.synthesis_reserve_model_calls, interactive.synthesis_reserve_tool_calls) == (2, 4)
    assert (evaluation.max_model_calls, evaluation.max_tool_calls) == (16, 32)
    assert all(evaluation.reserve(name) == 0 for name in ("steps", "model_calls", "tool_calls", "cost"))
