"""What each wire carries of the parts of a message, of a result and of a tool: the losses place by place.

Written from the rules of the wires without their code. `carried_requests` puts the parts together.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from harness.contract.carried_arguments import as_name, as_object, as_text
from harness.vocabulary.content import (
    AssistantPart,
    Image,
    Opaque,
    Refusal,
    ResultPart,
    Text,
    ToolCall,
    ToolResult,
    UserPart,
)
from harness.vocabulary.tools import ToolDefinition


def same(parts: Sequence[UserPart]) -> Iterable[UserPart]:
    """All parts, as they are."""
    return parts


def _without_blanks(parts: Sequence[UserPart | AssistantPart]) -> Iterator[UserPart | AssistantPart]:
    return (part for part in parts if not isinstance(part, Text | Refusal) or part.text.strip())


def _texts(parts: Iterable[UserPart | AssistantPart]) -> str:
    return "".join(part.text for part in parts if isinstance(part, Text))


# OpenAI Chat: text, refusal and calls have a place each, so their order is lost. Of opaque parts (fields of a message)
# nothing comes back in the neutral form, which the judge reads from the wire's own fields. Images of results come last.
def chat_assistant(parts: Sequence[AssistantPart]) -> Iterator[AssistantPart]:
    """What a Chat assistant message holds."""
    text = _texts(parts)
    refusals = [part.text for part in parts if isinstance(part, Refusal)]
    calls = [
        replace(part, name=as_name(part.name, 64), arguments=as_text(part.arguments))
        for part in parts
        if isinstance(part, ToolCall)
    ]
    if text:
        yield Text(text)
    if refusals and (text or calls or any(refusals)):
        yield Refusal("".join(refusals))
    yield from calls


def chat_result(result: ToolResult) -> Iterable[ResultPart]:
    """What a Chat tool message holds."""
    texts = [part for part in result.content if not isinstance(part, Image)]
    images = [part for part in result.content if isinstance(part, Image)]
    return (*_marked(texts, result.is_error), *images)


def _marked(parts: Sequence[ResultPart], is_error: bool) -> Sequence[ResultPart]:
    """Parts on a wire whose error mark is text: an only text that is empty is no text, where it stands alone or the
    mark takes its place."""
    texts = [part for part in parts if isinstance(part, Text)]
    if len(texts) == 1 and not texts[0].text and (is_error or len(parts) == 1):
        return [part for part in parts if not isinstance(part, Text)]
    return parts


# OpenAI Responses: one item a part, so assistant messages that stand side by side are one turn.
def responses_assistant(parts: Sequence[AssistantPart]) -> Iterator[AssistantPart]:
    """What Responses items hold of a turn."""
    for part in parts:
        if isinstance(part, ToolCall):
            yield replace(part, name=as_name(part.name, 128), arguments=as_text(part.arguments))
        elif not isinstance(part, Text) or part.text:
            yield part


def responses_result(result: ToolResult) -> Sequence[ResultPart]:
    """What a `function_call_output` holds."""
    return _marked(result.content, result.is_error)


# Anthropic Messages: no blank text but for a result that is one text, no refusals, arguments are objects.
def anthropic_user(parts: Sequence[UserPart]) -> Iterator[UserPart]:
    """The blocks of a user message."""
    return (part for part in parts if not isinstance(part, Text) or part.text.strip())


def anthropic_assistant(parts: Sequence[AssistantPart]) -> Iterator[AssistantPart]:
    """The blocks of an assistant message."""
    for part in parts:
        if isinstance(part, ToolCall):
            yield replace(part, name=as_name(part.name, 128), arguments=as_object(part.arguments))
        elif isinstance(part, Opaque):
            yield part
        elif part.text.strip():
            yield Text(part.text)


def anthropic_result(result: ToolResult) -> Sequence[ResultPart]:
    """The blocks of a `tool_result`."""
    if len(result.content) == 1 and isinstance(result.content[0], Text):
        return result.content if result.content[0].text else ()
    return tuple(anthropic_user(result.content))


# XML fallback: everything is text. Images of results become a line of text, texts join, white space beside frames goes,
# refusals are text, a missing name is replaced, schemas lose `strict`, and in synthesis the tools are not shown.
def xml_user(parts: Sequence[UserPart]) -> Iterator[UserPart]:
    """What a user message of the text protocol holds."""
    return (part for part in parts if not isinstance(part, Opaque))


def xml_assistant(parts: Sequence[AssistantPart]) -> Iterator[AssistantPart]:
    """The texts and frames of an assistant message."""
    joined: list[AssistantPart] = []
    for part in parts:
        if isinstance(part, ToolCall):
            joined.append(replace(part, name=xml_name(part.name), arguments=as_text(part.arguments)))
        elif isinstance(part, Text | Refusal) and joined and isinstance(joined[-1], Text):
            joined[-1] = Text(joined[-1].text + part.text)
        elif isinstance(part, Text | Refusal):
            joined.append(Text(part.text))
    calls = any(isinstance(part, ToolCall) for part in joined)
    return (part for part in joined if not isinstance(part, Text) or (part.text.strip() if calls else part.text))


def xml_name(name: str) -> str:
    """A frame carries any name but none at all."""
    return name or as_name(name, 64)


def xml_result(result: ToolResult) -> Iterator[ResultPart]:
    """The one text of a result."""
    text = "".join(_xml_result_text(part) for part in result.content)
    if text:
        yield Text(text)


def _xml_result_text(part: ResultPart) -> str:
    if isinstance(part, Image):
        return f"[image {part.media_type}, {len(part.data)} base64 characters: not shown on this transport]"
    return part.text if isinstance(part, Text) else ""


def tool_as_it_is(tool: ToolDefinition) -> ToolDefinition:
    """The whole definition."""
    return tool


def lenient(tool: ToolDefinition) -> ToolDefinition:
    """The definition without `strict`."""
    return replace(tool, strict=False)
