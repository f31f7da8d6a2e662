"""A run killed once after each of its effects, one run an effect, each resumed from its store (loop.crash.every-point).

Compared with the run that was never killed: the same end and counters; where a non-idempotent call is left with an
unknown outcome, only that no effect happened twice.
"""

from collections import Counter
from collections.abc import Sequence

from harness.scenario.arms import Arm
from harness.scenario.format import Scenario
from harness.scenario.neutral import plain
from harness.scenario.plan import Plan
from harness.scenario.subject import Depth, Subject, SubjectFailed, World
from harness.vocabulary.content import ToolResult
from harness.vocabulary.control import ReasonCode
from harness.vocabulary.outcome import RunOutcome
from harness.vocabulary.tools import Effect
from harness.vocabulary.trace import Record, ToolStarted
from harness.vocabulary.verdict import Finding, VerdictName

CHECK = "loop.crash.every-point"
_SOURCE = "loop.md section 9"
_MOST = 10
_FIELDS = ("status", "message", "truncated", "refused", "reason", "error_class", "details", "counters", "effects")


def every_point(
    scenario: Scenario, plan: Plan, arm: Arm, depth: Depth, subject: Subject, whole: RunOutcome, effects: int
) -> list[Finding]:
    """One finding for each point at which the promise breaks (the first ten), or one that it was kept at all."""
    broken: list[Finding] = []
    for point in range(1, effects + 1):
        world = World(scenario, plan, arm, depth, subject, point=point)
        try:
            problem = _difference(whole, subject.run(world)) or _twice(plan, world.trace)
        except SubjectFailed as failed:
            problem = ("an outcome", str(failed))
        if problem is not None:
            broken.append(_finding(VerdictName.FAIL, f"killed after effect {point}: {problem[0]}", problem[1]))
    if broken:
        return broken[:_MOST]
    return [_finding(VerdictName.PASS, "the same end after a kill at any effect", f"killed at {effects} effects")]


def _finding(verdict: VerdictName, expected: str, actual: str) -> Finding:
    return Finding(check=CHECK, verdict=verdict, source=_SOURCE, expected=expected, actual=actual)


def _difference(whole: RunOutcome, outcome: RunOutcome) -> tuple[str, str] | None:
    """What a killed run lost or changed, as (expected, actual)."""
    if _uncertain(outcome):
        return None
    for name in _FIELDS:
        expected, actual = getattr(whole, name), getattr(outcome, name)
        if plain(expected) != plain(actual):
            why = f" ({outcome.reason}, {outcome.error_class})" if name == "status" and outcome.reason else ""
            return f"{name} {plain(expected)}", f"{plain(actual)}{why}"
    if list(whole.conversation) != list(outcome.conversation):
        return f"the same {len(whole.conversation)} items of conversation", f"other ones ({len(outcome.conversation)})"
    return None


def _uncertain(outcome: RunOutcome) -> bool:
    unknown = ReasonCode.OUTCOME_UNKNOWN
    return any(isinstance(item, ToolResult) and item.reason_code == unknown for item in outcome.conversation)


def _twice(plan: Plan, trace: Sequence[Record]) -> tuple[str, str] | None:
    """A non-idempotent call that ran more than once."""
    once = {tool.name for tool in plan.tools if tool.effect is Effect.NON_IDEMPOTENT}
    runs = Counter(one.call_id for one in trace if isinstance(one, ToolStarted) and one.tool in once)
    twice = sorted(call for call, times in runs.items() if times > 1)
    return ("each non-idempotent effect at most once", f"{', '.join(twice)} ran twice") if twice else None
