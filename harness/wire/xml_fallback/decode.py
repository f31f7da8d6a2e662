"""XML fallback request -> neutral request.

The wire is Chat Completions; tools, calls, results and the control stand in texts. Results are one user message a
batch, the control a user message of its own at the end. Source: the project's wire conventions (one documented format).
"""

import json
import re
from collections.abc import Iterator, Sequence

from harness.vocabulary.content import (
    AssistantMessage,
    AssistantPart,
    Item,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
    UserPart,
)
from harness.vocabulary.control import Control
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.tools import ToolDefinition
from harness.wire.codec import Decoded
from harness.wire.marks import closing, control_of, reason_of
from harness.wire.openai_chat import decode as chat
from harness.wire.reading import expect_text, flag, optional_int, optional_text, parse_body
from harness.wire.xml_fallback.frames import Frame, decoded, read, unescape

RESULTS = re.compile(r"<tool_results>\n(.*)</tool_results>", re.DOTALL)
RESULT = re.compile(r"<tool_result((?: [a-z_]+=\"[^\"<]*\")*)>(.*?)</tool_result>\n", re.DOTALL)
INSTRUCTION = re.compile(r"<platform_instruction>\n(.*)\n</platform_instruction>", re.DOTALL)
TOOLS = re.compile(
    r"(?:\A|\n\n)You can call tools\.(?:(?!\n\nYou can call tools\.).)*?\n<tools>\n(.*)</tools>\s*\Z", re.DOTALL
)
TOOL = re.compile(
    r"<tool name=\"([^\"<]*)\"><description>(.*?)</description><parameters>(.*?)</parameters></tool>\n", re.DOTALL
)
_ATTRIBUTE = re.compile(r"([a-z_]+)=\"([^\"<]*)\"")
_ESCAPED_HEADS = ("&lt;tool_results>", "&lt;platform_instruction>", "&amp;")


def decode(body: bytes) -> Decoded:
    """Read one request."""
    payload = parse_body(body)
    text, messages = chat.conversation(payload)
    system, tools = split_system(text)
    history, control, paused = _closing(_items(messages))
    limit = optional_int(payload, "max_completion_tokens", "")
    request = ModelRequest(
        model=expect_text(payload, "model", ""),
        system=system,
        tools=tools,
        items=tuple(history),
        control=control,
        tool_choice="none" if control is not None and not tools else None,
        paused=paused,
        max_output_tokens=optional_int(payload, "max_tokens", "") if limit is None else limit,
        reasoning=optional_text(payload, "reasoning_effort", ""),
    )
    return Decoded(request=request, stream=flag(payload, "stream", ""), payload=payload)


def _closing(items: list[Item]) -> tuple[list[Item], Control | None, AssistantMessage | None]:
    """The volatile end: on this wire the control is a user message."""
    rest, control, paused = closing(items)
    last = rest[-1] if rest else None
    if control is None and isinstance(last, UserMessage) and len(last.content) == 1:
        only = last.content[0]
        match = INSTRUCTION.fullmatch(only.text) if isinstance(only, Text) else None
        control = control_of(unescape(match[1])) if match else None
        rest = rest if control is None else rest[:-1]
    return [_plain(item) for item in rest], control, paused


def split_system(text: str) -> tuple[str, tuple[ToolDefinition, ...]]:
    """The system prompt without its tool section, and the tools of the section."""
    match = TOOLS.search(text)
    if match is None:
        return text, ()
    return text[: match.start()], tuple(_tools(match[1]))


def _tools(section: str) -> Iterator[ToolDefinition]:
    for name, description, parameters in TOOL.findall(section):
        try:
            schema = json.loads(unescape(parameters))
        except ValueError:
            continue
        yield ToolDefinition(name=unescape(name), description=unescape(description), parameters=schema)


def _items(messages: Sequence[Item]) -> list[Item]:
    """Chat messages as items: frames become calls, result messages become results."""
    items: list[Item] = []
    seen = 0
    for message in messages:
        if isinstance(message, AssistantMessage):
            parts = tuple(_parts(message, seen))
            seen += sum(isinstance(part, ToolCall) for part in parts)
            items.append(AssistantMessage(parts))
            continue
        results = results_of(message) if isinstance(message, UserMessage) else None
        items.extend([message] if results is None else results)
    return items


def _parts(message: AssistantMessage, seen: int) -> Iterator[AssistantPart]:
    for part in message.content:
        for piece in read(part.text) if isinstance(part, Text) else [part]:
            if isinstance(piece, Frame):
                seen += 1
                yield ToolCall(piece.call_id or f"x{seen}", piece.name, piece.body)
            else:
                yield Text(piece) if isinstance(piece, str) else piece


def results_of(message: UserMessage) -> list[ToolResult] | None:
    """The results that a user message holds, if it is a results message."""
    only = message.content[0] if len(message.content) == 1 else None
    match = RESULTS.fullmatch(only.text) if isinstance(only, Text) else None
    if match is None:
        return None
    return [_result(dict(_ATTRIBUTE.findall(head)), body) for head, body in RESULT.findall(match[1])]


def _result(attributes: dict[str, str], body: str) -> ToolResult:
    text, is_error = decoded(body), attributes.get("error") == "true"
    content = (Text(text),) if text else ()
    return ToolResult(
        call_id=unescape(attributes.get("id", "")),
        tool=unescape(attributes.get("name", "")),
        content=content,
        is_error=is_error,
        reason_code=reason_of(content, is_error),
    )


def _plain(item: Item) -> Item:
    """A user message whose texts begin as protocol would, without the escape of their first character."""
    if not isinstance(item, UserMessage):
        return item
    return UserMessage(tuple(_unescaped(part) for part in item.content))


def _unescaped(part: UserPart) -> UserPart:
    if not isinstance(part, Text) or not part.text.startswith(_ESCAPED_HEADS):
        return part
    head, semicolon, rest = part.text.partition(";")
    return Text(unescape(head + semicolon) + rest)
