"""XML fallback: neutral request to a Chat payload in which tools, calls and results are text.

It knows the request body only. The format, whole: the system message ends with a tool section (`TOOL_SECTION`); the
model calls by a frame `<tool_call name="NAME">JSON</tool_call>`; a batch of results is one user message,
`<tool_results>`; a control is the last user message, `<platform_instruction>`. User text that begins like one of these
has its first character written as an entity, so that nobody can pose as the platform
(loop.tools.external-text-is-data). In synthesis the tool section is left out (loop.synthesis.xml). Key order: model,
stream, stream_options, max_completion_tokens, reasoning_effort, messages.
"""

from collections.abc import Iterator
from typing import Any, TypeAlias

from harness.transports.jsontext import encode, sendable_arguments, strict_compact
from harness.transports.names import sendable_name
from harness.transports.openai_chat_render import options, user_message
from harness.transports.results import Batch, grouped
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

ID = "xml-fallback"
_NAMELESS = sendable_name("", 1)

Message: TypeAlias = dict[str, Any]

TOOL_SECTION = """You can call tools. To call one, write a frame in exactly this form, its arguments as one JSON object:
<tool_call name="NAME">{"argument": "value"}</tool_call>
Inside a frame write &amp; for &, &lt; for < and &gt; for >, or put the whole JSON into <![CDATA[ and ]]>.
Write frames outside of code blocks; several frames in one answer are several calls.
The results come in the next message, inside a tool_results element. These are the tools:
"""
"""What goes before the list of tools."""

_RESERVED = ("<tool_results>", "<platform_instruction>", "&")
_ENTITIES = {"<": "&lt;", "&": "&amp;"}


def escape(text: str) -> str:
    """Text as it stands inside an element."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def attribute(text: str) -> str:
    """Text as it stands inside double quotes."""
    return escape(text).replace('"', "&quot;")


def render(request: ModelRequest, *, stream: bool) -> bytes:
    """The payload bytes; see `Adapter.render`."""
    payload = options(request, stream)
    payload["messages"] = _messages(request)
    return encode(payload)


def _messages(request: ModelRequest) -> list[Message]:
    system = "\n\n".join(part for part in (request.system, _tool_section(request)) if part)
    messages: list[Message] = [{"role": "system", "content": system}] if system else []
    for entry in grouped(request.items):
        messages.extend(_entry(entry))
    if request.control is not None:
        messages.append({"role": "user", "content": _element("platform_instruction", escape(request.control.text))})
    if request.paused is not None:
        messages.extend(_assistant(request.paused))
    return messages


def _tool_section(request: ModelRequest) -> str:
    if not request.tools or request.tool_choice == "none":
        return ""
    return TOOL_SECTION + _element("tools", "\n".join(_tool(tool) for tool in request.tools))


def _element(name: str, content: str) -> str:
    return f"<{name}>\n{content}\n</{name}>"


def _tool(tool: ToolDefinition) -> str:
    description, parameters = escape(tool.description), escape(strict_compact(tool.parameters))
    inner = f"<description>{description}</description><parameters>{parameters}</parameters>"
    return f'<tool name="{attribute(tool.name)}">{inner}</tool>'


def _entry(entry: UserMessage | SystemMessage | AssistantMessage | Batch) -> Iterator[Message]:
    if isinstance(entry, UserMessage):
        yield from user_message(tuple(_user_part(part) for part in entry.content), ID)
    elif isinstance(entry, SystemMessage):
        yield {"role": "system", "content": entry.text}
    elif isinstance(entry, AssistantMessage):
        yield from _assistant(entry)
    else:
        yield {"role": "user", "content": _element("tool_results", "\n".join(_result(result) for result in entry))}


def _user_part(part: UserPart) -> UserPart:
    if isinstance(part, Text) and part.text.startswith(_RESERVED):
        return Text(_ENTITIES[part.text[0]] + part.text[1:])
    return part


def _assistant(message: AssistantMessage) -> Iterator[Message]:
    content = "".join(_assistant_part(part) for part in message.content)
    if not content:
        return
    rendered: Message = {"role": "assistant", "content": content}
    for part in message.content:
        if isinstance(part, Opaque) and part.provider == ID and isinstance(part.payload, dict):
            rendered.update(part.payload)
    yield rendered


def _assistant_part(part: AssistantPart) -> str:
    """Text as it is; a call as a frame with the one line end on each side that the reader takes away again."""
    if isinstance(part, ToolCall):
        arguments = escape(sendable_arguments(part.arguments))
        names = f'id="{attribute(part.call_id)}" name="{attribute(part.name or _NAMELESS)}"'
        return f"\n<tool_call {names}>{arguments}</tool_call>\n"
    return part.text if isinstance(part, Text | Refusal) else ""


def _result(result: ToolResult) -> str:
    names = f'id="{attribute(result.call_id)}" name="{attribute(result.tool or _NAMELESS)}"'
    error = ' error="true"' if result.is_error else ""
    return f"<tool_result {names}{error}>{escape(''.join(_result_text(part) for part in result.content))}</tool_result>"


def _result_text(part: ResultPart) -> str:
    if isinstance(part, Image):
        return f"[image {part.media_type}, {len(part.data)} base64 characters: not shown on this transport]"
    return part.text if isinstance(part, Text) else ""
