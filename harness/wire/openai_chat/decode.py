"""Chat Completions request -> neutral request.

It reads what real clients send: content as text or parts, images, files, audio, custom and legacy function calls, late
system messages. What has no neutral form becomes an `Opaque` part of this transport. Source: API reference of
POST /v1/chat/completions (types of the openai SDK 3.57) and this project's wire conventions.
"""

from collections.abc import Sequence
from typing import Any

from harness.vocabulary.content import (
    AssistantMessage,
    AssistantPart,
    Image,
    Item,
    JsonObject,
    Opaque,
    Refusal,
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
from harness.wire.openai_chat.images import with_images
from harness.wire.reading import (
    at,
    each_object,
    expect_object,
    expect_text,
    flag,
    kind_of,
    optional_int,
    optional_object,
    optional_text,
    parse_body,
)

ID = "openai-chat"
SYSTEM_ROLES = ("developer", "system")
ROLES = (*SYSTEM_ROLES, "user", "assistant", "tool", "function")


def decode(body: bytes) -> Decoded:
    """Read one request."""
    payload = parse_body(body)
    system, items = conversation(payload)
    history, control, paused = closing(items)
    request = ModelRequest(
        model=expect_text(payload, "model", ""),
        system=system,
        tools=tools(payload),
        items=tuple(history),
        control=control,
        tool_choice="none" if payload.get("tool_choice") == "none" else None,
        paused=paused,
        max_output_tokens=_max_tokens(payload),
        reasoning=optional_text(payload, "reasoning_effort", ""),
    )
    return Decoded(request=request, stream=flag(payload, "stream", ""), payload=payload)


def _max_tokens(payload: JsonObject) -> int | None:
    limit = optional_int(payload, "max_completion_tokens", "")
    return optional_int(payload, "max_tokens", "") if limit is None else limit


def tools(payload: JsonObject) -> tuple[ToolDefinition, ...]:
    """The function tools, legacy `functions` included; other kinds of tool have no neutral form."""
    found = [
        (at(place, "function"), expect_object(tool.get("function"), at(place, "function")))
        for place, tool in each_object(payload, "tools", "")
        if tool.get("type") in ("function", None)
    ]
    found += each_object(payload, "functions", "")
    return tuple(_definition(place, function) for place, function in found)


def _definition(place: str, function: dict[str, Any]) -> ToolDefinition:
    return ToolDefinition(
        name=expect_text(function, "name", place),
        description=optional_text(function, "description", place) or "",
        parameters=optional_object(function, "parameters", place),
        strict=flag(function, "strict", place),
    )


def conversation(payload: JsonObject) -> tuple[str, list[Item]]:
    """The system prompt (a first message of a system role) and all other messages as items."""
    messages = each_object(payload, "messages", "", required=True)
    system, first = "", 0
    if messages and messages[0][1].get("role") in SYSTEM_ROLES and not _is_control(messages):
        system, first = _joined(*messages[0]), 1
    names: dict[str, str] = {}
    items: list[Item] = []
    for place, message in messages[first:]:
        _add(items, place, message, names)
    return system, items


def _is_control(messages: Sequence[tuple[str, dict[str, Any]]]) -> bool:
    """Whether the first message is also the last, and is the control: then there is no system prompt."""
    return len(messages) == 1 and closing([SystemMessage(_joined(*messages[0]))])[1] is not None


def _add(items: list[Item], place: str, message: dict[str, Any], names: dict[str, str]) -> None:
    role = expect_text(message, "role", place)
    if role in SYSTEM_ROLES:
        items.append(SystemMessage(_joined(place, message)))
    elif role == "assistant":
        turn = AssistantMessage(_assistant(place, message))
        names.update((call.call_id, call.name) for call in turn.calls)
        items.append(turn)
    elif role in ("tool", "function"):
        items.append(_result(place, message, names))
    elif role == "user":
        _add_user(items, _parts(place, message))
    else:
        raise UndecodableRequest(at(place, "role"), f"expected one of {', '.join(ROLES)}, but got {role!r}")


def _add_user(items: list[Item], parts: tuple[UserPart, ...]) -> None:
    """A user message; or, after a batch, the message that carries the batch's images."""
    batch = len(items)
    while batch and isinstance(items[batch - 1], ToolResult):
        batch -= 1
    results = [item for item in items[batch:] if isinstance(item, ToolResult)]
    merged = with_images(results, parts)
    if merged is None:
        items.append(UserMessage(parts))
    else:
        items[batch:] = merged


def _joined(place: str, message: dict[str, Any]) -> str:
    return "".join(part.text for part in _parts(place, message) if isinstance(part, Text))


def _parts(place: str, message: dict[str, Any]) -> tuple[UserPart, ...]:
    content = message.get("content")
    if isinstance(content, str):
        return (Text(content),)
    if not isinstance(content, list):
        expected = "expected one of a string or an array of objects"
        fault = f"{expected}, but got {kind_of(content)} instead"
        raise UndecodableRequest(at(place, "content"), fault, "type" if "content" in message else "missing")
    return tuple(part(one, where) for where, one in each_object(message, "content", place))


def part(one: dict[str, Any], place: str) -> UserPart:
    """One content part of a user, system or tool message."""
    kind = expect_text(one, "type", place)
    if kind == "text":
        return Text(expect_text(one, "text", place))
    if kind == "image_url":
        url = expect_text(expect_object(one.get("image_url"), at(place, "image_url")), "url", at(place, "image_url"))
        return image(url) or Opaque(ID, one, reasoning=False)
    return Opaque(ID, one, reasoning=False)


def image(url: str) -> Image | None:
    """The image of a base64 data URL; None for an address on the network."""
    head, comma, data = url.partition(",")
    if not (comma and head.startswith("data:") and head.endswith(";base64")):
        return None
    return Image(head[len("data:") : -len(";base64")], data)


def _assistant(place: str, message: dict[str, Any]) -> tuple[AssistantPart, ...]:
    parts: list[AssistantPart] = []
    content = message.get("content")
    if isinstance(content, list):
        for where, one in each_object(message, "content", place):
            parts.append(_said(one, where))
    elif optional_text(message, "content", place):
        parts.append(Text(str(content)))
    refusal = optional_text(message, "refusal", place)
    if refusal is not None:
        parts.append(Refusal(refusal))
    if message.get("audio") is not None:
        parts.append(Opaque(ID, {"audio": message["audio"]}, reasoning=False))
    calls = [_call(where, one) for where, one in each_object(message, "tool_calls", place)]
    if message.get("function_call") is not None:
        where = at(place, "function_call")
        calls.append(_function("", expect_object(message["function_call"], where), where))
    return (*parts, *calls)


def _said(one: dict[str, Any], place: str) -> AssistantPart:
    if one.get("type") == "refusal":
        return Refusal(expect_text(one, "refusal", place))
    return Text(expect_text(one, "text", place)) if one.get("type") == "text" else Opaque(ID, one, reasoning=False)


def _call(place: str, one: dict[str, Any]) -> ToolCall | Opaque:
    if one.get("type", "function") != "function":
        return Opaque(ID, one, reasoning=False)
    where = at(place, "function")
    return _function(expect_text(one, "id", place), expect_object(one.get("function"), where), where)


def _function(call_id: str, function: dict[str, Any], place: str) -> ToolCall:
    return ToolCall(call_id, expect_text(function, "name", place), expect_text(function, "arguments", place))


def _result(place: str, message: dict[str, Any], names: dict[str, str]) -> ToolResult:
    legacy = message["role"] == "function"
    call_id = "" if legacy else expect_text(message, "tool_call_id", place)
    parts = tuple(one for one in _parts(place, message) if one != Text("") or isinstance(message["content"], list))
    content, is_error = unmarked(parts)
    name = optional_text(message, "name", place)
    return ToolResult(
        call_id=call_id,
        tool=names.get(call_id, "") or name or "",
        content=content,
        is_error=is_error,
        reason_code=reason_of(content, is_error),
    )
