"""How tool results and images stand in a history, where several wires say it alike.

Wires without an error flag mark an error result by the prefix `ERROR: ` on its first text, and an ok result that
happens to begin like a mark by `RESULT: `, so that external text can never pose as platform narration
(loop.tools.external-text-is-data). A batch is a run of results that answers one assistant message.
"""

from collections.abc import Iterator, Sequence

from harness.vocabulary.content import (
    AssistantMessage,
    Image,
    Item,
    ResultPart,
    SystemMessage,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
)

ERROR_PREFIX = "ERROR: "
RESULT_PREFIX = "RESULT: "

Batch = tuple[ToolResult, ...]


def grouped(items: Sequence[Item]) -> Iterator[UserMessage | SystemMessage | AssistantMessage | Batch]:
    """The history with each run of tool results as one batch."""
    batch: list[ToolResult] = []
    for item in items:
        if isinstance(item, ToolResult):
            batch.append(item)
            continue
        if batch:
            yield tuple(batch)
            batch = []
        yield item
    if batch:
        yield tuple(batch)


def marked_content(result: ToolResult) -> tuple[ResultPart, ...]:
    """The content of a result with its mark, for wires that have no error flag."""
    first = next(((n, part.text) for n, part in enumerate(result.content) if isinstance(part, Text)), None)
    if first is None:
        return (Text(ERROR_PREFIX), *result.content) if result.is_error else result.content
    place, text = first
    marked = Text(_mark(text, result.is_error) + text)
    return (*result.content[:place], marked, *result.content[place + 1 :])


def _mark(text: str, is_error: bool) -> str:
    if is_error:
        return ERROR_PREFIX
    return RESULT_PREFIX if text.startswith((ERROR_PREFIX, RESULT_PREFIX)) else ""


def data_url(image: Image) -> str:
    """An image as a data URL."""
    return f"data:{image.media_type};base64,{image.data}"


def calls_in(items: Sequence[Item], paused: AssistantMessage | None) -> list[ToolCall]:
    """Every tool call of a request's history, the paused turn's last."""
    messages = [item for item in items if isinstance(item, AssistantMessage)]
    if paused is not None:
        messages.append(paused)
    return [call for message in messages for call in message.calls]
