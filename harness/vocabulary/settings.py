"""Limits and settings of one run. They are checked when made and recorded with the run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from harness.vocabulary.usage import Price

DIMENSIONS = ("steps", "model_calls", "tool_calls", "cost")
"""The axes that have a reserve."""


class SettingsError(ValueError):
    """A limit or setting that cannot be; the text names it and the mend."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """Hard limits of a run and the reserve kept for its answer. `max_cost` is US dollars; `deadline` is absolute, in
    seconds of the run's clock. A reserve must lie below its limit."""

    max_steps: int
    max_model_calls: int
    max_tool_calls: int
    max_cost: Decimal | None = None
    deadline: float | None = None
    synthesis_reserve_steps: int = 0
    synthesis_reserve_model_calls: int = 0
    synthesis_reserve_tool_calls: int = 0
    synthesis_reserve_cost: Decimal = Decimal(0)

    def __post_init__(self) -> None:
        for name in ("max_steps", "max_model_calls"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} is {getattr(self, name)}: it must be at least 1")
        if self.max_tool_calls < 0:
            raise SettingsError(f"max_tool_calls is {self.max_tool_calls}: it must be 0 or more")
        if self.max_cost is not None and self.max_cost <= 0:
            raise SettingsError(f"max_cost is {self.max_cost}: it must be above 0, or left out")
        for dimension in DIMENSIONS:
            self._check_reserve(dimension)

    def _check_reserve(self, dimension: str) -> None:
        reserve, limit = self.reserve(dimension), self.limit(dimension)
        if reserve < 0:
            raise SettingsError(f"synthesis_reserve_{dimension} is {reserve}: it must be 0 or more")
        if reserve and limit is None:
            raise SettingsError(f"synthesis_reserve_{dimension} is set without max_{dimension}: set the limit too")
        if limit is not None and reserve and reserve >= limit:
            raise SettingsError(
                f"synthesis_reserve_{dimension} is {reserve}: it must be strictly below max_{dimension} ({limit})"
            )

    def limit(self, dimension: str) -> int | Decimal | None:
        """The hard limit of a dimension (None: unlimited)."""
        limit: int | Decimal | None = getattr(self, f"max_{dimension}")
        return limit

    def reserve(self, dimension: str) -> int | Decimal:
        """The reserve of a dimension."""
        reserve: int | Decimal = getattr(self, f"synthesis_reserve_{dimension}")
        return reserve


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """How the loop behaves. Byte limits count UTF-8 bytes; the context estimate is bytes / 4."""

    model: str = "sim-model"
    identical_call_threshold: int = 5
    identical_denial_threshold: int = 3
    evidence_reset_cap: int = 32
    context_budget_tokens: int = 100_000
    max_result_bytes: int = 65_536
    max_batch_bytes: int = 262_144
    max_attempts: int = 3
    max_output_tokens: int | None = None
    reasoning: str | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.identical_call_threshold < 2:
            raise SettingsError(f"identical_call_threshold is {self.identical_call_threshold}: at least 2")
        for name in ("identical_denial_threshold", "max_attempts", "context_budget_tokens"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} is {getattr(self, name)}: it must be at least 1")
        for name in ("max_result_bytes", "max_batch_bytes"):
            if getattr(self, name) < 256:
                raise SettingsError(f"{name} is {getattr(self, name)}: at least 256 bytes, room for the marker")
        if self.evidence_reset_cap < 0:
            raise SettingsError(f"evidence_reset_cap is {self.evidence_reset_cap}: it must be 0 or more")
