"""What each wire carries of a neutral request: the documented losses, as one function for each place.

`wire.decode(adapter.render(request))` must equal `carried_request(request, transport)`: nothing else may be lost, on
either side. Losses of every wire: opaque parts of another provider, messages of which nothing is left, `tool_choice`
without tools, undecodable arguments (sent as `{}`), names of called tools that the wire does not take (a
placeholder stands for them), lone surrogates. Losses of one wire stand in its own part below.
An assistant message without calls at the end is read as the paused turn that it is.

It is written from the rules of the wires and shares no code with adapters or judges; it knows no payload. Not covered,
since a provider or a loop makes no such history: text that imitates this project's own marks on a wire without fields
for them.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from harness.contract import carried_parts as parts
from harness.contract.carried_arguments import well_formed
from harness.vocabulary.content import (
    AssistantMessage,
    AssistantPart,
    Image,
    Item,
    Opaque,
    ResultPart,
    SystemMessage,
    Text,
    ToolResult,
    UserMessage,
    UserPart,
)
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.tools import ToolDefinition

_REASON = re.compile(r"\[(tool\.[a-z_]+)\](?:\n|\Z)")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wire:
    """The places of a request that a wire carries in its own way."""

    user: Callable[[Sequence[UserPart]], Iterable[UserPart]]
    assistant: Callable[[Sequence[AssistantPart]], Iterable[AssistantPart]]
    result: Callable[[ToolResult], Iterable[ResultPart]]
    tool: Callable[[ToolDefinition], ToolDefinition]
    default_max_tokens: int | None = None
    blank_system_messages: bool = True
    joins_assistant_messages: bool = False
    prompt_is_a_message: bool = False
    tools_in_synthesis: bool = True


def carried_request(request: ModelRequest, transport: str) -> ModelRequest:
    """The request as the judge of `transport` reads it back. Raises KeyError for an unknown transport."""
    wire = _WIRES[transport]
    tools = _tools(request, wire)
    items, paused = _conversation(_of_provider(request, transport), wire)
    system, items = _prompt(request.system, items, wire, said=bool(tools))
    limit = request.max_output_tokens
    carried = replace(
        request,
        system=system,
        tools=tools,
        items=items,
        tool_choice=_tool_choice(request, tools, wire),
        paused=paused,
        max_output_tokens=None if limit == wire.default_max_tokens else limit,
    )
    return well_formed(carried)


def _tools(request: ModelRequest, wire: _Wire) -> tuple[ToolDefinition, ...]:
    if request.tool_choice == "none" and not wire.tools_in_synthesis:
        return ()
    return tuple(map(wire.tool, request.tools))


def _tool_choice(request: ModelRequest, tools: Sequence[ToolDefinition], wire: _Wire) -> Literal["none"] | None:
    if not wire.tools_in_synthesis:
        return "none" if request.control is not None and not tools else None
    return request.tool_choice if request.tools else None


def _prompt(system: str, items: tuple[Item, ...], wire: _Wire, *, said: bool) -> tuple[str, tuple[Item, ...]]:
    """A wire without blank texts has no blank prompt; one whose prompt is its first system message takes the first one
    of the history for it."""
    if not wire.blank_system_messages and not system.strip():
        return "", items
    first = items[0] if items else None
    if wire.prompt_is_a_message and not system and not said and isinstance(first, SystemMessage):
        return first.text, items[1:]
    return system, items


def _of_provider(request: ModelRequest, transport: str) -> ModelRequest:
    """The request without the opaque parts of other providers."""

    def own(message: AssistantMessage) -> AssistantMessage:
        return AssistantMessage(tuple(part for part in message.content if _stays(part, transport)))

    def kept(item: Item) -> Item:
        if isinstance(item, AssistantMessage):
            return own(item)
        if isinstance(item, SystemMessage):
            return item
        content = tuple(part for part in item.content if _stays(part, transport))
        return replace(item, content=content)

    paused = None if request.paused is None else own(request.paused)
    return replace(request, items=tuple(map(kept, request.items)), paused=paused)


def _stays(part: AssistantPart | Image, transport: str) -> bool:
    return not isinstance(part, Opaque) or part.provider == transport


def _conversation(request: ModelRequest, wire: _Wire) -> tuple[tuple[Item, ...], AssistantMessage | None]:
    """The history and the paused turn."""
    items = list(_items(request.items, wire))
    paused = None if request.paused is None else _turn(request.paused, wire)
    if paused is None and request.control is None and items and _is_paused(items[-1]):
        last = items.pop()
        assert isinstance(last, AssistantMessage)
        paused = last
    return tuple(items), paused


def _is_paused(item: Item) -> bool:
    return isinstance(item, AssistantMessage) and not item.calls


def _items(items: Iterable[Item], wire: _Wire) -> Iterator[Item]:
    names: dict[str, str] = {}
    open_turn: tuple[AssistantPart, ...] = ()
    for item in items:
        if isinstance(item, AssistantMessage):
            turn = _turn(item, wire)
            names.update((call.call_id, call.name) for call in (turn.calls if turn else ()))
            open_turn += turn.content if turn else ()
            if open_turn and not wire.joins_assistant_messages:
                yield AssistantMessage(open_turn)
                open_turn = ()
            continue
        carried = _client_item(item, wire, names)
        if open_turn and carried is not None:
            yield AssistantMessage(open_turn)
            open_turn = ()
        if carried is not None:
            yield carried
    if open_turn:
        yield AssistantMessage(open_turn)


def _turn(message: AssistantMessage, wire: _Wire) -> AssistantMessage | None:
    parts = tuple(wire.assistant(message.content))
    return AssistantMessage(parts) if parts else None


def _client_item(item: UserMessage | SystemMessage | ToolResult, wire: _Wire, names: dict[str, str]) -> Item | None:
    if isinstance(item, UserMessage):
        said = tuple(wire.user(item.content))
        return UserMessage(said) if said else None
    if isinstance(item, SystemMessage):
        return item if item.text.strip() or wire.blank_system_messages else None
    content = tuple(wire.result(item))
    first = next((part.text for part in content if isinstance(part, Text)), "")
    reason = _REASON.match(first) if item.is_error else None
    known = names.get(item.call_id, "") if wire.tools_in_synthesis else parts.xml_name(item.tool)
    return replace(item, tool=known, content=content, reason_code=reason and reason[1])


_WIRES: dict[str, _Wire] = {
    "openai-chat": _Wire(
        user=parts.same,
        assistant=parts.chat_assistant,
        result=parts.chat_result,
        tool=parts.tool_as_it_is,
        prompt_is_a_message=True,
    ),
    "openai-responses": _Wire(
        user=parts.same,
        assistant=parts.responses_assistant,
        result=parts.responses_result,
        tool=parts.tool_as_it_is,
        joins_assistant_messages=True,
    ),
    "anthropic-messages": _Wire(
        user=parts.anthropic_user,
        assistant=parts.anthropic_assistant,
        result=parts.anthropic_result,
        tool=parts.tool_as_it_is,
        default_max_tokens=4096,
        blank_system_messages=False,
    ),
    "xml-fallback": _Wire(
        user=parts.xml_user,
        assistant=parts.xml_assistant,
        result=parts.xml_result,
        tool=parts.lenient,
        prompt_is_a_message=True,
        tools_in_synthesis=False,
    ),
}
