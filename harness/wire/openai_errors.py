"""Error answers that both OpenAI wires share: bodies, headers, and the answer to a body of a wrong shape.

Source: wire-facts section 4 (error bodies of the API), recorded 4xx answers.
"""

from typing import Any

from harness.vocabulary.trace import Violation
from harness.wire.codec import UndecodableRequest
from harness.wire.events import dump, token


def dotted(pointer: str) -> str:
    """A JSON Pointer as OpenAI writes places: `messages[0].role`."""
    path = ""
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        path += f"[{name}]" if name.isdigit() else f".{name}" if path else name
    return path


def inner(error_type: str, message: str, param: str | None, code: str | None) -> dict[str, Any]:
    """The `error` object."""
    return {"message": message, "type": error_type, "param": param, "code": code}


def body(error_type: str, message: str, param: str | None, code: str | None) -> bytes:
    """The body of an error answer."""
    return dump({"error": inner(error_type, message, param, code)})


def headers(n: int) -> dict[str, str]:
    """Headers of every answer."""
    return {"x-request-id": token("req_", n), "openai-version": "2020-10-01", "openai-processing-ms": "1"}


def misshapen(wire: str, fault: UndecodableRequest) -> Violation:
    """The answer to a body that cannot be read."""
    place = dotted(fault.pointer) or "body"
    message, code, param = {
        "syntax": ("We could not parse the JSON body of your request.", None, None),
        "missing": (f"Missing required parameter: '{place}'.", "missing_required_parameter", place),
        "type": (f"Invalid type for '{place}': {fault.message}.", "invalid_type", place),
    }[fault.fault]
    return Violation(
        rule=f"wire.{wire}.shape",
        pointer=fault.pointer,
        message=message,
        param=param,
        code=code,
        mend="send the shape that the API reference gives",
    )
