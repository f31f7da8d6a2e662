"""Expectations of the run as a whole: one judge a key of the `expect` block (scenarios.md, the closed key list)."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from harness.scenario.answers import within
from harness.scenario.format_expect import Expect, Range, ResultExpect, TextExpect
from harness.scenario.seen import Seen


@dataclass(frozen=True, slots=True)
class Judged:
    """One expectation and what was seen, as words for a person. `request` is the model request that shows it."""

    kept: bool
    key: str
    expected: str
    actual: str
    request: int | None = None


Look: TypeAlias = Iterator[Judged]


def same(key: str, expected: Any, actual: Any) -> Look:
    """One value."""
    yield Judged(expected == actual, key, shown(expected), shown(actual))


def shown(value: Any) -> str:
    """A value in a sentence, at most 200 characters."""
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 200 else f"{text[:197]}..."


def _field(name: str) -> Callable[[Expect, Seen], Look]:
    return lambda expect, seen: same(name, getattr(expect, name), getattr(seen.outcome, name))


def _counter(name: str) -> Callable[[Expect, Seen], Look]:
    return lambda expect, seen: same(name, getattr(expect, name), getattr(seen.outcome.counters, name))


def _outcome(expect: Expect, seen: Seen) -> Look:
    outcome = seen.outcome
    why = f" ({outcome.reason}, {outcome.error_class})" if outcome.reason else ""
    yield Judged(outcome.status == expect.outcome, "outcome", shown(expect.outcome), f"{outcome.status}{why}")


def _details(expect: Expect, seen: Seen) -> Look:
    details = dict(seen.outcome.details)
    yield Judged(within(expect.details, details), "details", f"at least {shown(expect.details)}", shown(details))


def texts(key: str, expected: TextExpect, text: str, request: int | None = None) -> Look:
    """What a text must be, and must hold or not hold."""
    if expected.equals is not None:
        yield Judged(text == expected.equals, f"{key}.equals", shown(expected.equals), shown(text), request)
    for part in expected.contains:
        yield Judged(part in text, f"{key}.contains", f"a text with {part!r}", shown(text), request)
    for part in expected.not_contains:
        yield Judged(part not in text, f"{key}.not_contains", f"a text without {part!r}", shown(text), request)


def _final_text(expect: Expect, seen: Seen) -> Look:
    assert expect.final_text is not None
    if seen.outcome.message is None:
        yield Judged(False, "final_text", "a final text", "the run ended without one")
        return
    yield from texts("final_text", expect.final_text, seen.outcome.message)


def _by_tool(key: str, expected: Mapping[str, int], counted: Mapping[str, int]) -> Look:
    for tool, times in expected.items():
        yield Judged(counted.get(tool, 0) == times, f"{key}.{tool}", f"{times} times", f"{counted.get(tool, 0)} times")


def _executed(expect: Expect, seen: Seen) -> Look:
    yield from _by_tool("executed", expect.executed or {}, seen.executed)


def _effects(expect: Expect, seen: Seen) -> Look:
    yield from _by_tool("effects", expect.effects or {}, seen.outcome.effects)


def _attempts(expect: Expect, seen: Seen) -> Look:
    yield from same("attempts", expect.attempts, len(seen.requests))


def _results(expect: Expect, seen: Seen) -> Look:
    for wanted in expect.results:
        yield from _result(wanted, seen)


def _result(wanted: ResultExpect, seen: Seen) -> Look:
    nth = wanted.nth or 1
    name = wanted.call or f"{wanted.tool} {nth}"
    call = seen.call_named(wanted.call) if wanted.call else seen.call_of_tool(wanted.tool or "", nth)
    result = seen.results.get(call.call_id) if call is not None else None
    if result is None:
        missing = "the conversation holds no such call" if call is None else "the call has no result"
        yield Judged(False, f"results.{name}", "a result", missing)
        return
    if wanted.is_error is not None:
        yield from same(f"results.{name}.is_error", wanted.is_error, result.is_error)
    if wanted.reason_code is not None:
        yield from same(f"results.{name}.reason_code", wanted.reason_code, str(result.reason_code))


def subsequence(key: str, expected: Sequence[str], actual: Sequence[str]) -> Look:
    """Names in their order; others may stand between."""
    rest = iter(actual)
    missing = next((name for name in expected if name not in rest), None)
    told = "all of them, in order" if missing is None else f"{missing!r} does not follow; seen: {', '.join(actual)}"
    yield Judged(missing is None, key, ", then ".join(expected), shown(told))


def _events(expect: Expect, seen: Seen) -> Look:
    yield from subsequence("events", expect.events, seen.events)


def _checkpoints(expect: Expect, seen: Seen) -> Look:
    yield from subsequence("checkpoints", expect.checkpoints, seen.checkpoints)


def _waits(expect: Expect, seen: Seen) -> Look:
    wanted = expect.waits or []
    fits = len(wanted) == len(seen.waits)
    fits = fits and all(_waited(one, seconds) for one, seconds in zip(wanted, seen.waits, strict=True))
    words = [one if isinstance(one, float) else f"{one.at_least} to {one.at_most}" for one in wanted]
    yield Judged(fits, "waits", f"{words} seconds", f"{list(seen.waits)} seconds")


def _waited(wanted: float | Range, seconds: float) -> bool:
    if isinstance(wanted, Range):
        return wanted.at_least <= seconds <= wanted.at_most
    return math.isclose(wanted, seconds, abs_tol=1e-6)


def _usage(expect: Expect, seen: Seen) -> Look:
    assert expect.usage is not None
    for name in sorted(expect.usage.model_fields_set):
        counters, usage = seen.outcome.counters, seen.outcome.usage
        actual = counters.cost if name == "cost" else getattr(usage, f"{name}_tokens")
        yield from same(f"usage.{name}", getattr(expect.usage, name), actual)


def _verdicts(expect: Expect, seen: Seen) -> Look:
    for tool, wanted in (expect.verdicts or {}).items():
        yield from same(f"verdicts.{tool}", wanted, seen.verdicts.get(tool))


RUN_KEYS: Mapping[str, tuple[Callable[[Expect, Seen], Look], str | None]] = {
    "outcome": (_outcome, None),
    "reason": (_field("reason"), None),
    "error_class": (_field("error_class"), None),
    "details": (_details, None),
    "final_text": (_final_text, None),
    "truncated": (_field("truncated"), None),
    "refused": (_field("refused"), None),
    "executed": (_executed, None),
    "effects": (_effects, "usage"),
    "model_calls": (_counter("model_calls"), "usage"),
    "attempts": (_attempts, None),
    "steps": (_counter("steps"), "usage"),
    "tool_calls": (_counter("tool_calls"), "usage"),
    "refused_calls": (_counter("refused_calls"), "usage"),
    "resets": (_counter("resets"), "usage"),
    "results": (_results, None),
    "events": (_events, "events"),
    "verdicts": (_verdicts, "events"),
    "checkpoints": (_checkpoints, "checkpoints"),
    "waits": (_waits, "waits"),
    "usage": (_usage, "usage"),
}
"""The judge of each key, and the capability without which it says nothing."""
