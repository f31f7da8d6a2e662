"""Responses request -> neutral request.

Consecutive items of the assistant's side (messages, reasoning, calls, server-tool items) are one assistant message, in
order. What has no neutral form becomes an `Opaque` part of this transport: on the assistant's side what the model or a
server tool made, in a user message what the client sent. Source: API reference of POST /v1/responses (types of the
openai SDK 3.57) and this project's wire conventions.
"""

from typing import Any

from harness.vocabulary.content import (
    AssistantMessage,
    AssistantPart,
    Image,
    Item,
    JsonObject,
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
from harness.wire.codec import Decoded, UndecodableRequest
from harness.wire.marks import closing, reason_of, unmarked
from harness.wire.reading import (
    at,
    each_object,
    expect_text,
    flag,
    kind_of,
    optional_int,
    optional_object,
    optional_text,
    parse_body,
)

ID = "openai-responses"
SYSTEM_ROLES = ("developer", "system")
CLIENT_KINDS = frozenset({"mcp_approval_response", "additional_tools", "configuration_update"})
"""Items of the client's side, beside all whose type ends with `_output`."""
_TEXT_KINDS = ("input_text", "output_text", "text")


def decode(body: bytes) -> Decoded:
    """Read one request."""
    payload = parse_body(body)
    history, control, paused = closing(conversation(payload))
    request = ModelRequest(
        model=expect_text(payload, "model", ""),
        system=_instructions(payload),
        tools=tools(payload),
        items=tuple(history),
        control=control,
        tool_choice="none" if payload.get("tool_choice") == "none" else None,
        paused=paused,
        max_output_tokens=optional_int(payload, "max_output_tokens", ""),
        reasoning=optional_text(optional_object(payload, "reasoning", ""), "effort", "/reasoning"),
    )
    return Decoded(request=request, stream=flag(payload, "stream", ""), payload=payload)


def _instructions(payload: JsonObject) -> str:
    """The system prompt; instructions given as items count by their text."""
    value = payload.get("instructions")
    if not isinstance(value, list):
        return optional_text(payload, "instructions", "") or ""
    found = (_message_text(place, item) for place, item in each_object(payload, "instructions", ""))
    return "".join(found)


def tools(payload: JsonObject) -> tuple[ToolDefinition, ...]:
    """The function tools; other kinds have no neutral form."""
    offered = each_object(payload, "tools", "")
    return tuple(_definition(place, tool) for place, tool in offered if tool.get("type") == "function")


def _definition(place: str, tool: dict[str, Any]) -> ToolDefinition:
    return ToolDefinition(
        name=expect_text(tool, "name", place),
        description=optional_text(tool, "description", place) or "",
        parameters=optional_object(tool, "parameters", place),
        strict=flag(tool, "strict", place),
    )


def conversation(payload: JsonObject) -> list[Item]:
    """The input as items."""
    value = payload.get("input")
    if isinstance(value, str):
        return [UserMessage((Text(value),))]
    items: list[Item] = []
    turn: list[AssistantPart] = []
    names: dict[str, str] = {}
    for place, item in each_object(payload, "input", ""):
        said = _assistant_side(place, item)
        if said is not None:
            names.update((part.call_id, part.name) for part in said if isinstance(part, ToolCall))
            turn += said
            continue
        _flush(items, turn)
        items.append(_client_side(place, item, names))
    _flush(items, turn)
    return items


def _flush(items: list[Item], turn: list[AssistantPart]) -> None:
    if turn:
        items.append(AssistantMessage(tuple(turn)))
        turn.clear()


def _assistant_side(place: str, item: dict[str, Any]) -> list[AssistantPart] | None:
    """The parts of an item that the model or a server tool made; None for an item of the client."""
    kind = _kind(place, item)
    if kind == "message":
        return _said(place, item) if item.get("role") == "assistant" else None
    if kind == "function_call":
        fields = (expect_text(item, key, place) for key in ("call_id", "name", "arguments"))
        return [ToolCall(*fields)]
    if kind in CLIENT_KINDS or kind.endswith("_output"):
        return None
    return [Opaque(ID, item, reasoning=kind == "reasoning")]


def _kind(place: str, item: dict[str, Any]) -> str:
    kind = optional_text(item, "type", place)
    if kind is None:
        expect_text(item, "role", place)
        return "message"
    return kind


def _said(place: str, item: dict[str, Any]) -> list[AssistantPart]:
    content = item.get("content")
    if isinstance(content, str):
        return [Text(content)] if content else []
    return [_said_part(where, part) for where, part in each_object(item, "content", place, required=True)]


def _said_part(place: str, part: dict[str, Any]) -> AssistantPart:
    kind = expect_text(part, "type", place)
    if kind == "refusal":
        return Refusal(expect_text(part, "refusal", place))
    return Text(expect_text(part, "text", place)) if kind in _TEXT_KINDS else Opaque(ID, part, reasoning=False)


def _client_side(place: str, item: dict[str, Any], names: dict[str, str]) -> Item:
    kind = _kind(place, item)
    if kind == "function_call_output":
        return _result(place, item, names)
    if kind != "message":
        return UserMessage((Opaque(ID, item, reasoning=False),))
    role = expect_text(item, "role", place)
    if role in SYSTEM_ROLES:
        return SystemMessage(_message_text(place, item))
    if role == "user":
        return UserMessage(_parts(place, item, "content"))
    raise UndecodableRequest(at(place, "role"), f"expected user, assistant, system or developer, but got {role!r}")


def _message_text(place: str, item: dict[str, Any]) -> str:
    return "".join(part.text for part in _parts(place, item, "content") if isinstance(part, Text))


def _parts(place: str, item: dict[str, Any], key: str) -> tuple[UserPart, ...]:
    value = item.get(key)
    if isinstance(value, str):
        return (Text(value),)
    if not isinstance(value, list):
        fault = f"expected one of a string or an array of objects, but got {kind_of(value)} instead"
        raise UndecodableRequest(at(place, key), fault, "type" if key in item else "missing")
    return tuple(_part(where, part) for where, part in each_object(item, key, place))


def _part(place: str, part: dict[str, Any]) -> UserPart:
    kind = expect_text(part, "type", place)
    if kind in _TEXT_KINDS:
        return Text(expect_text(part, "text", place))
    if kind == "input_image":
        return _image(optional_text(part, "image_url", place) or "") or Opaque(ID, part, reasoning=False)
    return Opaque(ID, part, reasoning=False)


def _image(url: str) -> Image | None:
    """The image of a base64 data URL; None for an address or a stored file."""
    head, comma, data = url.partition(",")
    if not (comma and head.startswith("data:") and head.endswith(";base64")):
        return None
    return Image(head[len("data:") : -len(";base64")], data)


def _result(place: str, item: dict[str, Any], names: dict[str, str]) -> ToolResult:
    call_id = expect_text(item, "call_id", place)
    parts: tuple[ResultPart, ...] = () if item.get("output") == "" else _parts(place, item, "output")
    content, is_error = unmarked(parts)
    return ToolResult(
        call_id=call_id,
        tool=names.get(call_id, ""),
        content=content,
        is_error=is_error,
        reason_code=reason_of(content, is_error),
    )
