"""A Messages request as its rules look at it: consecutive messages of one role are one turn, as the provider merges
them before it looks at calls and results. Tolerant: what has a wrong shape is passed over here.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

from harness.vocabulary.content import JsonObject
from harness.wire.codec import Circumstances
from harness.wire.reading import objects, text_or

SERVER_MADE = ("server_tool_use", "mcp_tool_use", "compaction")
THINKING = ("thinking", "redacted_thinking")


class Block(NamedTuple):
    """A content block: its JSON Pointer, the places of its message and in it, and the block."""

    pointer: str
    i: int
    j: int
    body: dict[str, Any]

    @property
    def kind(self) -> str:
        """The block's type."""
        return text_or(self.body.get("type"))

    @property
    def server_made(self) -> bool:
        """Whether the provider's own tools or its compaction (not the model's words, not the client) made it."""
        return self.kind in SERVER_MADE or (self.kind.endswith("_tool_result") and self.kind != "tool_result")


class Turn(NamedTuple):
    """Consecutive messages of one role."""

    role: str
    first: int
    blocks: list[Block]

    def of(self, kind: str) -> list[tuple[int, Block]]:
        """The turn's blocks of a type, each with its place in the turn."""
        return [(place, block) for place, block in enumerate(self.blocks) if block.kind == kind]

    def ids(self, kind: str, key: str) -> list[str]:
        """The ids of the turn's blocks of a type."""
        return [text_or(block.body.get(key)) for _, block in self.of(kind)]


class View:
    """One payload, and what is known of it beside."""

    def __init__(self, payload: JsonObject, circumstances: Circumstances) -> None:
        self.payload = payload
        self.circumstances = circumstances
        self.model = text_or(payload.get("model"))
        self.messages = list(objects(payload.get("messages")))

    @property
    def thinking(self) -> dict[str, Any]:
        """The thinking settings, {} if there are none."""
        value = self.payload.get("thinking")
        return value if isinstance(value, dict) else {}

    @property
    def effort(self) -> str | None:
        """The effort asked for, None if none is."""
        config = self.payload.get("output_config")
        value = config.get("effort") if isinstance(config, dict) else None
        return value if isinstance(value, str) else None

    def formats(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Each output format with its JSON Pointer and its place as Anthropic writes it."""
        config = self.payload.get("output_config")
        found = (
            ("/output_format", "output_format", self.payload.get("output_format")),
            ("/output_config/format", "output_config.format", config.get("format") if isinstance(config, dict) else 0),
        )
        yield from ((pointer, place, form) for pointer, place, form in found if isinstance(form, dict))

    @cached_property
    def tools(self) -> list[tuple[int, dict[str, Any]]]:
        """The client's own tools, with their places."""
        return [(i, tool) for i, tool in objects(self.payload.get("tools")) if tool.get("type") in (None, "custom")]

    @cached_property
    def turns(self) -> list[Turn]:
        """The conversation as the provider merges it; directives (system messages without content) stand nowhere."""
        turns: list[Turn] = []
        for i, message in self.messages:
            role = text_or(message.get("role"))
            if role == "system" and message.get("content") == []:
                continue
            if not turns or turns[-1].role != role:
                turns.append(Turn(role, i, []))
            turns[-1].blocks.extend(_blocks(i, message.get("content")))
        return turns

    @cached_property
    def blocks(self) -> list[Block]:
        """All content blocks of all messages."""
        return [block for turn in self.turns for block in turn.blocks]

    def since(self, version: str) -> bool:
        """Whether the request is known to be of this protocol version or a later one (versions are dates)."""
        return (self.circumstances.version or "") >= version


def _blocks(i: int, content: object) -> Iterator[Block]:
    if isinstance(content, str):
        if content:
            yield Block(f"/messages/{i}/content", i, 0, {"type": "text", "text": content})
        return
    for j, body in objects(content):
        yield Block(f"/messages/{i}/content/{j}", i, j, body)
