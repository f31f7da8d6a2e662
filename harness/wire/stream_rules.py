"""A rule of a stream's life as one row of data, and the reading of a stream by tables of state and event.

A wire's lifecycle is a table: a row for each state, a cell for each kind of event, holding the state that follows or
the rule that is broken there and the state to go on in. What no table can say (counts, ids, texts that must agree) is
said beside it in the wire's own module. This module knows no wire. A lifecycle never raises for what a stream holds.

Where recorded traffic contradicts a document the recording wins: the row then says so, with the date. A `native` row
holds at the provider's own host; servers that only speak its protocol are known to break it.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from harness.wire.reading import kind_of
from harness.wire.sse import Framed, Sent

T = TypeVar("T", str, int, dict[str, Any], list[Any])
_WORDS: Final[Mapping[type, str]] = {str: "a string", int: "an integer", dict: "an object", list: "an array"}
DONE = "[DONE]"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamRule:
    """One rule of a stream. `id` is `wire.<transport>.stream-<slug>`."""

    id: str
    statement: str
    source: str
    native: bool = False
    recorded: str | None = None
    """Recorded traffic that narrows or overrules what is documented, with its date."""

    @property
    def transport(self) -> str:
        """The wire that the rule is a rule of."""
        return self.id.split(".")[1]

    @property
    def slug(self) -> str:
        """The rule's name within its wire."""
        return self.id.partition(".stream-")[2]


@dataclass(frozen=True, slots=True)
class Finding:
    """One breach. `event` counts the stream's dispatched events from 1; where something is missing at the end it is
    one more than there are. `pointer` is a JSON Pointer into that event's data, "" for the event as a whole."""

    rule: str
    event: int
    pointer: str
    message: str


class Breach(NamedTuple):
    """A cell of a table that breaks a rule (its slug), and the state to go on in."""

    rule: str
    then: str


Table: TypeAlias = Mapping[str, Mapping[str, str | Breach]]
"""State -> kind of event -> next state. Each row has a cell for each kind; other kinds are unknown and passed over."""


class Row(NamedTuple):
    """A rule as a wire's module writes it: `StreamRule` without what all rows of a wire share."""

    slug: str
    statement: str
    source: str
    native: bool = False
    recorded: str | None = None


FRAMING: tuple[Row, ...] = (
    Row("encoding", "A stream is UTF-8.", "WHATWG HTML, 9.2.5"),
    Row("whole-events", "The body ends after an empty line: no event is left half sent.", "WHATWG HTML, 9.2.6"),
    Row("json", "The data of each event is one JSON object.", "API reference, streaming"),
    Row("shape", "The members that a reader must know have their documented types.", "API reference, streaming"),
)
"""The rules that all wires share."""


def rows(transport: str, table: Iterable[Row]) -> tuple[StreamRule, ...]:
    """The rules of a wire: those that all wires share, then its own."""
    return tuple(
        StreamRule(
            id=f"wire.{transport}.stream-{row.slug}",
            statement=row.statement,
            source=row.source,
            native=row.native,
            recorded=row.recorded,
        )
        for row in (*FRAMING, *table)
    )


class Lifecycle:
    """One stream while it is judged. Subclasses say what an event and the end mean."""

    def __init__(self, rules: Sequence[StreamRule], *, native: bool) -> None:
        self.findings: list[Finding] = []
        self.number = 0
        self._rules = {rule.slug: rule for rule in rules}
        self._native = native

    def take(self, sent: Sent) -> None:
        """The next event."""
        self.number += 1
        if sent.data.strip() == DONE:
            self.done_mark()
            return
        try:
            body = json.loads(sent.data)
        except (ValueError, RecursionError) as error:
            self.breach("json", "", f"the data is not JSON: {error}")
            return
        if isinstance(body, dict):
            self.event(sent.name, body)
        else:
            self.breach("json", "", f"expected an object, but got {kind_of(body)} instead")

    def close(self, framing: Framed) -> None:
        """The body ended."""
        self.number += 1
        if framing.undecodable is not None:
            self.breach("encoding", "", f"the byte at {framing.undecodable} is no UTF-8")
        if framing.unfinished:
            self.breach("whole-events", "", "the body ends inside an event")
        self.end()

    def event(self, name: str, body: dict[str, Any]) -> None:
        """One event with a JSON object."""
        raise NotImplementedError

    def done_mark(self) -> None:
        """The mark `[DONE]`."""
        raise NotImplementedError

    def end(self) -> None:
        """Nothing follows."""
        raise NotImplementedError

    def breach(self, slug: str, pointer: str, message: str) -> None:
        """Note a breach, if its rule holds for this stream."""
        rule = self._rules[slug]
        if self._native or not rule.native:
            self.findings.append(Finding(rule.id, self.number, pointer, message))

    def hold(self, held: bool, slug: str, pointer: str, message: str) -> None:
        """Note a breach unless the rule is held."""
        if not held:
            self.breach(slug, pointer, message)

    def step(self, table: Table, state: str, kind: str, pointer: str = "") -> str:
        """The state after an event of this kind; a kind that the table does not know changes nothing."""
        cell = table[state].get(kind, state)
        if isinstance(cell, str):
            return cell
        self.breach(cell.rule, pointer, f"{kind} came in state {state!r}")
        return cell.then

    def member(self, body: Mapping[str, Any], key: str, kind: type[T], pointer: str = "") -> T:
        """A member that must have this type; where it has not, a breach, and an empty value (-1 for an integer)."""
        value = body.get(key)
        if isinstance(value, kind) and not isinstance(value, bool):
            return value
        self.breach("shape", f"{pointer}/{key}", f"expected {_WORDS[kind]}, but got {_said(body, key)} instead")
        return kind(-1) if kind is int else kind()


def _said(body: Mapping[str, Any], key: str) -> str:
    return kind_of(body[key]) if key in body else "nothing"


def object_or(value: Any) -> dict[str, Any]:
    """Tolerant: an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def counts(usage: Mapping[str, Any], *keys: str) -> list[int]:
    """The token counts that are there; those that are no numbers are left out."""
    return [usage[key] for key in keys if isinstance(usage.get(key), int)]
