"""Anthropic Messages: neutral request to payload. It knows the request body only, not the answers.

Key order, fixed: model, max_tokens, stream, thinking, output_config, tools, system, messages, tool_choice: the cache
hierarchy (tools, system, messages) in its own order, and what changes from turn to turn last. Contents are always lists
of blocks, so that the volatile block of a control never re-shapes the message that it joins; a user text after tool
results stays a message of its own, so that a history only ever grows. Blocks that the API refuses (text that is
empty or white space) are left out. Source: wire facts 2.3, 5, 6; API version 2026-10-21.
"""

import re
from collections.abc import Iterator
from typing import Any, TypeAlias

from harness.transports.jsontext import arguments_object, encode
from harness.transports.names import sendable_name
from harness.transports.results import Batch, grouped
from harness.vocabulary.content import (
    AssistantMessage,
    AssistantPart,
    Image,
    Opaque,
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

ID = "anthropic-messages"
_LONGEST_NAME = 128

DEFAULT_MAX_TOKENS = 4096
"""This API requires a limit; the neutral request may leave it open."""

Block: TypeAlias = Any
Message: TypeAlias = dict[str, Any]

_VERSION = re.compile(r"claude-(?P<family>[a-z]+-)?(?P<major>\d{1,2})(?:[-.](?P<minor>\d{1,2}))?(?!\d)")
_FIRST_WITH_SYSTEM = (5, 0)
_WITHOUT_SYSTEM = frozenset({("sonnet-", 5)})


def takes_system_messages(model: str) -> bool:
    """Whether a model takes a system message inside the conversation. Models that are not known (a simulated one, a
    newer family) count as taking it; of the known ones those before 5 and Sonnet 5 do not (wire facts, section 6; the
    documents name 4.8 too, but a recorded answer of June 2026 refuses it)."""
    found = _VERSION.search(model)
    if found is None:
        return True
    major, minor = int(found["major"]), int(found["minor"] or 0)
    return (major, minor) >= _FIRST_WITH_SYSTEM and (found["family"], major) not in _WITHOUT_SYSTEM


def render(request: ModelRequest, *, stream: bool) -> bytes:
    """The payload bytes; see `Adapter.render`."""
    payload = _options(request, stream)
    if request.tools:
        payload["tools"] = [_tool(tool) for tool in request.tools]
    if request.system.strip():
        payload["system"] = [_text(request.system)]
    payload["messages"] = _messages(request)
    if request.tool_choice is not None and request.tools:
        payload["tool_choice"] = {"type": request.tool_choice}
    return encode(payload)


def _options(request: ModelRequest, stream: bool) -> dict[str, Any]:
    limit = request.max_output_tokens
    payload: dict[str, Any] = {"model": request.model, "max_tokens": DEFAULT_MAX_TOKENS if limit is None else limit}
    if stream:
        payload["stream"] = True
    if request.reasoning is not None:
        payload["thinking"] = {"type": "adaptive"}
        payload["output_config"] = {"effort": request.reasoning}
    return payload


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    rendered = {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
    return {**rendered, "strict": True} if tool.strict else rendered


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _messages(request: ModelRequest) -> list[Message]:
    messages = [message for entry in grouped(request.items) for message in _entry(entry)]
    if request.control is not None:
        _add_control(messages, request.control.text, request.model)
    if request.paused is not None:
        messages.extend(_assistant(request.paused))
    return messages


def _add_control(messages: list[Message], text: str, model: str) -> None:
    """The volatile instruction: a last system message, or for models without those a last block of the last user
    message, behind its tool results."""
    if takes_system_messages(model):
        messages.append({"role": "system", "content": [_text(text)]})
    elif messages and messages[-1]["role"] == "user":
        messages[-1] = {"role": "user", "content": [*messages[-1]["content"], _text(text)]}
    else:
        messages.append({"role": "user", "content": [_text(text)]})


def _entry(entry: UserMessage | SystemMessage | AssistantMessage | Batch) -> Iterator[Message]:
    if isinstance(entry, UserMessage):
        yield from _message("user", [block for part in entry.content for block in _block(part)])
    elif isinstance(entry, SystemMessage):
        yield from _message("system", _visible(entry.text))
    elif isinstance(entry, AssistantMessage):
        yield from _assistant(entry)
    else:
        yield from _message("user", [_result(result) for result in entry])


def _message(role: str, content: list[Block]) -> Iterator[Message]:
    if content:
        yield {"role": role, "content": content}


def _visible(text: str) -> list[Block]:
    return [_text(text)] if text.strip() else []


def _block(part: UserPart | ResultPart) -> list[Block]:
    if isinstance(part, Text):
        return _visible(part.text)
    if isinstance(part, Image):
        source = {"type": "base64", "media_type": part.media_type, "data": part.data}
        return [{"type": "image", "source": source}]
    return [part.payload] if part.provider == ID else []


def _assistant(message: AssistantMessage) -> Iterator[Message]:
    yield from _message("assistant", [block for part in message.content for block in _assistant_block(part)])


def _assistant_block(part: AssistantPart) -> list[Block]:
    if isinstance(part, ToolCall):
        # Undecodable arguments cannot be said on this wire: an empty object stands for them, the raw text stays beside.
        found = arguments_object(part.arguments)
        return [
            {
                "type": "tool_use",
                "id": part.call_id,
                "name": sendable_name(part.name, _LONGEST_NAME),
                "input": {} if found is None else found,
            }
        ]
    if isinstance(part, Opaque):
        return [part.payload] if part.provider == ID else []
    return _visible(part.text)


def _result(result: ToolResult) -> Block:
    rendered: dict[str, Any] = {"type": "tool_result", "tool_use_id": result.call_id}
    content: Any = [block for part in result.content for block in _block(part)]
    if len(result.content) == 1 and isinstance(result.content[0], Text):
        content = result.content[0].text
    if content:
        rendered["content"] = content
    if result.is_error:
        rendered["is_error"] = True
    return rendered
