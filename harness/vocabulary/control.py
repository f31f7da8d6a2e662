"""The volatile control instruction, and the reason codes of platform results.

A synthesis request ends with one instruction whose first line is `[run control: NAME]`; a platform-made error result
begins with `[tool.code]`. Both lines are the documented, transport-independent marks by which a judge of the wire
recognises them (loop.synthesis.instruction, loop.budget.refusal-is-a-result).
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeAlias

ControlName: TypeAlias = Literal["steps", "model_calls", "tool_calls", "cost", "repeated_tool_calls"]
CONTROL_NAMES: tuple[ControlName, ...] = ("steps", "model_calls", "tool_calls", "cost", "repeated_tool_calls")
CONTROL_LINE = "[run control: {name}]"
"""First line of every control instruction."""


@dataclass(frozen=True, slots=True)
class Control:
    """The instruction of one synthesis request. `text` is whole, its first line included."""

    name: ControlName
    text: str


class ReasonCode(StrEnum):
    """Why a tool call has the result it has, where that is not plain success."""

    FAILED = "tool.failed"
    TIMED_OUT = "tool.timed_out"
    BUDGET_EXHAUSTED = "tool.budget_exhausted"
    DENIED = "tool.denied"
    CANCELLED = "tool.cancelled"
    NOT_RUN = "tool.not_run"
    UNKNOWN = "tool.unknown"
    ARGUMENTS_INVALID = "tool.arguments_invalid"
    ARGUMENTS_TRUNCATED = "tool.arguments_truncated"
    OUTCOME_UNKNOWN = "tool.outcome_unknown"


REASON_LINE = "[{code}]"
"""First line of every error result."""
