"""Retry, progress or recursion: telling repeated calls apart by what they gave (loop.md section 3, second part).

Three small things, all pure: which repetitions a tool's declared budgets cover, how often one tool gave one outcome
without progress whatever its arguments were, and what is left of a budget for calls that are only proposed.

An outcome without progress is an error, an empty or a noop one. Several of them from one tool in one step each advance
once; a good one clears the tool's counters. Where no outcome is known, nothing here applies: the strict count does.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from harness.vocabulary.tools import CallRecord, Effect, OutcomeClass, ToolDeclaration

NO_PROGRESS = frozenset({OutcomeClass.ERROR, OutcomeClass.EMPTY, OutcomeClass.NOOP})
_OBSERVED = frozenset({OutcomeClass.OK, OutcomeClass.EMPTY, OutcomeClass.NOOP})


class Streak(NamedTuple):
    """Equal outcomes in a row of one signature: their hash, whether they are errors, and how many."""

    outcome_hash: str
    failed: bool
    length: int


class Repeat(NamedTuple):
    """One outcome of one tool: `times` is the counter, `calls` the streak that budgets are read against, `advanced`
    whether the counter moved in the step in progress."""

    times: int = 0
    calls: int = 0
    advanced: bool = False


_NO_REPEATS: Mapping[str, Repeat] = MappingProxyType({})
_FIRST = Repeat()


class Stuck(NamedTuple):
    """Outcomes without progress of one tool, by hash: up to the step before, and in `step`."""

    step: int = 0
    before: Mapping[str, Repeat] = _NO_REPEATS
    now: Mapping[str, Repeat] = _NO_REPEATS
    cleared: bool = False

    @property
    def most(self) -> int:
        """The highest counter."""
        return max((repeat.times for repeat in self.now.values()), default=0)


def is_known(call: CallRecord) -> bool:
    """Whether the call's outcome was recorded (loop.progress.fail-closed)."""
    return call.outcome is not None and call.outcome is not OutcomeClass.UNCERTAIN and call.outcome_hash is not None


def continued(streak: Streak | None, call: CallRecord) -> Streak:
    """The streak of a signature after one more known outcome."""
    outcome_hash = call.outcome_hash or ""
    length = streak.length + 1 if streak is not None and streak.outcome_hash == outcome_hash else 1
    return Streak(outcome_hash, call.outcome is OutcomeClass.ERROR, length)


def is_covered(tool: ToolDeclaration | None, outcome: OutcomeClass | None, length: int) -> bool:
    """Whether a declared budget covers the `length`-th equal outcome in a row (loop.progress.retry-budget).

    A retry budget covers the first k equal errors, a poll budget the first k observations that did not change: the
    first of a streak is new, it is the second that is unchanged.
    """
    if tool is None:
        return False
    if outcome is OutcomeClass.ERROR:
        return length <= _retries(tool)
    return outcome in _OBSERVED and 1 < length <= _polls(tool) + 1


def unused(tool: ToolDeclaration | None, streak: Streak | None) -> int:
    """How many more calls of a signature the tool's budgets may cover."""
    if tool is None:
        return 0
    retries, polls = _retries(tool), _polls(tool)
    if streak is None:
        return max(retries, polls)
    if streak.failed:
        return max(retries - streak.length, polls, 0)
    return max(retries, polls + 1 - streak.length, 0)


def _retries(tool: ToolDeclaration) -> int:
    return 0 if tool.effect is Effect.NON_IDEMPOTENT else tool.retry_budget


def _polls(tool: ToolDeclaration) -> int:
    return tool.poll_budget if tool.observes else 0


def repeated(stuck: Stuck | None, call: CallRecord, tool: ToolDeclaration | None) -> Stuck | None:
    """A tool's outcomes without progress after one more known one (loop.progress.outcome-repetition)."""
    good = call.outcome not in NO_PROGRESS
    if stuck is None and good:
        return None
    if stuck is None or stuck.step != call.step:
        stuck = Stuck(call.step, stuck.now if stuck is not None else _NO_REPEATS)
    if good or stuck.cleared:
        return stuck._replace(before=_NO_REPEATS, now=_NO_REPEATS, cleared=True)
    key = call.outcome_hash or ""
    last = stuck.now.get(key) or stuck.before.get(key, _FIRST)._replace(advanced=False)
    calls = last.calls + 1
    advances = not last.advanced and not is_covered(tool, call.outcome, calls)
    repeat = Repeat(last.times + advances, calls, last.advanced or advances)
    return stuck._replace(now={**stuck.now, key: repeat})
