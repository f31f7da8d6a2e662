"""Retry, progress or recursion, told from recorded calls alone: the loop's own counters, run over a history.

`classify` answers for whole tools; `Detector` takes one call at a time and also says where a streak began, where it
should have stopped, and what would have been saved. Both are pure, know no file and no clock, and hold memory for
distinct signatures only. Source: loop.progress.verdict. Without declarations every tool counts as an observation; the
cap on resets is the run's own bound, and no verdict on a call.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from harness.loop.breaker import Breaker, record
from harness.loop.progress import NO_PROGRESS, is_known
from harness.vocabulary.settings import RunSettings
from harness.vocabulary.tools import CallRecord, Effect, Repetition, ToolDeclaration, ToolDefinition

_NO_CAP = 2**62
_SCHEMA: dict[str, object] = {"type": "object"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Streak:
    """Calls of one tool that belong together: identical ones, or ones whose outcome came back without progress.

    `first`, `last` and `stop_at` are numbers of calls, from 1, as they were fed; `stop_at` is the last call that a
    right loop would have run (None: it need not have stopped). `saved_tokens` is what the calls after it cost.
    """

    tool: str
    verdict: Repetition
    first: int
    last: int
    calls: int
    stop_at: int | None = None
    saved_calls: int = 0
    saved_tokens: int = 0
    trace_id: str = ""
    why: str = ""


@dataclass(slots=True)
class _Line:
    """A streak while it grows."""

    first: int
    last: int = 0
    calls: int = 0
    failed: int = 0
    changed: int = 0
    stop_at: int | None = None
    saved_calls: int = 0
    saved_tokens: int = 0
    signatures: int = 0
    signature: str = ""
    outcome: str = ""

    def take(self, n: int, tokens: int, *, due: bool) -> None:
        """One more call."""
        self.last, self.calls = n, self.calls + 1
        if self.stop_at is not None:
            self.saved_calls, self.saved_tokens = self.saved_calls + 1, self.saved_tokens + tokens
        elif due:
            self.stop_at = n


@dataclass(slots=True)
class _Trace:
    """One run: its counters, its identical calls by signature, and its outcomes without progress by tool."""

    breaker: Breaker
    identical: dict[str, int | tuple[str, _Line]]
    stuck: dict[str, _Line]
    ended: list[tuple[str, _Line]]


class Detector:
    """Feed it calls in the order in which they were made."""

    def __init__(self, *, threshold: int = 5, declarations: Mapping[str, ToolDeclaration] | None = None) -> None:
        self._settings = RunSettings(identical_call_threshold=threshold, evidence_reset_cap=_NO_CAP)
        self._declared = dict(declarations or {})
        self._traces: dict[str, _Trace] = {}
        self.calls = 0

    def feed(self, call: CallRecord, tokens: int = 0) -> None:
        """One more call. `tokens` is what it cost, arguments and outcome."""
        self.calls += 1
        if not call.counted:
            return
        trace = self._traces.get(call.trace_id)
        if trace is None:
            trace = self._traces[call.trace_id] = _Trace(Breaker(), {}, {}, [])
        before = trace.breaker
        trace.breaker = after = record(before, call, self._tool(call.tool), self._settings)
        self._identical(trace, call, tokens, before, after)
        self._stuck(trace, call, tokens, after)

    def streaks(self) -> list[Streak]:
        """All streaks of two calls or more, in the order of their first calls."""
        found = [streak for name, trace in self._traces.items() for streak in _streaks(name, trace)]
        return sorted(found, key=lambda streak: (streak.first, streak.last, streak.tool))

    def _tool(self, name: str) -> ToolDeclaration:
        tool = self._declared.get(name)
        if tool is None:
            definition = ToolDefinition(name=name, description="", parameters=_SCHEMA)
            tool = self._declared[name] = ToolDeclaration(definition=definition, effect=Effect.READ_ONLY)
        return tool

    def _identical(self, trace: _Trace, call: CallRecord, tokens: int, before: Breaker, after: Breaker) -> None:
        failed = call.outcome in NO_PROGRESS
        begun = trace.identical.get(call.signature)
        if begun is None:
            # Most signatures come once: of those only the number is kept, negative for a failure.
            trace.identical[call.signature] = -self.calls if failed else self.calls
            if call.signature not in after.due:
                return
            begun = trace.identical[call.signature]
        if isinstance(begun, int):
            line = _Line(abs(begun), calls=abs(begun) < self.calls, failed=begun < 0)
            trace.identical[call.signature] = (call.tool, line)
        else:
            line = begun[1]
        line.failed += failed
        line.changed += after.resets > before.resets
        line.take(self.calls, tokens, due=call.signature in after.due)

    def _stuck(self, trace: _Trace, call: CallRecord, tokens: int, after: Breaker) -> None:
        if not is_known(call):
            return
        line = trace.stuck.get(call.tool)
        outcome = call.outcome_hash or ""
        if line is not None and line.outcome != outcome:
            trace.ended.append((call.tool, trace.stuck.pop(call.tool)))
            line = None
        if call.outcome not in NO_PROGRESS:
            return
        if line is None:
            line = trace.stuck[call.tool] = _Line(self.calls, outcome=outcome)
        line.signatures += call.signature != line.signature
        line.signature = call.signature
        line.take(self.calls, tokens, due=call.tool in after.due_tools)


def _streaks(trace_id: str, trace: _Trace) -> Iterator[Streak]:
    """The streaks of one run. Identical calls inside a streak of outcomes that came back are not told again."""
    outcomes = [(tool, line) for tool, line in (*trace.ended, *trace.stuck.items()) if line.calls > 1 < line.signatures]
    for tool, line in outcomes:
        verdict = Repetition.RETRY if line.stop_at is None else Repetition.RECURSION
        yield _streak(tool, verdict, line, trace_id, "one outcome without progress came back, whatever the arguments")
    for tool, line in (one for one in trace.identical.values() if not isinstance(one, int)):
        if line.calls > 1 and not any(_covers(other, line) for name, other in outcomes if name == tool):
            yield _streak(tool, _verdict(line), line, trace_id, _why(line))


def _covers(outer: _Line, inner: _Line) -> bool:
    return outer.stop_at is not None and outer.first <= inner.first and inner.last <= outer.last


def _verdict(line: _Line) -> Repetition:
    if line.stop_at is not None:
        return Repetition.RECURSION
    return Repetition.RETRY if line.failed and not line.changed else Repetition.PROGRESS


def _why(line: _Line) -> str:
    if line.stop_at is not None:
        return "identical calls, and nothing new came of them"
    if line.failed and not line.changed:
        return "identical calls after failures, within what may be tried again"
    return "identical calls whose outcome changed" if line.changed else "identical calls, fewer than would be a loop"


def _streak(tool: str, verdict: Repetition, line: _Line, trace_id: str, why: str) -> Streak:
    return Streak(
        tool=tool,
        verdict=verdict,
        first=line.first,
        last=line.last,
        calls=line.calls,
        stop_at=line.stop_at,
        saved_calls=line.saved_calls,
        saved_tokens=line.saved_tokens,
        trace_id=trace_id,
        why=why,
    )


def classify(
    history: Iterable[CallRecord], declarations: Mapping[str, ToolDeclaration] | None = None, *, threshold: int = 5
) -> dict[str, Repetition]:
    """The verdict on each tool whose calls repeat: recursion where any streak should have stopped, else retry where
    failures were tried again, else progress. A tool without repetition is not in it."""
    detector = Detector(threshold=threshold, declarations=declarations)
    for call in history:
        detector.feed(call)
    found: dict[str, Repetition] = {}
    for streak in detector.streaks():
        found[streak.tool] = max(found.get(streak.tool, streak.verdict), streak.verdict, key=_GRAVITY.index)
    return found


_GRAVITY = (Repetition.PROGRESS, Repetition.RETRY, Repetition.RECURSION)
