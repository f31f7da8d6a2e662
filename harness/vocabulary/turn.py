"""What a model attempt gives: a turn, or a fault."""

from dataclasses import dataclass
from enum import StrEnum

from harness.vocabulary.content import AssistantMessage
from harness.vocabulary.usage import NO_USAGE, Usage


class StopReason(StrEnum):
    """Why the model stopped."""

    END = "end"
    TOOL_CALLS = "tool_calls"
    MAX_TOKENS = "max_tokens"
    CONTEXT_FULL = "context_full"
    REFUSAL = "refusal"
    CONTENT_FILTER = "content_filter"
    PAUSE = "pause"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTurn:
    """One whole model turn. `response_id` is the provider's name for it ("" if none)."""

    message: AssistantMessage
    stop: StopReason
    usage: Usage = NO_USAGE
    response_id: str = ""


class FaultKind(StrEnum):
    """What a failed attempt means to the loop.

    TRANSIENT may be retried, PERMANENT not. PROTOCOL: the provider broke its own contract (no terminal event, garbage).
    CONTEXT_LENGTH: the provider says the input is too long. CALL_REJECTED: it refused since the model called a tool
    under `tool_choice` none (loop.synthesis.provider-rejects-call).
    """

    TRANSIENT = "transient"
    PERMANENT = "permanent"
    PROTOCOL = "protocol"
    CONTEXT_LENGTH = "context_length"
    CALL_REJECTED = "call_rejected"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFault:
    """A failed attempt. `message` is redacted and short; `status` is the HTTP status (None: no answer); `code` the
    provider's own word; `retry_after` seconds; `stream_had_output` whether text or refusal deltas were seen before."""

    kind: FaultKind
    message: str
    status: int | None = None
    code: str | None = None
    retry_after: float | None = None
    stream_had_output: bool = False
    usage: Usage = NO_USAGE


class ModelError(Exception):
    """A fault on its way through code that raises. Its text is the fault's redacted message."""

    def __init__(self, fault: ModelFault) -> None:
        super().__init__(fault.message)
        self.fault = fault


class ModelTransientError(ModelError):
    """May be retried by the owner of retries."""


class ModelPermanentError(ModelError):
    """Trying again cannot help."""


class ModelProtocolError(ModelError):
    """The provider's answer breaks the provider's own contract."""
