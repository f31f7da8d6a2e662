"""Error answers of the Messages API. Source: API documentation (errors), recorded 4xx answers."""

from typing import Any

from harness.vocabulary.trace import Violation
from harness.wire.codec import UndecodableRequest
from harness.wire.events import dump, token

_RETRIED = (408, 409, 429)


def dotted(pointer: str) -> str:
    """A JSON Pointer as Anthropic writes places: `messages.0.role`; a client's own tool is `tools.0.custom`."""
    steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
    if len(steps) > 2 and steps[0] == "tools":
        steps.insert(2, "custom")
    return ".".join(steps)


def inner(error_type: str, message: str, code: str | None) -> dict[str, Any]:
    """The `error` object."""
    details = {} if code is None else {"details": {"error_code": code}}
    return {"type": error_type, "message": message} | details


def body(error_type: str, message: str, code: str | None, n: int) -> bytes:
    """The body of an error answer."""
    return dump({"type": "error", "error": inner(error_type, message, code), "request_id": token("req_", n)})


def headers(n: int, status: int) -> dict[str, str]:
    """Headers of an answer; an error says whether the SDK should try again."""
    retry = {"x-should-retry": "true" if status in _RETRIED or status >= 500 else "false"} if status >= 400 else {}
    return {"request-id": token("req_", n)} | retry


def misshapen(wire: str, fault: UndecodableRequest) -> Violation:
    """The answer to a body that cannot be read."""
    message = {
        "syntax": f"The request body is not valid JSON: {fault.message}",
        "missing": f"{dotted(fault.pointer)}: Field required",
        "type": f"{dotted(fault.pointer)}: Input does not match the expected shape.",
    }[fault.fault]
    return Violation(
        rule=f"wire.{wire}.shape",
        pointer=fault.pointer,
        message=message,
        mend="send the shape that the API reference gives",
    )
