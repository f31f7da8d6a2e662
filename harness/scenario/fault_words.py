"""How each provider words a failed attempt: error type, message and code for a status or a neutral word.

Source: wire facts, section 4 (the status tables of the providers). Only what a script leaves out is filled in here.
"""

from dataclasses import dataclass

from harness.provider.replies import ConnectionReply, RawReply, Reply, StatusReply
from harness.scenario.format_script import Fail, Raw

ANTHROPIC = "anthropic-messages"
_ANTHROPIC_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_OPENAI_TYPES = {429: "rate_limit_error"}
_MESSAGES = {
    401: "The key is not valid.",
    408: "The request took too long.",
    429: "Too many requests: slow down.",
    500: "The server had an error while it handled the request.",
    503: "The service is not available.",
    529: "Overloaded",
}


@dataclass(frozen=True, slots=True)
class _Words:
    error_type: str
    message: str
    code: str | None = None


_OPENAI_CONTEXT = _Words(
    "invalid_request_error",
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "context_length_exceeded",
)
_REJECTED = _Words("invalid_request_error", "Tool choice is none, but model called a tool", "tool_use_failed")
_NEUTRAL = {
    "context_length": {
        ANTHROPIC: _Words("invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum"),
        "": _OPENAI_CONTEXT,
    },
    "call_rejected": {"": _REJECTED},
}


def failure(fail: Fail, transport: str) -> Reply:
    """The reply that a scripted failure is on a wire."""
    if fail.connection is not None or fail.status is None:
        return ConnectionReply(fail.connection or "reset")
    words = _words(fail, fail.status, transport)
    later = None if fail.retry_after is None else _header(fail.retry_after)
    return StatusReply(
        status=fail.status,
        error_type=words.error_type,
        message=fail.message or words.message,
        code=words.code,
        retry_after=later,
    )


def raw(given: Raw) -> RawReply:
    """The reply that a raw answer is. The content type is the author's own; where there is none, it is JSON."""
    chunks = [given.body or ""] if given.chunks is None else given.chunks
    headers = {"content-type": "application/json", **{name.lower(): value for name, value in given.headers.items()}}
    return RawReply(
        status=given.status,
        headers=headers,
        chunks=tuple(chunk.encode("utf-8", "surrogatepass") for chunk in chunks if chunk),
        end=given.end,
    )


def _words(fail: Fail, status: int, transport: str) -> _Words:
    neutral = _NEUTRAL.get(fail.type or "")
    if neutral is not None:
        return neutral.get(transport) or neutral[""]
    usual = _ANTHROPIC_TYPES if transport == ANTHROPIC else _OPENAI_TYPES
    fallback = "invalid_request_error" if status < 500 else "api_error" if transport == ANTHROPIC else "server_error"
    message = _MESSAGES.get(status, f"The provider answers {status}.")
    return _Words(fail.type or usual.get(status, fallback), message)


def _header(retry_after: float | str) -> str:
    return retry_after if isinstance(retry_after, str) else f"{retry_after:g}"
