"""The requests that every adapter is shown: an ordinary one, and the two kinds of synthesis.

All three ask with one history (a batch of two calls, one failed; a refused call), so that what a control changes on a
wire is seen alone. The words are the platform's; the ids and arguments are awkward on purpose, and legal everywhere.
"""

from dataclasses import replace

from harness.vocabulary.content import AssistantMessage, Item, Text, ToolCall, ToolResult, UserMessage
from harness.vocabulary.control import CONTROL_LINE, REASON_LINE, Control, ControlName, ReasonCode
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.tools import ToolDefinition

_SEARCH = ToolDefinition(
    name="search",
    description='Search the archive; use "quotes" for phrases & <tags> for fields.',
    parameters={
        "type": "object",
        "properties": {"query": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}},
        "required": ["query"],
        "additionalProperties": False,
    },
)
_CLOCK = ToolDefinition(
    name="clock",
    description="The time of day.",
    parameters={"type": "object", "properties": {}, "additionalProperties": False},
)
_ASKED = (
    AssistantMessage(
        (
            Text("I look in two places."),
            ToolCall("call_1", "search", '{"query": "caf\\u00e9 \\"Zur Post\\"", "limit": 3}'),
            ToolCall("call_2", "clock", "{}"),
        )
    ),
    ToolResult(call_id="call_1", tool="search", content=(Text("1. Café <Zur Post> & Söhne\n2. 郵便局 ✉"),)),
    ToolResult(
        call_id="call_2",
        tool="clock",
        content=(Text(f"{REASON_LINE.format(code=ReasonCode.FAILED.value)}\nThe clock stands still."),),
        is_error=True,
        reason_code=ReasonCode.FAILED.value,
    ),
    AssistantMessage((ToolCall("call_3", "search", '{"query": "post office"}'),)),
    ToolResult(
        call_id="call_3",
        tool="search",
        content=(Text(f"{REASON_LINE.format(code=ReasonCode.BUDGET_EXHAUSTED.value)}\nThis call was not run."),),
        is_error=True,
        reason_code=ReasonCode.BUDGET_EXHAUSTED.value,
    ),
)
_HISTORY: tuple[Item, ...] = (UserMessage((Text("Which places serve coffee and stamps?"),)), *_ASKED)


def control(name: ControlName) -> Control:
    """A control instruction as a loop writes one; its first line is the fixed mark."""
    return Control(name, f"{CONTROL_LINE.format(name=name)}\nAnswer now from the evidence above. Do not call tools.")


ORDINARY = ModelRequest(
    model="sim-model",
    system="You answer questions about places. Be exact.",
    tools=(_SEARCH, _CLOCK),
    items=_HISTORY,
)
SYNTHESIS = replace(ORDINARY, control=control("repeated_tool_calls"), tool_choice="none")
BUDGET_SYNTHESIS = replace(ORDINARY, control=control("tool_calls"), tool_choice="none")
SAMPLES: dict[str, ModelRequest] = {
    "ordinary": ORDINARY,
    "synthesis": SYNTHESIS,
    "budget-synthesis": BUDGET_SYNTHESIS,
}
"""Sample by name, for parametrising."""


def earlier(request: ModelRequest, items: int) -> ModelRequest:
    """The ordinary request of an earlier step: the first `items` of the history, no control."""
    return replace(request, items=tuple(request.items[:items]), control=None, tool_choice=None)


WHOLE_STEPS = (1, 4, 6)
"""Lengths of the samples' history at which a request may be sent: no call is open there."""
