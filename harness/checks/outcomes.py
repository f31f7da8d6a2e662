"""Outcomes without progress that come back, from the rule (design: loop.md section 3, loop.progress.*).

One counter for each tool and outcome, whatever the arguments were: at most one up a step, cleared by another outcome of
the tool, not moved by what a declared budget covers. It is a span: a step that holds several outcomes of one tool may
be read in more than one way.
"""

from dataclasses import dataclass, field
from typing import TypeAlias

from harness.checks.standing import Sure
from harness.vocabulary.tools import Effect, OutcomeClass, ToolDeclaration

Evidence: TypeAlias = tuple[object, ...]
"""An outcome as the rules compare it; its class comes first."""
_NO_PROGRESS = (OutcomeClass.ERROR, OutcomeClass.EMPTY, OutcomeClass.NOOP)


def free(streak: int, declared: ToolDeclaration, outcome: OutcomeClass) -> Sure:
    """Whether a declared retry or poll budget covers an outcome, the `streak`-th equal one in a row."""
    if outcome is OutcomeClass.ERROR:
        covered = declared.retry_budget if declared.effect is not Effect.NON_IDEMPOTENT else 0
        return Sure.YES if streak <= covered else Sure.NO
    covered = declared.poll_budget if declared.observes else 0
    if not covered or streak > covered + 1:
        return Sure.NO
    return Sure.YES if 1 < streak <= covered and outcome is OutcomeClass.OK else Sure.MAYBE


@dataclass(frozen=True, slots=True)
class _Line:
    """The counter between two bounds, and how many equal outcomes there were in a row."""

    low: int = 0
    high: int = 0
    calls: int = 0


@dataclass(slots=True)
class _Step:
    """What one tool gave in the step in progress: each outcome without progress and how often, and any other one."""

    declared: ToolDeclaration | None
    stuck: dict[Evidence, int] = field(default_factory=dict)
    good: bool = False


_FRESH = _Line()


class OutcomeRepeats:
    """The counters of a run. `add` the known outcomes of a step, then `close` it. `came_back` counts outcomes of any
    class that their tool had given before."""

    def __init__(self, threshold: int) -> None:
        self._due = threshold - 1
        self._lines: dict[str, dict[Evidence, _Line]] = {}
        self._step: dict[str, _Step] = {}
        self._seen: set[tuple[str, Evidence]] = set()
        self.came_back = 0

    def add(self, tool: str, declared: ToolDeclaration | None, seen: Evidence) -> None:
        """One more outcome of the step."""
        self.came_back += (tool, seen) in self._seen
        self._seen.add((tool, seen))
        if seen[0] not in _NO_PROGRESS and tool not in self._lines and tool not in self._step:
            return
        step = self._step.setdefault(tool, _Step(declared))
        if seen[0] in _NO_PROGRESS:
            step.stuck[seen] = step.stuck.get(seen, 0) + 1
        else:
            step.good = True

    def close(self) -> None:
        """The step is over."""
        for tool, step in self._step.items():
            before = self._lines.get(tool, {})
            alone = len(step.stuck) == 1 and not step.good
            self._lines[tool] = {
                seen: _advanced(before.get(seen, _FRESH), seen, times, step.declared, alone)
                for seen, times in step.stuck.items()
            }
        self._step.clear()

    def due(self) -> Sure:
        """Whether the next request answers from what there is, by these counters alone."""
        lines = [line for tool in self._lines.values() for line in tool.values() if line.high >= self._due]
        if not lines:
            return Sure.NO
        return Sure.YES if any(line.low >= self._due for line in lines) else Sure.MAYBE

    def tools(self) -> tuple[str, ...]:
        """The tools whose counter surely stands at the threshold minus one or above."""
        return tuple(
            tool for tool, lines in self._lines.items() if any(line.low >= self._due for line in lines.values())
        )


def _advanced(line: _Line, seen: Evidence, times: int, declared: ToolDeclaration | None, alone: bool) -> _Line:
    """The counter after a step in which an outcome came `times` times; `alone`: and no other one of the tool."""
    outcome = seen[0]
    assert isinstance(outcome, OutcomeClass)
    lengths = range(line.calls + 1, line.calls + times + 1)
    covered = [Sure.NO if declared is None else free(length, declared, outcome) for length in lengths]
    surely = any(one is Sure.NO for one in covered)
    maybe = any(one is not Sure.YES for one in covered)
    return _Line(line.low + surely if alone else 0, line.high + maybe, line.calls + times)
