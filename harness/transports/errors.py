"""What a failed attempt means: status and error body, or an error event inside a stream, to one `ModelFault`.

It knows the error shapes of the providers and of servers that imitate them; it must not know the SDKs (their
exceptions are read in `sdk_faults`). Rules: loop.model.transient-only, loop.model.retry-after,
loop.synthesis.provider-rejects-call; wire facts, section 4. A message is the provider's own, redacted and short.
"""

import math
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from harness.redaction.scrub import message as redacted
from harness.transports.jsontext import BadJson, decode
from harness.vocabulary.turn import (
    FaultKind,
    ModelError,
    ModelFault,
    ModelPermanentError,
    ModelProtocolError,
    ModelTransientError,
)

TRANSIENT_STATUSES = frozenset({408, 409, 429})
"""Besides every status of 500 and above."""

_TRANSIENT_CODES = frozenset(
    {
        "overloaded_error",
        "rate_limit_error",
        "api_error",
        "timeout_error",
        "server_error",
        "internal_server_error",
        "internal_error",
        "service_unavailable",
        "rate_limit_exceeded",
        "rate_limit_reached",
        "too_many_requests",
        "vector_store_timeout",
        "overloaded",
        "timeout",
    }
)
_CONTEXT_CODES = frozenset({"context_length_exceeded", "model_context_window_exceeded"})
_CONTEXT_TEXT = re.compile(
    r"prompt is too long|maximum context length|exceeds? the (?:model's )?context (?:window|length|limit)|"
    r"exceed context limit|input is too long|context[ _]length[ _]exceeded",
    re.IGNORECASE,
)
_REJECTED_CODES = frozenset({"tool_use_failed"})
_REJECTED_TEXT = re.compile(r"tool[ _]choice is none|tool was called (?:although|but|while) tool_choice", re.IGNORECASE)

_ERROR_CLASSES: dict[FaultKind, type[ModelError]] = {
    FaultKind.TRANSIENT: ModelTransientError,
    FaultKind.PERMANENT: ModelPermanentError,
    FaultKind.PROTOCOL: ModelProtocolError,
    FaultKind.CONTEXT_LENGTH: ModelPermanentError,
    FaultKind.CALL_REJECTED: ModelPermanentError,
}


def model_error(fault: ModelFault) -> ModelError:
    """The exception that carries a fault."""
    return _ERROR_CLASSES[fault.kind](fault)


def protocol_fault(message: str) -> ModelFault:
    """The provider broke its own contract."""
    return ModelFault(kind=FaultKind.PROTOCOL, message=redacted(message))


def protocol_error(message: str) -> ModelProtocolError:
    """The same as an exception."""
    return ModelProtocolError(protocol_fault(message))


def fault_of_response(status: int, headers: Mapping[str, str], body: bytes) -> ModelFault:
    """The fault of an answer that is not 2xx. `headers` may be in any case. Never raises."""
    error = _error_in(body)
    text = str(error.get("message") or "") or f"HTTP {status} without a readable error message"
    code = _code(error)
    return ModelFault(
        kind=_kind_of_status(status, _codes(error), text),
        message=redacted(text),
        status=status,
        code=code,
        retry_after=retry_after({name.lower(): value for name, value in headers.items()}),
    )


def fault_of_event(error: Any) -> ModelFault:
    """The fault that an error object inside a 2xx answer stands for (`{"type", "code", "message"}`, in part)."""
    found = _as_error(error)
    codes = _codes(found)
    text = str(found.get("message") or "") or "the provider reported an error without a message"
    status = _numeric_status(found)
    kind = _kind_of_status(status, codes, text) if status else _kind_of_codes(codes, text)
    return ModelFault(kind=kind, message=redacted(text), code=_code(found))


def _kind_of_status(status: int, codes: frozenset[str], text: str) -> FaultKind:
    if status in TRANSIENT_STATUSES or status >= 500:
        return FaultKind.TRANSIENT
    return _special_kind(codes, text) or FaultKind.PERMANENT


def _kind_of_codes(codes: frozenset[str], text: str) -> FaultKind:
    special = _special_kind(codes, text)
    return special or (FaultKind.TRANSIENT if codes & _TRANSIENT_CODES else FaultKind.PERMANENT)


def _special_kind(codes: frozenset[str], text: str) -> FaultKind | None:
    if codes & _CONTEXT_CODES or _CONTEXT_TEXT.search(text):
        return FaultKind.CONTEXT_LENGTH
    if codes & _REJECTED_CODES or _REJECTED_TEXT.search(text):
        return FaultKind.CALL_REJECTED
    return None


def _error_in(body: bytes) -> Mapping[str, Any]:
    try:
        document = decode(body)
    except BadJson:
        return {}
    if isinstance(document, list) and document:
        document = document[0]
    if not isinstance(document, dict):
        return {}
    return _as_error(document.get("error") or document)


def _as_error(error: Any) -> Mapping[str, Any]:
    """The error object, whatever its wrapping: an object, a bare sentence, or `detail` in place of `message`."""
    if isinstance(error, str):
        return {"message": error}
    if not isinstance(error, dict):
        return {}
    message = error.get("message") or error.get("detail") or error.get("msg")
    return {**error, "message": message if isinstance(message, str) else ""}


def _codes(error: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(value.lower() for key in ("code", "type") if isinstance(value := error.get(key), str))


def _code(error: Mapping[str, Any]) -> str | None:
    """The provider's own word: its code, else its type."""
    for key in ("code", "type"):
        value = error.get(key)
        if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
            return redacted(str(value), limit=80)
    return None


def _numeric_status(error: Mapping[str, Any]) -> int | None:
    """An HTTP status that a gateway put into the error object."""
    for key in ("status_code", "status", "code"):
        value = error.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and 400 <= value <= 599:
            return value
    return None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait by `retry-after-ms` or `retry-after` (seconds or an HTTP date); None where nothing usable is
    said. Header names in lower case. A date is measured from the answer's own `date` header where it has one."""
    milliseconds = _seconds(headers.get("retry-after-ms"), 0.001)
    if milliseconds is not None:
        return milliseconds
    value = headers.get("retry-after")
    return _seconds(value, 1.0) if _seconds(value, 1.0) is not None else _until(value, headers.get("date"))


def _seconds(value: str | None, unit: float) -> float | None:
    try:
        seconds = float(value or "") * unit
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _until(value: str | None, date: str | None) -> float | None:
    moment = _moment(value)
    if moment is None:
        return None
    now = _moment(date)
    return max(0.0, moment - (time.time() if now is None else now))


def _moment(value: str | None) -> float | None:
    try:
        return parsedate_to_datetime(value).timestamp() if value else None
    except (ValueError, TypeError, OverflowError):
        return None
