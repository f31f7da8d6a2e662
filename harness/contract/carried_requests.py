"""What each wire carries of a neutral request: the documented losses, as one function for each place.

`wire.decode(adapter.render(request))` must equal `carried_request(request, transport)`: nothing else may be lost, on
either side. Losses of every wire: opaque parts of another provider, assistant messages and user messages of which
nothing is left, `tool_choice` without tools, undecodable arguments (sent as `{}`), lone surrogates. Losses of one wire
stand in its own part below. An assistant message without calls at the end is read as the paused turn that it is.

It is written from the rules of the wires and shares no code with adapters or judges. It knows no JSON payload. Not
covered, since no legal history holds it: user text that imitates this project's own marks on a wire without them.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from harness.contract.carried_arguments import as_object, as_text, well_formed
from harness.vocabulary.content import (
    AssistantMessage,
    AssistantPart,
    Image,
    Item,
    Opaque,
    Refusal,
    ResultPart,
    SystemMessage,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
    UserPart,
)
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.tools import ToolDefinition

_REASON = re.compile(r"\[(tool\.[a-z_]+)\](?:\n|\Z)")
_ANTHROPIC_DEFAULT_MAX_TOKENS = 4096


@dataclass(frozen=True, slots=True)
class _Wire:
    """The places of a request that a wire carries in its own way."""

    user: Callable[[Iterable[UserPart]], Iterable[UserPart]]
    assistant: Callable[[Sequence[AssistantPart]], Iterable[AssistantPart]]
    result: Callable[[ToolResult], tuple[ResultPart, ...]]
    tool: Callable[[ToolDefinition], ToolDefinition] = lambda tool: tool
    blank_system_messages: bool = True
    first_system_message_is_prompt: bool = False
    joins_assistant_messages: bool = False
    tools_in_synthesis: bool = True
    default_max_tokens: int | None = None


def carried_request(request: ModelRequest, transport: str) -> ModelRequest:
    """The request as the judge of `transport` reads it back. Raises KeyError for an unknown transport."""
    wire = _WIRES[transport]
    items = list(_items(request, wire, transport))
    paused = None if request.paused is None else _turn(request.paused, wire, transport)
    if paused is None and request.control is None and items and _is_pause(items[-1]):
        paused = items.pop()
    hidden = request.tool_choice == "none" and not wire.tools_in_synthesis
    tools = () if hidden else tuple(wire.tool(tool) for tool in request.tools)
    system, items = _prompt(request.system, items, wire, bool(tools))
    return well_formed(
        replace(
            request,
            system=system,
            tools=tools,
            items=tuple(items),
            tool_choice=_tool_choice(request, wire),
            paused=paused,
            max_output_tokens=None if request.max_output_tokens == wire.default_max_tokens else request.max_output_tokens,
        )
    )
