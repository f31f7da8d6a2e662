"""Checker of loop.events.no-arguments: run events carry identity and classification, nothing of what a tool was told or
said. Names and ids may be equal to an argument by chance, so fields that hold them are not compared."""

from collections.abc import Iterator, Mapping
from typing import Any

from harness.checks.canonical import telling, telling_strings
from harness.checks.finding import KEPT, Failure, Look
from harness.checks.timeline import Attempt, Timeline
from harness.checks.views import whole_text
from harness.vocabulary.events import EventName

IDENTITY = frozenset({"call_id", "tool", "waiting_for"})
FORBIDDEN = frozenset({"arguments", "args", "input", "result", "output", "content"})
_SHORT = 40


def no_arguments(timeline: Timeline) -> Look:
    """loop.events.no-arguments."""
    secret: set[str] = set()
    for attempt in timeline.attempts:
        here = _texts(attempt)
        secret.update(here)
        found = False
        for _, event in attempt.events:
            for problem in _problems(event.fields, event.name, secret, here):
                found = True
                yield Failure(f"event {event.name} carries identity and classification only", problem, attempt.n)
        if attempt.calls and attempt.events and not found:
            yield KEPT


def _texts(attempt: Attempt) -> list[str]:
    """What the events of this attempt may not tell."""
    texts: list[str] = []
    for call in attempt.calls:
        texts.extend(telling_strings(call.arguments))
        texts.extend([text for text in (call.arguments, whole_text(call)) if text is not None and telling(text)])
    return texts


def _problems(fields: Mapping[str, Any], name: str, secret: set[str], here: list[str]) -> Iterator[str]:
    for key, value in fields.items():
        if key in FORBIDDEN and value not in (None, "", 0, False):
            yield f"field {key}"
        elif key in IDENTITY or name == EventName.RUN_STARTED:
            continue
        elif isinstance(value, str):
            if value in secret or (len(value) >= _SHORT and any(text in value for text in here)):
                yield f"field {key} holds {value[:60]!r}"
        elif isinstance(value, Mapping) and value:
            yield f"field {key} holds an object"
