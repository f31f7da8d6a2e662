"""How a run ends. Every outcome carries all that was gathered: nothing is thrown away."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Any

from harness.vocabulary.content import Item
from harness.vocabulary.usage import NO_USAGE, Usage


class Status(StrEnum):
    """Terminal states, and `suspended`, which is not an end."""

    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SUSPENDED = "suspended"


class Reason(StrEnum):
    """Why a run failed (design: loop.md section 1)."""

    BUDGET_EXCEEDED = "budget_exceeded"
    MAX_STEPS_EXCEEDED = "max_steps_exceeded"
    DEADLINE_EXCEEDED = "deadline_exceeded"
    TOOL_LOOP_DETECTED = "tool_loop_detected"
    REPEATED_DENIAL = "repeated_denial"
    MODEL_PERMANENT_ERROR = "model_permanent_error"
    MAX_ATTEMPTS_EXCEEDED = "max_attempts_exceeded"
    EMPTY_MODEL_TURN = "empty_model_turn"
    CONTEXT_OVERFLOW = "context_overflow"
    INTERNAL_ERROR = "internal_error"


class ErrorClass(StrEnum):
    """The type of the failure, finer than its reason."""

    BUDGET_EXCEEDED = "BudgetExceeded"
    SYNTHESIS_RESERVE_VIOLATION = "SynthesisReserveViolation"
    RUN_DEADLINE_EXCEEDED = "RunDeadlineExceeded"
    TOOL_LOOP_DETECTED = "ToolLoopDetected"
    TOOL_POLICY_DENIED = "ToolPolicyDenied"
    MODEL_PERMANENT_ERROR = "ModelPermanentError"
    MODEL_PROTOCOL_ERROR = "ModelProtocolError"
    MODEL_TRANSIENT_ERROR = "ModelTransientError"
    CONTENT_FILTERED = "ContentFiltered"
    EMPTY_MODEL_TURN = "EmptyModelTurn"
    CONTEXT_OVERFLOW = "ContextOverflow"
    LOOP_INVARIANT_ERROR = "LoopInvariantError"


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """What a run has used. `tool_calls` counts dispatches; `refused_calls` is apart; `resets` are evidence resets."""

    steps: int = 0
    model_calls: int = 0
    tool_calls: int = 0
    refused_calls: int = 0
    resets: int = 0
    cost: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """The end (or the suspension) of a run.

    `message` is the final text of a completed run. `reason` is a `Reason` value for a failure, free words for a
    cancel. `details` holds JSON values only. `waiting_for` names the calls that a suspended run waits for. `effects`
    counts, for each tool, the runs that may have had an effect.
    """

    status: Status
    message: str | None = None
    truncated: bool = False
    refused: bool = False
    reason: str | None = None
    error_class: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    waiting_for: tuple[str, ...] = ()
    conversation: Sequence[Item] = ()
    usage: Usage = NO_USAGE
    counters: Counters = Counters()
    effects: Mapping[str, int] = field(default_factory=dict)
