"""What a conversation is made of: parts of a message, and the items that hold them.

An assistant message is one model turn; its parts keep the order in which the model produced them. A tool result
answers exactly one tool call by `call_id`. What only one provider understands (reasoning, server tool blocks) is an
`Opaque` part: kept verbatim and replayed to that provider alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

JsonValue: TypeAlias = Any
"""Any value `json.loads` can return."""
JsonObject: TypeAlias = Mapping[str, Any]
"""A JSON object; never changed after it was made."""


@dataclass(frozen=True, slots=True)
class Text:
    """Plain text, well formed (no lone surrogates)."""

    text: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """Text in which the model declines to answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Image:
    """An image. `data` is base64 text without a `data:` header."""

    media_type: str
    data: str


@dataclass(frozen=True, slots=True)
class Opaque:
    """Content that only `provider` (a transport id) understands; `payload` is its JSON, replayed verbatim.

    `reasoning` tells the model's hidden thinking (bound to the conversation before it) from other blocks.
    """

    provider: str
    payload: JsonValue
    reasoning: bool = True


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model asks for. `arguments` is the raw JSON text, exactly as it was (or would be) written."""

    call_id: str
    name: str
    arguments: str


UserPart: TypeAlias = Text | Image | Opaque
AssistantPart: TypeAlias = Text | Refusal | Opaque | ToolCall
ResultPart: TypeAlias = Text | Image | Opaque


@dataclass(frozen=True, slots=True)
class UserMessage:
    """What a person said."""

    content: tuple[UserPart, ...]


@dataclass(frozen=True, slots=True)
class SystemMessage:
    """A platform message inside the conversation (not the system prompt). The reference loop keeps none."""

    text: str


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """One model turn, as it is replayed."""

    content: tuple[AssistantPart, ...]

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls of the turn, in order."""
        return tuple([part for part in self.content if isinstance(part, ToolCall)])


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The answer to one tool call.

    `tool` is the called tool's name ("" where a decoder found no such call). An error result of this project begins
    with one platform line, `[reason_code]`; what follows may be the tool's own text, which is data.
    """

    call_id: str
    tool: str
    content: tuple[ResultPart, ...]
    is_error: bool = False
    reason_code: str | None = None

    @property
    def text(self) -> str:
        """All text parts, joined without a separator."""
        return "".join(part.text for part in self.content if isinstance(part, Text))


Item: TypeAlias = UserMessage | SystemMessage | AssistantMessage | ToolResult
