"""The identical-call breaker: counters over the whole run, evidence resets, and the two thresholds (loop.md section 3).

`threshold - 1` completed identical calls earn the model an answer turn, and so does one tool's outcome that comes back
without progress; a batch that would reach the threshold is stopped before any of it runs. Counters are rebuilt from
the ledger of calls, so they survive a crash with it. Which repetitions are covered by a tool's declared budgets, and
what counts as an outcome without progress, stands in `progress`.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from immutables import Map

from harness.loop.progress import Streak, Stuck, continued, is_covered, is_known, repeated, unused
from harness.vocabulary.settings import RunSettings
from harness.vocabulary.tools import CallRecord, OutcomeClass, ToolDeclaration

_NONE: Map[str, Any] = Map()


class Breaker(NamedTuple):
    """`counts` by signature; `evidence` the last good outcome hash of an observation; `streaks` the equal outcomes in
    a row of a signature; `stuck` the outcomes without progress of a tool; `due` the signatures, and `due_tools` the
    tools, whose counter stands at the synthesis level; `reset_withheld`: the cap kept back a reset."""

    counts: Map[str, int] = _NONE
    evidence: Map[str, str] = _NONE
    streaks: Map[str, Streak] = _NONE
    stuck: Map[str, Stuck] = _NONE
    due: Map[str, bool] = _NONE
    due_tools: Map[str, bool] = _NONE
    resets: int = 0
    reset_withheld: bool = False

    @property
    def synthesis_due(self) -> bool:
        """Whether a counter stands at or above one below the threshold."""
        return bool(self.due) or bool(self.due_tools)


def record(breaker: Breaker, call: CallRecord, tool: ToolDeclaration | None, settings: RunSettings) -> Breaker:
    """The breaker after one disposed call, in request order. `tool` None: no such tool was declared."""
    if not call.counted:
        return breaker
    if not is_known(call):
        return _counted(breaker, call.signature, 1, settings)
    observes = tool is not None and tool.observes
    fresh = observes and _is_new_evidence(breaker, call)
    if fresh and breaker.resets >= settings.evidence_reset_cap:
        breaker, fresh = breaker._replace(reset_withheld=True), False
    streak = continued(breaker.streaks.get(call.signature), call)
    if fresh:
        breaker = breaker._replace(counts=breaker.counts.set(call.signature, 0), resets=breaker.resets + 1)
    breaker = breaker._replace(
        evidence=_evidence(breaker, call, observes), streaks=breaker.streaks.set(call.signature, streak)
    )
    breaker = _counted(breaker, call.signature, not is_covered(tool, call.outcome, streak.length), settings)
    return _stuck(breaker, call, tool, settings)


def _counted(breaker: Breaker, signature: str, more: int, settings: RunSettings) -> Breaker:
    count = breaker.counts.get(signature, 0) + more
    return breaker._replace(
        counts=breaker.counts.set(signature, count),
        due=_due(breaker.due, signature, count >= settings.identical_call_threshold - 1),
    )


def _stuck(breaker: Breaker, call: CallRecord, tool: ToolDeclaration | None, settings: RunSettings) -> Breaker:
    before = breaker.stuck.get(call.tool)
    after = repeated(before, call, tool)
    if after is None:
        return breaker
    reached = after.most >= settings.identical_call_threshold - 1
    return breaker._replace(
        stuck=breaker.stuck.set(call.tool, after), due_tools=_due(breaker.due_tools, call.tool, reached)
    )


def _is_new_evidence(breaker: Breaker, call: CallRecord) -> bool:
    last = breaker.evidence.get(call.signature)
    return call.outcome is OutcomeClass.OK and last is not None and last != call.outcome_hash


def _evidence(breaker: Breaker, call: CallRecord, observes: bool) -> Map[str, str]:
    if not observes or call.outcome is not OutcomeClass.OK or call.outcome_hash is None:
        return breaker.evidence
    return breaker.evidence.set(call.signature, call.outcome_hash)


def _due(due: Map[str, bool], key: str, reached: bool) -> Map[str, bool]:
    if reached:
        return due.set(key, True)
    return due.delete(key) if key in due else due


def over_limit(
    breaker: Breaker, calls: Iterable[tuple[str, ToolDeclaration | None]], settings: RunSettings
) -> str | None:
    """The first signature that a proposed batch would bring to the threshold, or None. What is left of its tool's
    retry or poll budget is not counted against it."""
    proposed = tuple(calls)
    tools = dict(proposed)
    for signature, times in Counter(signature for signature, _ in proposed).items():
        free = unused(tools[signature], breaker.streaks.get(signature))
        if breaker.counts.get(signature, 0) + times - free >= settings.identical_call_threshold:
            return signature
    return None
