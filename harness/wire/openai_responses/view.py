"""A Responses request as its rules look at it. Tolerant: what has a wrong shape is passed over here."""

from functools import cached_property
from typing import Any, NamedTuple

from harness.vocabulary.content import JsonObject
from harness.wire.codec import UNKNOWN, Circumstances
from harness.wire.reading import objects, text_or

CLIENT_SIDE = ("mcp_approval_response", "additional_tools", "configuration_update")


class Call(NamedTuple):
    """An item that carries a call id: its place in `input`, the id, its type."""

    place: int
    call_id: str
    kind: str


class View:
    """One payload."""

    def __init__(self, payload: JsonObject, circumstances: Circumstances = UNKNOWN) -> None:
        self.payload = payload
        self.circumstances = circumstances
        self.model = text_or(payload.get("model"))
        self.items = list(objects(payload.get("input")))

    @property
    def effort(self) -> str | None:
        """The reasoning effort asked for, None if none is."""
        reasoning = self.payload.get("reasoning")
        value = reasoning.get("effort") if isinstance(reasoning, dict) else None
        return value if isinstance(value, str) else None

    @cached_property
    def functions(self) -> list[tuple[int, dict[str, Any]]]:
        """The function tools, with their places in `tools`."""
        return [(i, tool) for i, tool in objects(self.payload.get("tools")) if tool.get("type") == "function"]

    @property
    def stateful(self) -> bool:
        """Whether part of the conversation is kept by the provider and not seen here."""
        kept = ("previous_response_id", "conversation", "prompt")
        referred = any(item.get("type") == "item_reference" for _, item in self.items)
        return referred or any(self.payload.get(key) is not None for key in kept)

    @cached_property
    def calls(self) -> list[Call]:
        """Everything that a client answers by call id (function, custom, tool-search … calls)."""
        return [call for call in self._ids if not call.kind.endswith("_output")]

    @cached_property
    def outputs(self) -> list[Call]:
        """Everything that answers by call id."""
        return [call for call in self._ids if call.kind.endswith("_output")]

    @cached_property
    def _ids(self) -> list[Call]:
        kinds = ((i, item.get("call_id"), text_or(item.get("type"))) for i, item in self.items)
        return [Call(i, call_id, kind) for i, call_id, kind in kinds if isinstance(call_id, str)]

    def parts(self, role: str) -> list[tuple[int, int, dict[str, Any]]]:
        """The content parts of all messages of a role."""
        messages = ((i, item) for i, item in self.items if item.get("role") == role)
        return [(i, j, part) for i, item in messages for j, part in objects(item.get("content"))]

    def files(self) -> list[tuple[str, str]]:
        """Each inline file: its place as OpenAI writes it, and its data."""
        found = []
        for i, item in self.items:
            for key in ("content", "output"):
                for j, part in objects(item.get(key)):
                    if part.get("type") == "input_file" and isinstance(part.get("file_data"), str):
                        found.append((f"input[{i}].{key}[{j}].file_data", part["file_data"]))
        return found


def is_assistant_side(item: dict[str, Any]) -> bool:
    """Whether the model (or a server tool) made the item."""
    kind = item.get("type", "message")
    if kind == "message":
        return item.get("role") == "assistant"
    return isinstance(kind, str) and kind not in CLIENT_SIDE and not kind.endswith("_output")
