"""The scenario format: one run, authored, portable, validated by a published JSON Schema.

The key list is closed (scenarios.md, "The closed key list"). This module knows the form of each part; what only holds
between parts is in `authoring`, line numbers are in `load`.
"""

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from harness.scenario.format_base import Count, Money, Part, Seconds, Times, Words
from harness.scenario.format_expect import Expect
from harness.scenario.format_outside import Clock, Crash, Intervention
from harness.scenario.format_script import Call, Turn
from harness.scenario.format_tools import Tool

ID_PATTERN = r"^[a-z0-9-]{1,80}$"
SCHEMA_ID = "harness/schemas/scenario.schema.json"
DEFAULT_SYSTEM = "You are a careful assistant. Use the tools to gather evidence, then answer."


class Limits(Part):
    """The fields of `RunLimits`. Left out: 32 steps, 24 model calls, 64 tool calls, no cost limit, no reserve."""

    max_steps: Times = 32
    max_model_calls: Times = 24
    max_tool_calls: Count = 64
    max_cost: Money | None = None
    deadline: Seconds | None = None
    synthesis_reserve_steps: Count = 0
    synthesis_reserve_model_calls: Count = 0
    synthesis_reserve_tool_calls: Count = 0
    synthesis_reserve_cost: Money = Decimal(0)


class PriceSpec(Part):
    """US dollars for a million tokens of a model."""

    input: Money
    output: Money
    cached: Money | None = None
    cache_write: Money | None = None


class Settings(Part):
    """Settings of the run, each with the default of `RunSettings`. `dialect` names a compatible server's dialect."""

    identical_call_threshold: int | None = None
    identical_denial_threshold: int | None = None
    context_budget_tokens: int | None = None
    max_result_bytes: int | None = None
    max_batch_bytes: int | None = None
    max_attempts: int | None = None
    prices: dict[str, PriceSpec] = Field(default={})
    model: str | None = None
    dialect: str | None = None
    reasoning: str | None = None


class HistoryItem(Part):
    """One item of the conversation before `user`: what a person said (`user`), a turn of the model (`assistant`,
    `calls`), or the result of a call (`result` is the call's id, with `text` and `is_error`)."""

    user: Words | None = None
    assistant: Words | None = None
    calls: list[Call] = Field(default=[])
    result: str | None = None
    text: Words | None = None
    is_error: bool = False

    @model_validator(mode="after")
    def _one_kind(self) -> "HistoryItem":
        kinds = [self.user is not None, self.assistant is not None or bool(self.calls), self.result is not None]
        if sum(kinds) != 1:
            raise ValueError("write exactly one of `user`, `assistant` (with or without `calls`) and `result`")
        if (self.text is not None or self.is_error) and self.result is None:
            raise ValueError("`text` and `is_error` belong to a `result`")
        if any(call.id is None for call in self.calls):
            raise ValueError("a call of the history needs an `id`, so that its result can name it")
        return self


class PermittedDifference(Part):
    """A place of the neutral trace at which this scenario may differ from depth sim, and why. `at` is written as in
    `permitted-differences.toml`; `arms` confines it."""

    at: str
    arms: list[str] = Field(default=[])
    because: str = Field(min_length=10)


class Scenario(Part):
    """One scenario file, whole."""

    id: Annotated[str, StringConstraints(pattern=ID_PATTERN)]
    title: str = Field(min_length=1)
    proves: list[str] = Field(min_length=1)
    requires: list[str] = Field(default=[])
    sources: list[str] = Field(default=[])
    user: Words = Field(min_length=1)
    system: Words = DEFAULT_SYSTEM
    history: list[HistoryItem] = Field(default=[])
    limits: Limits = Limits()
    settings: Settings = Settings()
    tools: dict[str, Tool] = Field(default={})
    script: list[Turn] = Field(min_length=1)
    interventions: list[Intervention] = Field(default=[])
    crash: Crash | None = None
    clock: Clock = Clock()
    expect: Expect
    arms: list[str] = Field(default=[])
    permitted_differences: list[PermittedDifference] = Field(default=[])
    unplayed: Literal["allowed"] | None = None
    notes: str | None = None


def scenario_schema() -> dict[str, Any]:
    """The published JSON Schema (draft 2020-12) of a scenario file, as its author writes it."""
    schema = Scenario.model_json_schema(by_alias=True, mode="validation")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SCHEMA_ID, **schema}
