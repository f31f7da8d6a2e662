"""What the board of the pure loop is made of: the moves that were played, and what one checkpoint holds as text."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from harness.loop import persist
from harness.loop.events import Effect, WriteCheckpoint
from harness.loop.task import Task
from harness.vocabulary.capabilities import CAPABILITIES
from harness.vocabulary.trace import RunStarted

CANCELLED = "cancelled by the scenario"


class Move(NamedTuple):
    """One thing that was played: the model's reply, a tool's outcome, or what a person decided."""

    kind: str
    about: str
    what: Any


class Killed(BaseException):
    """The process died between two effects. Not an Exception: nothing may catch it by accident."""


@dataclass(frozen=True, slots=True)
class Stored:
    """One checkpoint as text, and how much of the play it holds."""

    head: str
    items: tuple[str, ...]
    records: tuple[str, ...]
    version: int
    played: int


def shape_of(effect: Effect) -> tuple[Any, ...]:
    """An effect as a value that can be compared; a state by what would be stored of it."""
    if isinstance(effect, WriteCheckpoint):
        return (effect.trigger, persist.dump_head(effect.state))
    return (type(effect).__name__, effect)


def run_started(task: Task) -> RunStarted:
    """The first record of a run that no scenario file began."""
    return RunStarted(
        scenario="found",
        transport="sim",
        streaming=True,
        subject="reference",
        capabilities=frozenset(CAPABILITIES),
        limits=task.limits,
        settings=task.settings,
        tools=task.tools,
        system=task.system,
        user=task.user,
    )
