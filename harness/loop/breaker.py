"""The identical-call breaker: counters over the whole run, evidence resets, and the two thresholds (loop.md section 3).

`threshold - 1` completed identical calls earn the model an answer turn; a batch that would reach the threshold is
stopped before any of it runs. Counters are rebuilt from the ledger of calls, so they survive a crash with it.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from immutables import Map

from harness.vocabulary.settings import RunSettings
from harness.vocabulary.tools import CallRecord, OutcomeClass

_NONE: Map[str, Any] = Map()


class Breaker(NamedTuple):
    """`counts` by signature; `evidence` the last good outcome hash of an observation; `due` the signatures
    whose counter stands at the synthesis level; `reset_withheld`: the cap kept back a reset."""

    counts: Map[str, int] = _NONE
    evidence: Map[str, str] = _NONE
    due: Map[str, bool] = _NONE
    resets: int = 0
    reset_withheld: bool = False

    @property
    def synthesis_due(self) -> bool:
        """Whether a counter stands at or above one below the threshold."""
        return bool(self.due)


def record(breaker: Breaker, call: CallRecord, observes: bool, settings: RunSettings) -> Breaker:
    """The breaker after one disposed call, in request order."""
    if not call.counted:
        return breaker
    fresh = observes and _is_new_evidence(breaker, call)
    if fresh and breaker.resets >= settings.evidence_reset_cap:
        breaker, fresh = breaker._replace(reset_withheld=True), False
    count = 1 if fresh else breaker.counts.get(call.signature, 0) + 1
    return breaker._replace(
        counts=breaker.counts.set(call.signature, count),
        evidence=_evidence(breaker, call, observes),
        due=_due(breaker.due, call.signature, count >= settings.identical_call_threshold - 1),
        resets=breaker.resets + fresh,
    )


def _is_new_evidence(breaker: Breaker, call: CallRecord) -> bool:
    last = breaker.evidence.get(call.signature)
    return call.outcome is OutcomeClass.OK and last is not None and last != call.outcome_hash


def _evidence(breaker: Breaker, call: CallRecord, observes: bool) -> Map[str, str]:
    if not observes or call.outcome is not OutcomeClass.OK or call.outcome_hash is None:
        return breaker.evidence
    return breaker.evidence.set(call.signature, call.outcome_hash)


def _due(due: Map[str, bool], signature: str, reached: bool) -> Map[str, bool]:
    if reached:
        return due.set(signature, True)
    return due.delete(signature) if signature in due else due


def over_limit(breaker: Breaker, signatures: Iterable[str], settings: RunSettings) -> str | None:
    """The first signature that a proposed batch would bring to the threshold, or None."""
    for signature, times in Counter(signatures).items():
        if breaker.counts.get(signature, 0) + times >= settings.identical_call_threshold:
            return signature
    return None
