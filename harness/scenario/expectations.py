"""The `expect` block of a scenario -> findings: one for each thing that is expected, pass or fail, `scenario.expect`.

A key that needs a capability which the subject does not declare is not applicable.
"""

from collections.abc import Collection, Iterator

from harness.scenario.expect_conversation import conversation
from harness.scenario.expect_requests import requests
from harness.scenario.expect_run import RUN_KEYS, Judged
from harness.scenario.seen import Seen
from harness.vocabulary.verdict import Finding, VerdictName

CHECK = "scenario.expect"
_SOURCE = "the scenario's own expectation"
_OTHERS = {"requests": requests, "conversation": conversation}
_NAMED = 4
"""Proven rules that one finding names."""


def expectations(seen: Seen, capabilities: Collection[str]) -> list[Finding]:
    """The findings of one run."""
    expect = seen.scenario.expect
    found: list[Finding] = []
    for key in type(expect).model_fields:
        if key not in expect.model_fields_set:
            continue
        judge, needs = (_OTHERS[key], None) if key in _OTHERS else RUN_KEYS[key]
        if needs is not None and needs not in capabilities:
            found.append(_not_applicable(key, needs))
        else:
            found += _findings(judge(expect, seen), seen)
    return found


def _findings(judged: Iterator[Judged], seen: Seen) -> Iterator[Finding]:
    proves = seen.scenario.proves
    rules = ", ".join(proves[:_NAMED]) + (" …" if len(proves) > _NAMED else "")
    for one in judged:
        yield Finding(
            check=CHECK,
            verdict=VerdictName.PASS if one.kept else VerdictName.FAIL,
            source=_SOURCE,
            expected=f"{one.key}: {one.expected} (proves {rules})",
            actual=one.actual,
            request=one.request,
        )


def _not_applicable(key: str, capability: str) -> Finding:
    actual = f"the subject does not declare {capability}"
    return Finding(check=CHECK, verdict=VerdictName.NOT_APPLICABLE, source=_SOURCE, expected=key, actual=actual)
