"""OpenAI Responses: neutral request to payload. It knows the request body only, not the answers.

Key order, fixed: model, stream, store, include, max_output_tokens, reasoning, tools, instructions, input, tool_choice;
what changes from turn to turn comes last. Nothing is stored at the provider (`store` false), so reasoning travels
encrypted and is replayed as it came; call items go without their `id`, which the provider does not need and would
tie to a reasoning item. Source: API reference of POST /v1/responses (wire facts 2.2).
"""

from collections.abc import Iterator
from typing import Any, TypeAlias

from harness.transports.jsontext import encode, sendable_arguments
from harness.transports.names import sendable_name
from harness.transports.results import Batch, data_url, grouped, marked_content
from harness.vocabulary.content import (
    AssistantMessage,
    AssistantPart,
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

ID = "openai-responses"
_LONGEST_NAME = 128

InputItem: TypeAlias = Any


def render(request: ModelRequest, *, stream: bool) -> bytes:
    """The payload bytes; see `Adapter.render`."""
    payload = _options(request, stream)
    if request.tools:
        payload["tools"] = [_tool(tool) for tool in request.tools]
    if request.system:
        payload["instructions"] = request.system
    payload["input"] = _input(request)
    if request.tool_choice is not None and request.tools:
        payload["tool_choice"] = request.tool_choice
    return encode(payload)


def _options(request: ModelRequest, stream: bool) -> dict[str, Any]:
    payload: dict[str, Any] = {"model": request.model}
    if stream:
        payload["stream"] = True
    payload["store"] = False
    payload["include"] = ["reasoning.encrypted_content"]
    if request.max_output_tokens is not None:
        payload["max_output_tokens"] = request.max_output_tokens
    if request.reasoning is not None:
        payload["reasoning"] = {"effort": request.reasoning}
    return payload


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    # `strict` is always said: left out, this API tries strict where the schema allows it.
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": tool.strict,
    }


def _input(request: ModelRequest) -> list[InputItem]:
    items = [rendered for entry in grouped(request.items) for rendered in _entry(entry)]
    if request.control is not None:
        items.append(_message("developer", request.control.text))
    if request.paused is not None:
        items.extend(_assistant(request.paused))
    return items


def _message(role: str, content: Any) -> InputItem:
    return {"type": "message", "role": role, "content": content}


def _entry(entry: UserMessage | SystemMessage | AssistantMessage | Batch) -> Iterator[InputItem]:
    if isinstance(entry, UserMessage):
        yield from _user(entry)
    elif isinstance(entry, SystemMessage):
        yield _message("developer", entry.text)
    elif isinstance(entry, AssistantMessage):
        yield from _assistant(entry)
    else:
        for result in entry:
            yield _output(result)


def _user(message: UserMessage) -> Iterator[InputItem]:
    parts = _own(message.content)
    if len(parts) == 1 and isinstance(parts[0], Text):
        yield _message("user", parts[0].text)
    elif parts:
        yield _message("user", [_part(part) for part in parts])


def _own(content: tuple[UserPart, ...] | tuple[ResultPart, ...]) -> list[Text | Image | Opaque]:
    return [part for part in content if not isinstance(part, Opaque) or part.provider == ID]


def _part(part: Text | Image | Opaque) -> Any:
    if isinstance(part, Text):
        return {"type": "input_text", "text": part.text}
    if isinstance(part, Image):
        return {"type": "input_image", "image_url": data_url(part), "detail": "auto"}
    return part.payload


def _assistant(message: AssistantMessage) -> Iterator[InputItem]:
    for part in message.content:
        yield from _assistant_part(part)


def _assistant_part(part: AssistantPart) -> Iterator[InputItem]:
    if isinstance(part, ToolCall):
        arguments = sendable_arguments(part.arguments)
        yield {
            "type": "function_call",
            "call_id": part.call_id,
            "name": sendable_name(part.name, _LONGEST_NAME),
            "arguments": arguments,
        }
    elif isinstance(part, Opaque):
        if part.provider == ID:
            yield part.payload
    elif isinstance(part, Refusal):
        yield _message("assistant", [{"type": "refusal", "refusal": part.text}])
    elif part.text:
        # A string: the typed `output_text` part belongs to an output item, which needs an id that is not kept.
        yield _message("assistant", part.text)


def _output(result: ToolResult) -> InputItem:
    parts = _own(marked_content(result))
    output: Any = [_part(part) for part in parts]
    if not parts:
        output = ""
    elif len(parts) == 1 and isinstance(parts[0], Text):
        output = parts[0].text
    return {"type": "function_call_output", "call_id": result.call_id, "output": output}
