"""What a scripted failure stands for, as a model fault: the judge's own reading, for the trace.

Source: the documented status tables of the providers (wire-facts section 4) and the fault conventions of the project.
"""

from harness.provider.replies import ConnectionReply, RawReply, StatusReply
from harness.vocabulary.trace import Violation
from harness.vocabulary.turn import FaultKind, ModelFault

_TRANSIENT = (408, 409, 429)
_CONTEXT = ("context_length_exceeded", "prompt is too long")
_REJECTED = ("tool_use_failed", "tool choice is none")
_LONGEST = 300


def fault_of(reply: StatusReply | ConnectionReply | RawReply) -> ModelFault:
    """The fault that a reply stands for."""
    if isinstance(reply, ConnectionReply):
        return ModelFault(kind=FaultKind.TRANSIENT, message=f"connection {reply.how}")
    if isinstance(reply, RawReply):
        kind = FaultKind.PROTOCOL if reply.status < 400 else _kind(reply.status, "")
        return ModelFault(kind=kind, message="raw bytes of the script", status=reply.status)
    return ModelFault(
        kind=_kind(reply.status, f"{reply.code} {reply.message}"),
        message=reply.message[:_LONGEST],
        status=reply.status,
        code=reply.code,
        retry_after=_seconds(reply.retry_after),
    )


def refused(violation: Violation) -> ModelFault:
    """The fault of a request that broke the provider's rules."""
    message = violation.message[:_LONGEST]
    return ModelFault(kind=FaultKind.PERMANENT, message=message, status=violation.status, code=violation.code)


def _kind(status: int, words: str) -> FaultKind:
    if status in _TRANSIENT or status >= 500:
        return FaultKind.TRANSIENT
    said = words.lower()
    if any(mark in said for mark in _CONTEXT):
        return FaultKind.CONTEXT_LENGTH
    return FaultKind.CALL_REJECTED if any(mark in said for mark in _REJECTED) else FaultKind.PERMANENT


def _seconds(retry_after: str | None) -> float | None:
    """Seconds of a Retry-After header; None for a date, which depends on the client's clock."""
    try:
        return None if retry_after is None else float(retry_after)
    except ValueError:
        return None
