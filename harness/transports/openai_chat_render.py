"""OpenAI Chat Completions: neutral request to payload. It knows the request body only, not the answers.

Key order, fixed: model, stream, stream_options, max_completion_tokens, reasoning_effort, tools, messages, tool_choice;
what changes from turn to turn comes last, so that payloads share their beginning. Source: API reference of POST
/v1/chat/completions (wire facts 2.1). This wire has no error flag, no reasoning blocks, and text only in tool messages.
"""

from collections.abc import Iterator
from typing import Any, TypeAlias

from harness.transports.jsontext import encode, sendable_arguments
from harness.transports.names import sendable_name
from harness.transports.results import Batch, data_url, grouped, marked_content
from harness.vocabulary.content import (
    AssistantMessage,
    Image,
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

ID = "openai-chat"
_LONGEST_NAME = 64

Message: TypeAlias = dict[str, Any]


def render(request: ModelRequest, *, stream: bool) -> bytes:
    """The payload bytes; see `Adapter.render`."""
    payload = options(request, stream)
    if request.tools:
        payload["tools"] = [_tool(tool) for tool in request.tools]
    payload["messages"] = _messages(request)
    if request.tool_choice is not None and request.tools:
        payload["tool_choice"] = request.tool_choice
    return encode(payload)


def options(request: ModelRequest, stream: bool) -> dict[str, Any]:
    """The payload's leading keys; what is not set is not sent."""
    payload: dict[str, Any] = {"model": request.model}
    if stream:
        payload["stream"] = True
        payload["stream_options"] = {"include_usage": True, "include_obfuscation": False}
    if request.max_output_tokens is not None:
        payload["max_completion_tokens"] = request.max_output_tokens
    if request.reasoning is not None:
        payload["reasoning_effort"] = request.reasoning
    return payload


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": tool.strict,
    }
    return {"type": "function", "function": function}


def _messages(request: ModelRequest) -> list[Message]:
    messages: list[Message] = [{"role": "developer", "content": request.system}] if request.system else []
    for entry in grouped(request.items):
        messages.extend(_entry(entry))
    if request.control is not None:
        messages.append({"role": "developer", "content": request.control.text})
    if request.paused is not None:
        messages.extend(_assistant(request.paused))
    return messages


def _entry(entry: UserMessage | SystemMessage | AssistantMessage | Batch) -> Iterator[Message]:
    if isinstance(entry, UserMessage):
        yield from user_message(entry.content, ID)
    elif isinstance(entry, SystemMessage):
        yield {"role": "developer", "content": entry.text}
    elif isinstance(entry, AssistantMessage):
        yield from _assistant(entry)
    else:
        yield from _batch(entry)


def user_message(content: tuple[UserPart, ...], transport: str) -> Iterator[Message]:
    """The message of a person; none where every part belongs to another provider."""
    parts = [part for part in content if not isinstance(part, Opaque) or part.provider == transport]
    if len(parts) == 1 and isinstance(parts[0], Text):
        yield {"role": "user", "content": parts[0].text}
    elif parts:
        yield {"role": "user", "content": [_part(part) for part in parts]}


def _part(part: UserPart | ResultPart) -> Any:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    if isinstance(part, Image):
        return {"type": "image_url", "image_url": {"url": data_url(part)}}
    return part.payload


def _assistant(message: AssistantMessage) -> Iterator[Message]:
    texts = [part.text for part in message.content if isinstance(part, Text)]
    refusals = [part.text for part in message.content if isinstance(part, Refusal)]
    calls = [_call(call) for call in message.calls]
    if not (any(texts) or any(refusals) or calls):
        return
    rendered: Message = {"role": "assistant", "content": "".join(texts) if texts else None}
    if refusals:
        rendered["refusal"] = "".join(refusals)
    for part in message.content:
        # A server that shows its reasoning does so in a field of the message: it goes back to where it came from.
        if isinstance(part, Opaque) and part.provider == ID and isinstance(part.payload, dict):
            rendered.update(part.payload)
    if calls:
        rendered["tool_calls"] = calls
    yield rendered


def _call(call: ToolCall) -> dict[str, Any]:
    function = {"name": sendable_name(call.name, _LONGEST_NAME), "arguments": sendable_arguments(call.arguments)}
    return {"id": call.call_id, "type": "function", "function": function}


def _batch(batch: Batch) -> Iterator[Message]:
    """Tool messages of a batch, then one user message with its images: nothing may stand between tool messages."""
    pictures: list[Any] = []
    for result in batch:
        content = marked_content(result)
        yield {"role": "tool", "tool_call_id": result.call_id, "content": _tool_content(content)}
        pictures.extend(_pictures(result))
    if pictures:
        yield {"role": "user", "content": pictures}


def _tool_content(content: tuple[ResultPart, ...]) -> Any:
    parts = [part for part in content if isinstance(part, Text) or (isinstance(part, Opaque) and part.provider == ID)]
    if not parts:
        return ""
    if len(parts) == 1 and isinstance(parts[0], Text):
        return parts[0].text
    return [_part(part) for part in parts]


def _pictures(result: ToolResult) -> list[Any]:
    images = [_part(part) for part in result.content if isinstance(part, Image)]
    return [{"type": "text", "text": f"[images of tool call {result.call_id}]"}, *images] if images else []
