"""One model request, and the append-only log that its history is a view of."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from harness.vocabulary.content import AssistantMessage, Item
from harness.vocabulary.control import Control
from harness.vocabulary.tools import ToolDefinition


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """What the loop asks of a model, before any wire.

    `system` and `tools` are the frozen prefix. `items` is the history as the model shall see it. `control` is the
    volatile instruction: last on the wire, before `paused` (the content of a paused turn to go on from). `tool_choice`
    None sends nothing, so that the provider's default holds. `max_output_tokens` counts tokens.
    """

    model: str
    system: str
    tools: tuple[ToolDefinition, ...]
    items: Sequence[Item]
    control: Control | None = None
    tool_choice: Literal["none"] | None = None
    paused: AssistantMessage | None = None
    max_output_tokens: int | None = None
    reasoning: str | None = None
