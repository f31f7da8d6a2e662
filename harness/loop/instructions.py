"""The platform's own words to the model: control instructions and the texts of results it makes itself.

A control instruction holds no tool arguments and no retrieved text (loop.synthesis.no-leak). A platform result begins
with `[code]`, so that a tool's own text can never pass as the platform's (loop.tools.external-text-is-data).
"""

from harness.loop.text import well_formed
from harness.vocabulary.content import Text, ToolCall, ToolResult
from harness.vocabulary.control import CONTROL_LINE, REASON_LINE, Control, ControlName, ReasonCode
from harness.vocabulary.tools import OutcomeClass, ToolOutcome

_WHY: dict[ControlName, str] = {
    "steps": "This run is about to reach its limit of steps.",
    "model_calls": "This run is about to reach its limit of model calls.",
    "tool_calls": "This run has used the tool calls it may use.",
    "cost": "This run is about to reach its cost limit.",
    "repeated_tool_calls": "Research has stopped because the same tool calls were being repeated.",
}
_ASK = (
    "Answer now: give the best-supported answer that the evidence in this conversation allows. Name the gaps that "
    "remain. Never claim that unfinished work is complete. Do not call tools."
)
_RESULT_WORDS: dict[ReasonCode, str] = {
    ReasonCode.BUDGET_EXHAUSTED: (
        "This call was not run: the run's budget of tool calls is spent. Answer from the evidence you already have."
    ),
    ReasonCode.DENIED: "This call was denied and was not run. Do not try it again: go on without it.",
    ReasonCode.CANCELLED: "This call was not run: the run was cancelled.",
    ReasonCode.NOT_RUN: "This call was not run: the run ended with this turn.",
    ReasonCode.UNKNOWN: "There is no tool of this name. Use one of the tools that are defined.",
    ReasonCode.ARGUMENTS_INVALID: "This call was not run: its arguments do not fit the tool's schema.",
    ReasonCode.ARGUMENTS_TRUNCATED: "This call was not run: its arguments were cut off by the output limit.",
    ReasonCode.OUTCOME_UNKNOWN: (
        "It is not known whether this call took effect. It is not run again. Verify its effect before you go on."
    ),
    ReasonCode.TIMED_OUT: "The tool passed its time limit.",
    ReasonCode.FAILED: "The tool failed. What follows is the tool's own text.",
}


def _all_controls() -> dict[ControlName, Control]:
    made: dict[ControlName, Control] = {}
    for name, why in _WHY.items():
        made[name] = Control(name, f"{CONTROL_LINE.format(name=name)}\n{why} {_ASK}")
    return made


CONTROLS = _all_controls()
"""The one instruction of each control."""


def platform_result(call: ToolCall, code: ReasonCode, detail: str = "") -> ToolResult:
    """An error result that the platform makes itself; `detail` is the platform's own, without tool text."""
    words = _RESULT_WORDS[code] + (f" {detail}" if detail else "")
    text = well_formed(f"{REASON_LINE.format(code=code.value)}\n{words}")
    return ToolResult(call_id=call.call_id, tool=call.name, content=(Text(text),), is_error=True, reason_code=code)


def outcome_result(call: ToolCall, outcome: ToolOutcome) -> ToolResult:
    """The result of a call that ran: its content as it is, or behind one platform line where it is an error."""
    content = tuple(Text(well_formed(part.text)) if isinstance(part, Text) else part for part in outcome.content)
    if outcome.outcome not in (OutcomeClass.ERROR, OutcomeClass.UNCERTAIN):
        return ToolResult(call_id=call.call_id, tool=call.name, content=content)
    code = ReasonCode.TIMED_OUT if outcome.timed_out else ReasonCode.FAILED
    if outcome.outcome is OutcomeClass.UNCERTAIN:
        code = ReasonCode.OUTCOME_UNKNOWN
    first = Text(f"{REASON_LINE.format(code=code.value)}\n{_RESULT_WORDS[code]}\n")
    joined = _join_text(first, content)
    return ToolResult(call_id=call.call_id, tool=call.name, content=joined, is_error=True, reason_code=code)


def _join_text(first: Text, content: tuple[object, ...]) -> tuple[Text, ...]:
    texts = "".join(part.text for part in content if isinstance(part, Text))
    others = tuple(part for part in content if not isinstance(part, Text))
    return (Text(first.text + texts), *others)  # type: ignore[arg-type]
