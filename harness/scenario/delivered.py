"""The calls that the model side has given to the subject, in order, and the names they go by.

A scenario names a call by its id or by its number in the run (`call_3`). What the subject's records call it may be
another id: on the XML fallback ids are made by the adapter, in the order of the conversation (documented format).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.scenario.known_calls import PREFIX
from harness.vocabulary.content import AssistantMessage, Item, ToolCall

XML = "xml-fallback"


@dataclass(frozen=True, slots=True)
class Given:
    """One call: its id in the script and its tool."""

    call_id: str
    tool: str


class Delivered:
    """Calls of whole turns; those of a turn that was broken off are not given."""

    def __init__(self, transport: str, history: Sequence[Item]) -> None:
        earlier = [call for item in history if isinstance(item, AssistantMessage) for call in item.calls]
        self._earlier = len(earlier)
        self._xml = transport == XML
        self.calls: list[Given] = []

    def add(self, calls: Sequence[ToolCall]) -> None:
        """The calls of a turn that reached the subject."""
        self.calls += [Given(call.call_id, call.name) for call in calls]

    def forget(self, length: int) -> None:
        """Keep only the first `length` calls: the others were lost with the process that had them."""
        del self.calls[length:]

    def fits(self, seen: str, tool: str | None, wanted: str) -> bool:
        """Whether the call that the subject calls `seen` is the one that the scenario calls `wanted`."""
        place = self._place(seen)
        if tool is None and place is not None:
            tool = self.calls[place].tool
        return wanted == tool or (place is not None and wanted in self._names(place))

    def place(self, wanted: str) -> int | None:
        """The place of the call that the scenario calls `wanted`, from 0; None if it was not given."""
        return next((place for place in range(len(self.calls)) if wanted in self._names(place)), None)

    def places_of(self, tool: str) -> list[int]:
        """The places of a tool's calls."""
        return [place for place, call in enumerate(self.calls) if call.tool == tool]

    def _place(self, seen: str) -> int | None:
        for place, call in enumerate(self.calls):
            if seen == (f"x{self._earlier + place + 1}" if self._xml else call.call_id):
                return place
        return None

    def _names(self, place: int) -> tuple[str, str]:
        return f"{PREFIX}{place + 1}", self.calls[place].call_id
