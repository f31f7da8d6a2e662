"""What a model request says of itself, in the words of a scenario, on any transport.

The XML fallback has no `tool_choice`: a request there says "none" by a control without a tool section
(loop.synthesis.xml). A run without tools sends none of it (loop.synthesis.tool-choice).
"""

from harness.scenario.delivered import XML
from harness.vocabulary.content import AssistantMessage, Item, Refusal, SystemMessage, Text, ToolCall
from harness.vocabulary.request import ModelRequest


def control_word(request: ModelRequest) -> str:
    """The control's name, or "none"."""
    return "none" if request.control is None else request.control.name


def choice_word(request: ModelRequest, transport: str, *, tools: bool) -> str:
    """ "none" or "default"; `tools`: whether the run has any."""
    if request.tool_choice == "none":
        return "none"
    by_control = not tools or (transport == XML and not request.tools)
    return "none" if by_control and request.control is not None else "default"


def texts_of(request: ModelRequest) -> str:
    """All text of the history and of the control, a line break between any two."""
    texts = [text for item in request.items for text in item_texts(item)]
    if request.control is not None:
        texts.append(request.control.text)
    return "\n".join(texts)


def item_texts(item: Item) -> list[str]:
    """The texts of one item: what is said, and the arguments of its calls."""
    if isinstance(item, SystemMessage):
        return [item.text]
    found: list[str] = []
    for part in item.content:
        if isinstance(part, (Text, Refusal)):
            found.append(part.text)
        elif isinstance(part, ToolCall):
            found.append(part.arguments)
    return found


def calls_of(items: "list[Item]") -> list[ToolCall]:
    """The calls of a conversation in order."""
    return [call for item in items if isinstance(item, AssistantMessage) for call in item.calls]
