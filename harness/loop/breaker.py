"""The identical-call breaker: counters over the whole run, evidence resets, and the two thresholds (loop.md section 3).

`threshold - 1` completed identical calls earn the model an answer turn, and so does one tool's outcome that comes back
without progress; a batch that would reach the threshold is stopped before any of it runs. Counters are rebuilt from
the ledger of calls, so they survive a crash with it. Which repetitions are covered by a tool's declared budgets, and
what counts as an outcome without progress, stands in `progress`.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from immutables import Map

from harness.loop.progress import Streak, Stuck, continued, is_covered, is_known, repeated, unused
from harness.vocabulary.settings import RunSettings
from harness.vocabulary.tools import CallRecord, OutcomeClass, ToolDeclaration

_NONE: Map[str, Any] = Map()


class Line(NamedTuple):
    """One signature: its counter, its streak of equal outcomes, and its last good outcome's hash, if it observes."""

    times: int = 0
    streak: Streak | None = None
    evidence: str | None = None


_FRESH = Line()


class Breaker(NamedTuple):
    """`lines` by signature; `stuck` the outcomes without progress of a tool; `due` the signatures, and `due_tools` the
    tools, whose counter stands at the synthesis level; `reset_withheld`: the cap kept back a reset."""

    lines: Map[str, Line] = _NONE
    stuck: Map[str, Stuck] = _NONE
    due: Map[str, bool] = _NONE
    due_tools: Map[str, bool] = _NONE
    resets: int = 0
    reset_withheld: bool = False

    @property
    def synthesis_due(self) -> bool:
        """Whether a counter stands at or above one below the threshold."""
        return bool(self.due) or bool(self.due_tools)

    def count(self, signature: str) -> int:
        """How often a signature has counted since its last reset."""
        return self.lines.get(signature, _FRESH).times


def record(breaker: Breaker, call: CallRecord, tool: ToolDeclaration | None, settings: RunSettings) -> Breaker:
    """The breaker after one disposed call, in request order. `tool` None: no such tool was declared."""
    if not call.counted:
        return breaker
    signature, level = call.signature, settings.identical_call_threshold - 1
    line = breaker.lines.get(signature, _FRESH)
    if not is_known(call):
        line = Line(line.times + 1, line.streak, line.evidence)
        lines, due = breaker.lines.set(signature, line), _due(breaker.due, signature, line.times >= level)
        return breaker._replace(lines=lines, due=due)
    good = call.outcome is OutcomeClass.OK and tool is not None and tool.observes
    fresh = good and line.evidence is not None and line.evidence != call.outcome_hash
    withheld = fresh and breaker.resets >= settings.evidence_reset_cap
    reset = fresh and not withheld
    streak = continued(line.streak, call)
    count = (0 if reset else line.times) + (not is_covered(tool, call.outcome, streak.length))
    stuck, due_tools = _stuck(breaker, call, tool, level)
    return Breaker(
        breaker.lines.set(signature, Line(count, streak, call.outcome_hash if good else line.evidence)),
        stuck,
        _due(breaker.due, signature, count >= level),
        due_tools,
        breaker.resets + reset,
        breaker.reset_withheld or withheld,
    )


def _stuck(
    breaker: Breaker, call: CallRecord, tool: ToolDeclaration | None, level: int
) -> tuple[Map[str, Stuck], Map[str, bool]]:
    after = repeated(breaker.stuck.get(call.tool), call, tool)
    if after is None:
        return breaker.stuck, breaker.due_tools
    return breaker.stuck.set(call.tool, after), _due(breaker.due_tools, call.tool, after.most >= level)


def _due(due: Map[str, bool], key: str, reached: bool) -> Map[str, bool]:
    if reached == (key in due):
        return due
    return due.set(key, True) if reached else due.delete(key)


def over_limit(
    breaker: Breaker, calls: Iterable[tuple[str, ToolDeclaration | None]], settings: RunSettings
) -> str | None:
    """The first signature that a proposed batch would bring to the threshold, or None. What is left of its tool's
    retry or poll budget is not counted against it."""
    proposed = tuple(calls)
    tools, batch = dict(proposed), [signature for signature, _ in proposed]
    for signature in tools:
        times = batch.count(signature)
        line = breaker.lines.get(signature, _FRESH)
        free = unused(tools[signature], line.streak)
        if line.times + times - free >= settings.identical_call_threshold:
            return signature
    return None
