"""Exceptions of the SDKs and of httpx2 to faults. It knows exceptions by their attributes and by httpx2's own family,
never by an SDK's class names, and imports no SDK.

Before the headers the SDKs wrap transport errors in classes of their own; after them both let httpx2's out bare.
Source: build facts (the SDK verb), wire facts 4. Rule: loop.model.transient-only.
"""

import ssl
from collections.abc import Mapping
from typing import Any, Protocol

from harness.redaction.scrub import message as redacted
from harness.transports.errors import protocol_fault
from harness.vocabulary.turn import FaultKind, ModelFault


class ErrorReader(Protocol):
    """The part of an adapter that reads an error answer."""

    def parse_error(self, status: int, headers: Mapping[str, str], body: bytes) -> ModelFault:
        """See `Adapter.parse_error`."""
        ...


def fault_of_exception(error: Exception, reader: ErrorReader) -> ModelFault | None:
    """The fault that an exception of one exchange stands for; None for an exception that is no provider's doing."""
    response = getattr(error, "response", None)
    if response is not None and isinstance(getattr(error, "status_code", None), int):
        return reader.parse_error(response.status_code, dict(response.headers), _content(response))
    cause = _transport_cause(error)
    return None if cause is None else _fault_of_cause(cause)


def _content(response: Any) -> bytes:
    """The body, where it was read before the connection was given back."""
    try:
        content: bytes = response.content
    except RuntimeError:
        return b""
    return content


def _transport_cause(error: Exception) -> BaseException | None:
    """The transport's exception: the error itself, or what an SDK has wrapped in a connection error."""
    import httpx2

    transport_errors = (httpx2.HTTPError, httpx2.StreamError, OSError)
    if isinstance(error, transport_errors):
        return error
    if not hasattr(error, "request"):
        return None
    cause = error.__cause__
    # An SDK may wrap any exception of a transport; one that is a defect and no failed connection stays what it is.
    return cause if isinstance(cause, transport_errors) else None if cause else error


def _fault_of_cause(cause: BaseException) -> ModelFault:
    import httpx2

    detail = f"{type(cause).__name__}: {cause}" if str(cause) else type(cause).__name__
    if isinstance(cause, httpx2.DecodingError):
        return protocol_fault(f"the body could not be decoded ({detail})")
    hopeless = (httpx2.UnsupportedProtocol, httpx2.LocalProtocolError, httpx2.TooManyRedirects)
    permanent = isinstance(cause, (*hopeless, ssl.SSLCertVerificationError))
    kind = FaultKind.PERMANENT if permanent else FaultKind.TRANSIENT
    return ModelFault(kind=kind, message=redacted(f"the connection failed ({detail})"))
