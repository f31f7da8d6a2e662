"""Checker of wire.legal: what the judge of the wire found wrong with a request is a failure, as it stands."""

from harness.checks.finding import KEPT, Failure, Look
from harness.checks.timeline import Timeline


def legal(timeline: Timeline) -> Look:
    """wire.legal: every request is one that the provider accepts."""
    for attempt in timeline.attempts:
        for violation in attempt.sent.violations:
            mend = f": {violation.mend}" if violation.mend else ""
            yield Failure(
                f"a request that the provider accepts ({violation.rule}){mend}",
                f"HTTP {violation.status}: {violation.message}",
                attempt.n,
                violation.pointer,
            )
        if not attempt.sent.violations:
            yield KEPT
