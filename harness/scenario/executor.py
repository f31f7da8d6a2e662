"""Scripted tools: they answer calls in the order of their answers, let the clock pass, and record each run.

A tool port for any subject (`harness.loop.ports.SyncToolPort`). A run that the script has no answer for is a
`ScriptFault`: the subject ran more than a right one would, or the author gave too few answers.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from harness.scenario.answers import ScriptedToolError, fits, outcome_of
from harness.scenario.clock import SimulatedClock
from harness.scenario.format import Scenario
from harness.scenario.format_tools import Answer, Tool
from harness.vocabulary.content import Text, ToolCall
from harness.vocabulary.tools import OutcomeClass, ToolOutcome
from harness.vocabulary.trace import Record, ScriptFault, ToolEnded, ToolStarted

_RULES = (
    "loop.breaker.synthesis-before-limit",
    "loop.breaker.hard-limit-before-dispatch",
    "loop.budget.fit-before-dispatch",
    "loop.approval.once",
    "loop.approval.denied",
    "loop.crash.recovery",
)
"""Promises that a run too many may break, the likeliest first."""
_UNANSWERED = ToolOutcome(outcome=OutcomeClass.ERROR, content=(Text("The script has no answer for this run."),))


@dataclass(slots=True)
class _Stock:
    """One answer and how often it may still be given (None: always)."""

    answer: Answer
    left: int | None

    def take(self) -> None:
        if self.left is not None:
            self.left -= 1


@dataclass(slots=True)
class _Bench:
    """One tool: its answers, whether they look at the arguments, and how often it ran."""

    tool: Tool
    stocks: list[_Stock]
    chooses: bool
    runs: int = 0
    sequences: dict[int, Iterator[Answer]] = field(default_factory=dict)


class ScriptedTools:
    """The tools of one run."""

    def __init__(self, scenario: Scenario, record: Callable[[Record], None], clock: SimulatedClock) -> None:
        self._record, self._clock = record, clock
        self._proves = scenario.proves
        self._deadline = scenario.limits.deadline
        self._benches = {name: _bench(tool) for name, tool in scenario.tools.items()}
        self._answers: dict[str, tuple[Answer, int]] = {}
        self._crashed = False

    def run(self, call: ToolCall, key: str) -> ToolOutcome:
        """Run a call. Raises ScriptedToolError where the script says that the tool breaks."""
        self._record(ToolStarted(call_id=call.call_id, tool=call.name, arguments=call.arguments, at=self._clock.now()))
        try:
            outcome = self._outcome(call)
        except ScriptedToolError as error:
            self._ended(call, ToolOutcome(outcome=OutcomeClass.ERROR, content=(Text(str(error)),)))
            raise
        self._ended(call, outcome)
        return outcome

    def crashed(self) -> None:
        """From now on a call that runs a second time gets the answer that it had before: the outside world did not
        crash."""
        self._crashed = True

    def _ended(self, call: ToolCall, outcome: ToolOutcome) -> None:
        self._record(ToolEnded(call_id=call.call_id, tool=call.name, outcome=outcome, at=self._clock.now()))

    def _outcome(self, call: ToolCall) -> ToolOutcome:
        bench = self._benches.get(call.name)
        if bench is None:
            return self._missing("loop.tools.unknown", f"the tool {call.name!r} is not declared, and was run")
        answer, n = self._answer(bench, call)
        if answer is None:
            rule = next((rule for rule in _RULES if rule in self._proves), self._proves[0])
            more = "answers or `repeat: always`, if a right subject does so"
            return self._missing(rule, f"run {n} of {call.name} has no answer; add {more}")
        return self._given(answer, bench.tool, n)

    def _answer(self, bench: _Bench, call: ToolCall) -> tuple[Answer | None, int]:
        if self._crashed and call.call_id in self._answers:
            return self._answers[call.call_id]
        bench.runs += 1
        answer = _next(bench, _decoded(call.arguments) if bench.chooses else None)
        if answer is not None:
            self._answers[call.call_id] = (answer, bench.runs)
        return answer, bench.runs

    def _given(self, answer: Answer, tool: Tool, n: int) -> ToolOutcome:
        limit = tool.timeout
        if answer.hangs or (limit is not None and answer.takes > limit):
            return self._timed_out(limit)
        self._clock.advance(answer.takes)
        if answer.raises is not None:
            raise ScriptedToolError(answer.raises)
        return outcome_of(answer, tool, n)

    def _timed_out(self, limit: float | None) -> ToolOutcome:
        """The tool's own time limit, or where it has none the run's deadline, ends a call that does not return."""
        if limit is not None:
            self._clock.advance(limit)
        else:
            self._clock.reach(self._deadline or 0.0)
        text = Text("The tool did not return in time.")
        return ToolOutcome(outcome=OutcomeClass.ERROR, content=(text,), timed_out=True)

    def _missing(self, rule: str, message: str) -> ToolOutcome:
        self._record(ScriptFault(rule=rule, message=message))
        return _UNANSWERED


def _bench(tool: Tool) -> _Bench:
    stocks = [_Stock(answer, _times(answer)) for answer in tool.answers]
    return _Bench(tool, stocks, any(answer.when is not None for answer in tool.answers))


def _times(answer: Answer) -> int | None:
    if not isinstance(answer.repeat, int):
        return None
    members = answer.sequence or ()
    once = sum(one.repeat if isinstance(one.repeat, int) else 1 for one in members) if members else 1
    return answer.repeat * once


def _next(bench: _Bench, arguments: Any) -> Answer | None:
    for place, stock in enumerate(bench.stocks):
        if stock.left != 0 and fits(stock.answer, arguments):
            stock.take()
            return _member(bench, place, stock.answer) if stock.answer.sequence else stock.answer
    return None


def _member(bench: _Bench, place: int, answer: Answer) -> Answer:
    """The next answer of a sequence, which begins anew when it is at its end."""
    member = next(bench.sequences.get(place, iter(())), None)
    if member is None:
        bench.sequences[place] = _unfolded(answer)
        member = next(bench.sequences[place])
    return member


def _unfolded(answer: Answer) -> Iterator[Answer]:
    for one in answer.sequence or ():
        yield from [one] * (one.repeat if isinstance(one.repeat, int) else 1)


def _decoded(arguments: str) -> Any:
    try:
        return json.loads(arguments or "{}")
    except ValueError:
        return None
