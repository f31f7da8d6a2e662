"""Identical-call counters, from the rule (design: loop.md section 3), for the judge's use.

A counter is a span: where the rule leaves room (is an unchanged outcome behind an error new evidence? which call of a
poll budget is the first free one?), both readings are kept. The counter of loop.progress.outcome-repetition stands in
`outcomes`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.checks.canonical import Signature, Undecodable, canonical, without
from harness.checks.outcomes import Evidence, OutcomeRepeats, free
from harness.checks.standing import Span, Sure
from harness.checks.timeline import Attempt, Call, Fate
from harness.vocabulary.content import Text
from harness.vocabulary.settings import RunSettings
from harness.vocabulary.tools import Effect, OutcomeClass, ToolDeclaration, ToolOutcome

COUNTED = frozenset({Fate.EXECUTED, Fate.UNCERTAIN, Fate.TRUNCATED, Fate.INVALID, Fate.UNKNOWN})
"""Fates of a completed call (loop.breaker.counts)."""


def evidence(outcome: ToolOutcome, declared: ToolDeclaration | None) -> Evidence:
    """What tells one outcome from another: its class and content; of a structured one its data without volatile parts
    in place of the text that shows it."""
    if outcome.data is None:
        return outcome.outcome, outcome.content
    paths = declared.volatile_outcome if declared is not None else ()
    others = tuple([part for part in outcome.content if not isinstance(part, Text)])
    try:
        return outcome.outcome, others, canonical(without(outcome.data, paths))
    except (Undecodable, RecursionError):
        return outcome.outcome, others, repr(outcome.data)


@dataclass(slots=True)
class Tally:
    """One signature: its counter between two bounds, its last outcomes, the streak of equal ones, and the lives in
    which it was counted."""

    low: int = 0
    high: int = 0
    last: Evidence | None = None
    last_good: Evidence | None = None
    streak: int = 0
    first_life: int = 0


class Repeats:
    """Counters of a whole run."""

    def __init__(self, settings: RunSettings, *, resets: bool) -> None:
        self._threshold = settings.identical_call_threshold
        self._resets_declared = resets
        self._cap = settings.evidence_reset_cap if resets else 0
        self._tallies: dict[Signature, Tally] = {}
        self.outcomes = OutcomeRepeats(settings.identical_call_threshold)
        self._hot: dict[Signature, None] = {}
        self._warm: set[object] = set()
        self.resets = Span(0, 0)
        self.denied_resets = 0
        self.covered = 0
        self.unrecorded = 0

    def due(self) -> Sure:
        """Whether the next request answers from what there is, by these counters."""
        if self._hot:
            return Sure.YES
        return Sure.MAYBE if self._warm or self.outcomes.due() else Sure.NO

    def hot(self) -> tuple[Signature, ...]:
        """The signatures that surely stand at the threshold minus one or above."""
        return tuple(self._hot)

    def began(self, signature: Signature) -> int:
        """The life in which a signature was first counted (0: never)."""
        tally = self._tallies.get(signature)
        return tally.first_life if tally is not None else 0

    def over(self, calls: Sequence[Call]) -> Sure:
        """Whether a proposed batch would bring a counter to the threshold. All calls count, before fitting."""
        answer = Sure.NO
        for call in calls:
            tally = self._tallies.get(call.signature, _FRESH)
            times = sum([other.signature == call.signature for other in calls]) if len(calls) > 1 else 1
            if tally.high + times < self._threshold:
                continue
            retries, polls = _unused(tally, call.declared)
            if tally.low + times - retries - polls >= self._threshold:
                return Sure.YES
            if tally.high + times - max(retries, polls) >= self._threshold:
                answer = Sure.MAYBE
        return answer

    def take(self, attempt: Attempt) -> None:
        """Count the completed calls of a settled turn."""
        mixed = _out_of_order(attempt) if len(attempt.calls) > 1 else False
        for call in attempt.calls:
            if call.fate not in COUNTED:
                continue
            outcome = call.ends[-1][1].outcome if call.ends and call.fate is Fate.EXECUTED else None
            self.unrecorded += call.fate is Fate.UNCERTAIN or (call.fate is Fate.EXECUTED and outcome is None)
            self._count(call, outcome, attempt.life, mixed)
            if outcome is not None and outcome.outcome is not OutcomeClass.UNCERTAIN:
                self.outcomes.add(call.name, call.declared, evidence(outcome, call.declared))
        self.outcomes.close()

    def _count(self, call: Call, outcome: ToolOutcome | None, life: int, mixed: bool) -> None:
        tally = self._tallies.setdefault(call.signature, Tally(first_life=life))
        if outcome is None or call.declared is None or outcome.outcome is OutcomeClass.UNCERTAIN:
            tally.low, tally.high = tally.low + 1, tally.high + 1
        else:
            self._observe(tally, call.declared, outcome, mixed)
        self._mark(self._hot, call.signature, tally.low)
        if tally.high >= self._threshold - 1:
            self._warm.add(call.signature)
        else:
            self._warm.discard(call.signature)

    def _observe(self, tally: Tally, declared: ToolDeclaration, outcome: ToolOutcome, mixed: bool) -> None:
        seen = evidence(outcome, declared)
        changed = self._changed(tally, declared, outcome, seen)
        if changed and mixed:
            changed = Sure.MAYBE
        tally.streak = tally.streak + 1 if tally.last == seen else 1
        changed = self._capped(changed)
        covered = free(tally.streak, declared, outcome.outcome)
        self.covered += covered is Sure.YES
        if changed is Sure.YES:
            tally.low = tally.high = 1
        elif changed is Sure.MAYBE:
            tally.low, tally.high = min(tally.low + 1, 1), tally.high + 1
        else:
            tally.low, tally.high = tally.low + (covered is Sure.NO), tally.high + (covered is not Sure.YES)
        tally.last = seen
        if outcome.outcome is OutcomeClass.OK:
            tally.last_good = seen

    def _changed(self, tally: Tally, declared: ToolDeclaration, outcome: ToolOutcome, seen: Evidence) -> Sure:
        if not declared.observes or outcome.outcome is not OutcomeClass.OK or tally.last is None:
            return Sure.NO
        since_any = tally.last != seen
        since_good = tally.last_good is not None and tally.last_good != seen
        return Sure.YES if since_any and since_good else Sure.MAYBE if since_any or since_good else Sure.NO

    def _capped(self, changed: Sure) -> Sure:
        low, high = self.resets.low, self.resets.high
        if changed is Sure.NO:
            return changed
        if low >= self._cap:
            self.denied_resets += self._resets_declared and changed is Sure.YES
            return Sure.NO
        if high >= self._cap:
            changed = Sure.MAYBE
        self.resets = Span(low + (changed is Sure.YES), min(high + 1, self._cap))
        return changed

    def _mark(self, marks: dict[Signature, None], signature: Signature, count: int) -> None:
        if count >= self._threshold - 1:
            marks[signature] = None
        else:
            marks.pop(signature, None)


_FRESH = Tally()


def _unused(tally: Tally, declared: ToolDeclaration | None) -> tuple[int, int]:
    """What is left of the retry and of the poll budget of a call."""
    if declared is None or not (declared.retry_budget or declared.poll_budget):
        return 0, 0
    retries = declared.retry_budget if declared.effect is not Effect.NON_IDEMPOTENT else 0
    polls = declared.poll_budget if declared.observes else 0
    failed = tally.last is not None and tally.last[0] is OutcomeClass.ERROR
    return (
        max(0, retries - tally.streak) if failed else retries,
        polls if failed or not tally.streak else max(0, polls + 1 - tally.streak),
    )


def _out_of_order(attempt: Attempt) -> bool:
    """Whether calls of a batch ended in another order than they were proposed in."""
    order = [call.ends[-1][0] for call in attempt.calls if call.ends]
    return order != sorted(order)
