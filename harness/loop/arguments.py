"""Is a call fit to run? Decides, without running it, which calls are answered as truncated, unknown or invalid.

Undecodable arguments keep their raw text; nothing here mends them (loop.tools.invalid-arguments).
"""

from typing import Any

from harness.loop.signature import NotJson, decode_json
from harness.loop.task import Toolbox
from harness.vocabulary.content import ToolCall
from harness.vocabulary.control import ReasonCode


def fault_of(call: ToolCall, toolbox: Toolbox, truncated: bool) -> tuple[ReasonCode, str] | None:
    """Why the call cannot run (code and a platform word), or None if it can."""
    if truncated:
        return ReasonCode.ARGUMENTS_TRUNCATED, ""
    if toolbox.get(call.name) is None:
        return ReasonCode.UNKNOWN, ""
    problem = _argument_problem(call, toolbox)
    return (ReasonCode.ARGUMENTS_INVALID, problem) if problem else None


def _argument_problem(call: ToolCall, toolbox: Toolbox) -> str | None:
    try:
        value: Any = decode_json(call.arguments) if call.arguments.strip() else {}
    except NotJson:
        return "They are not one JSON object."
    if not isinstance(value, dict):
        return "They are not a JSON object."
    return _schema_words(toolbox, call.name, value, call.arguments)


def _schema_words(toolbox: Toolbox, name: str, value: dict[str, Any], raw: str) -> str | None:
    problem = toolbox.schema_error(name, _plain(value))
    if problem is None:
        return None
    return "They are empty, and the tool needs some." if not raw.strip() else f"The schema says: {problem}"


def _plain(value: Any) -> Any:
    """JSON numbers as the validator knows them."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, (str, bool, int)) or value is None:
        return value
    whole = value == value.to_integral_value() if value.is_finite() and abs(value) < 10**300 else False
    return int(value) if whole else float(value)
