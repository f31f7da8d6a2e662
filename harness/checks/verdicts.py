"""Checker of loop.progress.verdict: what the run says of its repeated calls, against the judge's own reading of them.

Recursion where a counter surely stood at the threshold minus one, the cap on resets left out; else retry where failures
were tried again and nothing changed; else progress. Where the counters leave room, nothing is held against a subject.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from harness.checks.canonical import Signature
from harness.checks.counters import COUNTED, Repeats, evidence
from harness.checks.finding import KEPT, Failure, Look
from harness.checks.outcomes import Evidence
from harness.checks.timeline import Call, Fate, Timeline
from harness.vocabulary.events import EventName
from harness.vocabulary.tools import OutcomeClass, Repetition

_ENDS = frozenset({EventName.RUN_COMPLETED, EventName.RUN_FAILED, EventName.RUN_CANCELLED})
_NO_CAP = 2**31
_STUCK = (OutcomeClass.ERROR, OutcomeClass.EMPTY, OutcomeClass.NOOP)


@dataclass(slots=True)
class _Signature:
    """Calls of one signature."""

    tool: str
    calls: int = 0
    failed: bool = False
    changed: bool = False
    good: Evidence | None = None

    def take(self, call: Call) -> None:
        self.calls += 1
        outcome = call.ends[-1][1].outcome if call.ends and call.fate is Fate.EXECUTED else None
        self.failed = self.failed or outcome is None or outcome.outcome in _STUCK
        if outcome is None or outcome.outcome is not OutcomeClass.OK or call.declared is None:
            return
        seen = evidence(outcome, call.declared)
        self.changed = self.changed or (call.declared.observes and self.good is not None and self.good != seen)
        self.good = seen


@dataclass(slots=True)
class _Reading:
    """All repeated calls of a run."""

    signatures: dict[Signature, _Signature] = field(default_factory=dict)
    loops: set[str] = field(default_factory=set)
    unsure: set[str] = field(default_factory=set)
    failing: dict[str, set[Signature]] = field(default_factory=dict)

    def verdicts(self) -> Iterator[tuple[str, Repetition]]:
        """The tools of which something is sure, and their verdicts."""
        repeated = [one for one in self.signatures.values() if one.calls > 1]
        for tool in sorted({one.tool for one in repeated} | (self.loops & self.failing.keys())):
            if tool in self.loops:
                yield tool, Repetition.RECURSION
            elif tool not in self.unsure:
                tried = any(one.failed and not one.changed for one in repeated if one.tool == tool)
                yield tool, Repetition.RETRY if tried else Repetition.PROGRESS


def _read(timeline: Timeline) -> _Reading:
    repeats = Repeats(replace(timeline.settings, evidence_reset_cap=_NO_CAP), resets=True)
    reading = _Reading()
    for attempt in timeline.turns:
        repeats.take(attempt)
        for call in attempt.calls:
            if call.fate in COUNTED:
                one = reading.signatures.setdefault(call.signature, _Signature(call.name))
                one.take(call)
                if call.fate is Fate.UNCERTAIN:
                    # Nobody knows whether it failed: an identical call after it is a retry or none.
                    reading.unsure.add(call.name)
                if one.failed:
                    reading.failing.setdefault(call.name, set()).add(call.signature)
        hot = [reading.signatures[signature] for signature in repeats.hot()]
        reading.loops |= {one.tool for one in hot if one.calls > 1} | set(repeats.outcomes.tools())
        if repeats.due():
            reading.unsure |= {call.name for call in attempt.calls}
    reading.failing = {tool: signatures for tool, signatures in reading.failing.items() if len(signatures) > 1}
    reading.unsure |= reading.failing.keys()
    return reading


def verdict(timeline: Timeline) -> Look:
    """loop.progress.verdict: the run's last event says retry, progress or recursion of each tool whose calls repeat."""
    ends = [event for _, event in timeline.events if event.name in _ENDS]
    if not ends or not timeline.shows("repeated-call-synthesis"):
        return
    said = ends[-1].fields.get("verdicts") or {}
    for tool, wanted in _read(timeline).verdicts():
        found = said.get(tool)
        yield KEPT if found == wanted else Failure(f"repeated calls of {tool} are {wanted}", f"{found or 'nothing'}")
