"""What can happen to a run (events) and what the run asks of its driver (effects).

The order of effects is part of the contract: a checkpoint after a refusal joined the conversation promises more than
one before it. `at` is the run clock in seconds, brought by the driver; the machine has no clock.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from harness.loop.state import LoopState
from harness.vocabulary.content import ToolCall
from harness.vocabulary.outcome import RunOutcome
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.tools import ToolOutcome
from harness.vocabulary.turn import ModelFault, ModelTurn


@dataclass(frozen=True, slots=True)
class Started:
    """The run begins."""

    at: float


@dataclass(frozen=True, slots=True)
class ModelReplied:
    """An attempt gave a turn. `cancelled`: somebody cancelled while it streamed (their reason)."""

    turn: ModelTurn
    at: float
    cancelled: str | None = None


@dataclass(frozen=True, slots=True)
class ModelFailed:
    """An attempt failed."""

    fault: ModelFault
    at: float


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A dispatched call returned. `latency_ms` is the driver's measure; `cancelled` the reason of a cancel that came
    meanwhile."""

    call_id: str
    outcome: ToolOutcome
    at: float
    latency_ms: float | None = None
    cancelled: str | None = None


@dataclass(frozen=True, slots=True)
class ApprovalResolved:
    """A person decided about a call that waits. `followed`: another decision comes at once."""

    call_id: str
    approve: bool
    reason: str
    at: float
    followed: bool = False


@dataclass(frozen=True, slots=True)
class WaitOver:
    """The wait that was asked for is over."""

    at: float


@dataclass(frozen=True, slots=True)
class CancelRequested:
    """Somebody cancels the run."""

    reason: str
    at: float


@dataclass(frozen=True, slots=True)
class DeadlinePassed:
    """The run's deadline has passed."""

    at: float


@dataclass(frozen=True, slots=True)
class Resumed:
    """A stored run goes on. `effects_sent` are the calls whose effect was marked as sent; `followed`: a decision comes
    at once, so that a suspended run need not say again that it waits; `cancelled`: somebody cancels it (why)."""

    state: LoopState
    effects_sent: frozenset[str]
    version: int
    at: float
    followed: bool = False
    cancelled: str | None = None


Event: TypeAlias = (
    Started
    | ModelReplied
    | ModelFailed
    | ToolFinished
    | ApprovalResolved
    | WaitOver
    | CancelRequested
    | DeadlinePassed
    | Resumed
)


@dataclass(frozen=True, slots=True)
class CheckInterrupts:
    """A cancellation point: if somebody cancels or the deadline has passed, drop the effects behind this one and
    answer with CancelRequested or DeadlinePassed; otherwise go on. Nothing behind it has begun."""


@dataclass(frozen=True, slots=True)
class CallModel:
    """Make one model attempt; answer with ModelReplied or ModelFailed."""

    request: ModelRequest


@dataclass(frozen=True, slots=True)
class RunTool:
    """Run one call; answer with ToolFinished. Neighbouring RunTool effects may run at the same time."""

    call: ToolCall
    key: str


@dataclass(frozen=True, slots=True)
class MarkEffectSent:
    """Make durable that the effect of a call may have happened from now on."""

    call_id: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait, then answer with WaitOver."""

    seconds: float


@dataclass(frozen=True, slots=True)
class WriteCheckpoint:
    """Store the state durably before the next effect."""

    trigger: str
    state: LoopState


@dataclass(frozen=True, slots=True)
class AskApproval:
    """Ask a person about one call."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class Emit:
    """Tell the outside; identity and classification only (loop.events.no-arguments)."""

    name: str
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finish:
    """Return this outcome: the end of the run, or its suspension."""

    outcome: RunOutcome


Effect: TypeAlias = (
    CheckInterrupts | CallModel | RunTool | MarkEffectSent | Wait | WriteCheckpoint | AskApproval | Emit | Finish
)
Step: TypeAlias = tuple[LoopState, tuple[Effect, ...]]
