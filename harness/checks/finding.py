"""What a checker says. A checker is a generator over a `Timeline`: once for each occasion of its rule it yields `KEPT`
or a `Failure`. `harness.checks.registry` makes verdicts of that; a checker knows no levels and no verdicts.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from harness.checks.timeline import Timeline


@dataclass(frozen=True, slots=True)
class Failure:
    """One breach: what the rule demands and what was seen, as short sentences for a person; the number of the model
    request that shows it; and a JSON Pointer (into the neutral request: `/items/4`, `/tool_choice`; into the payload
    for what the judge of the wire found)."""

    expected: str
    actual: str
    request: int | None = None
    pointer: str = ""


KEPT = None
"""One occasion on which the rule was kept."""
Look: TypeAlias = Iterator[Failure | None]


@dataclass(frozen=True, slots=True)
class Check:
    """The checker of one rule. `transports` None: the rule applies on every transport and at depth sim."""

    id: str
    look: Callable[[Timeline], Look]
    transports: frozenset[str] | None = None


def item(place: int) -> str:
    """Pointer to one item of a neutral request's history."""
    return f"/items/{place}"
