"""Messages request -> neutral request.

A user message gives its tool results as results and what stands between them as user messages, in order. Thinking,
server-tool blocks, documents and whatever has no neutral form become `Opaque` parts of this transport. Source: API
reference of POST /v1/messages (types of the anthropic SDK 2.14) and this project's wire conventions.
"""

import json
from collections.abc import Iterator
from typing import Any

from harness.vocabulary.content import (
    AssistantMessage,
    AssistantPart,
    Image,
    Item,
    JsonObject,
    Opaque,
    ResultPart,
    SystemMessage,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
    UserPart,
)
from harness.vocabulary.control import Control
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.tools import ToolDefinition
from harness.wire.codec import Decoded, UndecodableRequest
from harness.wire.marks import closing, control_of, reason_of
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

ID = "anthropic-messages"
DEFAULT_MAX_TOKENS = 4096
"""What a request without a limit of its own sends, since the wire demands one: read back as no limit."""
THINKING = ("thinking", "redacted_thinking")


def decode(body: bytes) -> Decoded:
    """Read one request."""
    payload = parse_body(body)
    history, control, paused = closing(conversation(payload))
    if control is None:
        history, control = _trailing_block(history)
    limit = optional_int(payload, "max_tokens", "")
    request = ModelRequest(
        model=expect_text(payload, "model", ""),
        system=_text(payload, "system", ""),
        tools=tools(payload),
        items=tuple(history),
        control=control,
        tool_choice="none" if payload.get("tool_choice") == {"type": "none"} else None,
        paused=paused,
        max_output_tokens=None if limit == DEFAULT_MAX_TOKENS else limit,
        reasoning=optional_text(optional_object(payload, "output_config", ""), "effort", "/output_config"),
    )
    return Decoded(request=request, stream=flag(payload, "stream", ""), payload=payload)


def _trailing_block(items: list[Item]) -> tuple[list[Item], Control | None]:
    """The control where the model takes no system message: the last text block of the last user message."""
    last = items[-1] if items else None
    block = last.content[-1] if isinstance(last, UserMessage) and last.content else None
    control = control_of(block.text) if isinstance(block, Text) else None
    if control is None or not isinstance(last, UserMessage):
        return items, None
    rest = last.content[:-1]
    return [*items[:-1], *([UserMessage(rest)] if rest else [])], control


def _text(source: JsonObject, key: str, place: str) -> str:
    """Text given as a string or as text blocks."""
    value = source.get(key)
    if value is None or isinstance(value, str):
        return value or ""
    blocks = each_object(source, key, place)
    return "".join(expect_text(one, "text", where) for where, one in blocks if one.get("type") == "text")


def tools(payload: JsonObject) -> tuple[ToolDefinition, ...]:
    """The client's own tools; server tools have no neutral form."""
    offered = each_object(payload, "tools", "")
    return tuple(_definition(place, tool) for place, tool in offered if tool.get("type") in (None, "custom"))


def _definition(place: str, tool: dict[str, Any]) -> ToolDefinition:
    return ToolDefinition(
        name=expect_text(tool, "name", place),
        description=optional_text(tool, "description", place) or "",
        parameters=expect_object(tool.get("input_schema"), at(place, "input_schema")),
        strict=flag(tool, "strict", place),
    )


def conversation(payload: JsonObject) -> list[Item]:
    """The messages as items."""
    names: dict[str, str] = {}
    items: list[Item] = []
    for place, message in each_object(payload, "messages", "", required=True):
        role = expect_text(message, "role", place)
        if role == "assistant":
            turn = AssistantMessage(tuple(_said(where, block) for where, block in _blocks(place, message)))
            names.update((call.call_id, call.name) for call in turn.calls)
            items.append(turn)
        elif role == "user":
            items += _client(place, message, names)
        elif role == "system":
            items += _platform(place, message)
        else:
            raise UndecodableRequest(at(place, "role"), f"expected user, assistant or system, but got {role!r}")
    return items


def _blocks(place: str, source: dict[str, Any], key: str = "content") -> list[tuple[str, dict[str, Any]]]:
    """Content blocks; a string is one text block."""
    value = source.get(key)
    if isinstance(value, str):
        return [(at(place, key), {"type": "text", "text": value})]
    if not isinstance(value, list):
        fault = f"expected a string or an array of objects, but got {kind_of(value)} instead"
        raise UndecodableRequest(at(place, key), fault, "type" if key in source else "missing")
    return each_object(source, key, place)


def _said(place: str, block: dict[str, Any]) -> AssistantPart:
    kind = expect_text(block, "type", place)
    if kind == "text":
        return Text(expect_text(block, "text", place))
    if kind == "tool_use":
        arguments = expect_object(block.get("input"), at(place, "input"))
        text = json.dumps(arguments, separators=(",", ":"), ensure_ascii=False)
        return ToolCall(expect_text(block, "id", place), expect_text(block, "name", place), text)
    return Opaque(ID, block, reasoning=kind in THINKING)


def _client(place: str, message: dict[str, Any], names: dict[str, str]) -> Iterator[Item]:
    parts: list[UserPart] = []
    for where, block in _blocks(place, message):
        if block.get("type") == "tool_result":
            if parts:
                yield UserMessage(tuple(parts))
                parts = []
            yield _result(where, block, names)
        else:
            parts.append(_part(where, block))
    if parts or not message["content"]:
        yield UserMessage(tuple(parts))


def _part(place: str, block: dict[str, Any]) -> Text | Image | Opaque:
    kind = expect_text(block, "type", place)
    if kind == "text":
        return Text(expect_text(block, "text", place))
    source = optional_object(block, "source", place) if kind == "image" else {}
    if source.get("type") == "base64":
        where = at(place, "source")
        return Image(expect_text(source, "media_type", where), expect_text(source, "data", where))
    return Opaque(ID, block, reasoning=False)


def _platform(place: str, message: dict[str, Any]) -> Iterator[Item]:
    """A system message; what in it is no text (tool additions, directives) is kept as it came."""
    blocks = _blocks(place, message)
    text = "".join(expect_text(one, "text", where) for where, one in blocks if one.get("type") == "text")
    others = tuple(Opaque(ID, one, reasoning=False) for _, one in blocks if one.get("type") != "text")
    if others:
        yield UserMessage(others)
    if text or not others:
        yield SystemMessage(text)


def _result(place: str, block: dict[str, Any], names: dict[str, str]) -> ToolResult:
    call_id = expect_text(block, "tool_use_id", place)
    is_error = flag(block, "is_error", place)
    empty = block.get("content") is None or block["content"] == ""
    blocks = [] if empty else _blocks(place, block)
    content: tuple[ResultPart, ...] = tuple(_part(where, one) for where, one in blocks)
    return ToolResult(
        call_id=call_id,
        tool=names.get(call_id, ""),
        content=content,
        is_error=is_error,
        reason_code=reason_of(content, is_error),
    )
