"""Budgets: what was charged, what remains, when the answer is due, and when the run must end (loop.md section 2).

Recording and checking are one operation. Inside the loop a batch is fitted first, so that a tool call can never pass
its limit there; `BudgetScope.TOOL_CALL` is for a caller that dispatches one call by itself.
"""

from decimal import Decimal
from enum import StrEnum
from typing import NamedTuple

from harness.loop.values import quickly_replaced
from harness.vocabulary.control import ControlName
from harness.vocabulary.settings import RunLimits
from harness.vocabulary.usage import NO_USAGE, Price, Usage

_PER_TOKEN = Decimal(1_000_000)


class BudgetScope(StrEnum):
    """What a check is for, and so which dimensions it reads."""

    ADMISSION = "admission"
    STEP = "step"
    ATTEMPT = "attempt"
    TOOL_CALL = "tool_call"


_READS: dict[BudgetScope, tuple[str, ...]] = {
    BudgetScope.ADMISSION: ("deadline", "steps", "model_calls", "cost"),
    BudgetScope.STEP: ("deadline", "steps", "cost"),
    BudgetScope.ATTEMPT: ("deadline", "model_calls", "cost"),
    BudgetScope.TOOL_CALL: ("deadline", "tool_calls", "cost"),
}


class BudgetSpent(Exception):
    """A dimension has nothing left for the scope that asked."""

    def __init__(self, dimension: str) -> None:
        super().__init__(f"{dimension} budget is spent")
        self.dimension = dimension


@quickly_replaced
class Spent(NamedTuple):
    """What a run has charged. `usage` is the sum over its attempts; None where nothing was reported."""

    steps: int = 0
    model_calls: int = 0
    tool_calls: int = 0
    refused_calls: int = 0
    cost: Decimal = Decimal(0)
    usage: Usage = NO_USAGE

    def with_attempt(self, usage: Usage, price: Price | None) -> "Spent":
        """Charged with one model attempt, whether or not it succeeded (loop.budget.attempts-count)."""
        return self._replace(
            model_calls=self.model_calls + 1,
            cost=self.cost + attempt_cost(usage, price),
            usage=add_usage(self.usage, usage),
        )

    def with_tool_call(self, limits: RunLimits) -> "Spent":
        """Charged with one dispatched call. Raises BudgetSpent where the limit was reached before."""
        if self.tool_calls >= limits.max_tool_calls:
            raise BudgetSpent("tool_calls")
        return self._replace(tool_calls=self.tool_calls + 1)


def check(spent: Spent, limits: RunLimits, scope: BudgetScope, now: float) -> None:
    """Raise BudgetSpent for the first dimension of `scope` that has nothing left (loop.budget.step-scope)."""
    for dimension in _READS[scope]:
        if is_spent(spent, limits, dimension, now):
            raise BudgetSpent(dimension)


def is_spent(spent: Spent, limits: RunLimits, dimension: str, now: float) -> bool:
    """Whether nothing is left of a dimension; `now` in seconds of the run's clock."""
    if dimension == "deadline":
        return limits.deadline is not None and now >= limits.deadline
    limit = limits.limit(dimension)
    return limit is not None and getattr(spent, dimension) >= limit


def due_control(spent: Spent, limits: RunLimits) -> ControlName | None:
    """The budget that makes the next attempt synthesis-only, or None (loop.budget.reserve-is-synthesis)."""
    if is_spent(spent, limits, "tool_calls", 0.0):
        return "tool_calls"
    names: tuple[ControlName, ...] = ("steps", "model_calls", "tool_calls", "cost")
    return next((name for name in names if _within_reserve(spent, limits, name)), None)


def _within_reserve(spent: Spent, limits: RunLimits, dimension: str) -> bool:
    limit, reserve = limits.limit(dimension), limits.reserve(dimension)
    if limit is None or not reserve:
        return False
    left = Decimal(limit) - Decimal(getattr(spent, dimension))
    return left <= reserve


def attempt_cost(usage: Usage, price: Price | None) -> Decimal:
    """US dollars of one attempt. A token class that was not reported costs nothing."""
    if price is None:
        return Decimal(0)
    cached, written = usage.cached_tokens or 0, usage.cache_write_tokens or 0
    plain = max((usage.input_tokens or 0) - cached - written, 0)
    total = (
        plain * price.input
        + cached * (price.input if price.cached is None else price.cached)
        + written * (price.input if price.cache_write is None else price.cache_write)
        + (usage.output_tokens or 0) * price.output
    )
    return total / _PER_TOKEN


def add_usage(one: Usage, other: Usage) -> Usage:
    """The sum, class by class; None stays None only where neither reports."""
    if other is NO_USAGE:
        return one
    return Usage(
        input_tokens=_add(one.input_tokens, other.input_tokens),
        cached_tokens=_add(one.cached_tokens, other.cached_tokens),
        cache_write_tokens=_add(one.cache_write_tokens, other.cache_write_tokens),
        output_tokens=_add(one.output_tokens, other.output_tokens),
        reasoning_tokens=_add(one.reasoning_tokens, other.reasoning_tokens),
    )


def _add(one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return other if one is None else one
    return one + other
