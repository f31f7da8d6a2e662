"""Checker of loop.events.no-arguments: run events carry identity and classification, nothing of what a tool was told or
said. Names and ids may be equal to an argument by chance, so fields that hold them are not compared."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from harness.checks.canonical import telling, telling_strings
from harness.checks.finding import KEPT, Failure, Look
from harness.checks.timeline import Attempt, Timeline
from harness.vocabulary.control import CONTROL_NAMES, ReasonCode
from harness.vocabulary.events import EventName
from harness.vocabulary.outcome import ErrorClass, Reason
from harness.vocabulary.turn import FaultKind, StopReason

IDENTITY = frozenset({"call_id", "tool", "waiting_for"})
FORBIDDEN = frozenset({"arguments", "args", "input", "result", "output", "content"})
_CLASSES = frozenset([*CONTROL_NAMES, *ReasonCode, *Reason, *ErrorClass, *FaultKind, *StopReason])
_SHORT = 40


@dataclass(frozen=True, slots=True)
class _Suspect:
    """A field whose text is neither identity nor a known classification."""

    attempt: Attempt
    event: str
    key: str
    text: str


def no_arguments(timeline: Timeline) -> Look:
    """loop.events.no-arguments. Texts of tools are gathered only where a field may hold one."""
    suspects: list[_Suspect] = []
    for attempt in timeline.attempts:
        broken = False
        for _, event in attempt.events:
            for problem in _problems(attempt, event.name, event.fields, suspects):
                broken = True
                yield Failure(f"event {event.name} carries identity and classification only", problem, attempt.n)
        if attempt.calls and attempt.events and not broken:
            yield KEPT
    if suspects:
        yield from _told(timeline, suspects)


def _problems(attempt: Attempt, name: str, fields: Mapping[str, Any], suspects: list[_Suspect]) -> Iterator[str]:
    for key, value in fields.items():
        if key in FORBIDDEN and value not in (None, "", 0, False):
            yield f"field {key}"
        elif isinstance(value, str):
            if telling(value) and key not in IDENTITY and value not in _CLASSES and name != EventName.RUN_STARTED:
                suspects.append(_Suspect(attempt, name, key, value))
        elif isinstance(value, Mapping):
            yield from _problems(attempt, name, value, suspects)


def _told(timeline: Timeline, suspects: list[_Suspect]) -> Iterator[Failure]:
    texts = {attempt.n: _texts(attempt) for attempt in timeline.attempts}
    secret = {text for here in texts.values() for text in here}
    for one in suspects:
        quoted = len(one.text) >= _SHORT and any(text in one.text for text in texts[one.attempt.n])
        if quoted or one.text in secret:
            wanted = f"event {one.event} carries identity and classification only"
            yield Failure(wanted, f"field {one.key} holds {one.text[:60]!r}", one.attempt.n)


def _texts(attempt: Attempt) -> list[str]:
    """What the events of this attempt may not tell."""
    texts: list[str] = []
    for call in attempt.calls:
        texts.extend(telling_strings(call.arguments))
        texts.extend([text for text in (call.arguments, call.text) if text is not None and telling(text)])
    return texts
