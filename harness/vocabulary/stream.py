"""Neutral stream events and their contract.

The contract of one stream: `sequence` counts 0, 1, 2 … without a gap; exactly one terminal event (`TurnEnded` or
`StreamFailed`), the last; the deltas of one `item` (its place in the turn) come in order, and joined they equal that
part of the final turn. Items may interleave. A non-streaming answer is the one terminal event, sequence 0.
"""

from dataclasses import dataclass
from typing import TypeAlias

from harness.vocabulary.turn import ModelFault, ModelTurn


@dataclass(frozen=True, slots=True)
class TextDelta:
    """Visible text of part `item`."""

    sequence: int
    item: int
    text: str


@dataclass(frozen=True, slots=True)
class RefusalDelta:
    """Visible refusal text of part `item`."""

    sequence: int
    item: int
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """Readable reasoning of part `item`; never visible output."""

    sequence: int
    item: int
    text: str


@dataclass(frozen=True, slots=True)
class CallStarted:
    """A tool call begins at part `item`. `call_id` may be empty where the wire sends none."""

    sequence: int
    item: int
    call_id: str
    name: str


@dataclass(frozen=True, slots=True)
class ArgumentsDelta:
    """Raw argument text of the call at part `item`."""

    sequence: int
    item: int
    text: str


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """Terminal: the whole turn."""

    sequence: int
    turn: ModelTurn


@dataclass(frozen=True, slots=True)
class StreamFailed:
    """Terminal: the attempt failed."""

    sequence: int
    fault: ModelFault


StreamEvent: TypeAlias = (
    TextDelta | RefusalDelta | ReasoningDelta | CallStarted | ArgumentsDelta | TurnEnded | StreamFailed
)
