"""A run killed once after each of its effects, one run an effect, each resumed from its store (loop.crash.every-point).

Compared with the run that was never killed: the same end, counters and conversation. Three things excuse a difference,
and none excuses an effect that happened twice: a call of unknown outcome and what follows from it, a reply that was
never recorded (uncharged), and time, where a deadline or a cancel comes in: what was lost is then not made up for. The
checks of what a crash must leave as it was (`JUDGED`) look at every killed run.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from harness.checks.registry import judge
from harness.scenario.arms import Arm
from harness.scenario.format import Scenario
from harness.scenario.neutral import plain
from harness.scenario.plan import Plan
from harness.scenario.subject import Depth, Subject, SubjectFailed, World
from harness.vocabulary.content import ToolResult
from harness.vocabulary.control import ReasonCode
from harness.vocabulary.outcome import Reason, RunOutcome, Status
from harness.vocabulary.tools import Effect
from harness.vocabulary.trace import Intervened, Record, ToolStarted
from harness.vocabulary.verdict import Finding, Requirement, VerdictName

CHECK = "loop.crash.every-point"
JUDGED = (
    "loop.tools.every-call-answered",
    "loop.tools.ids",
    "loop.breaker.synthesis-before-limit",
    "loop.breaker.violation-any-arguments",
    "loop.breaker.retry-keeps-synthesis",
    "loop.progress.outcome-repetition",
    "loop.synthesis.instruction",
    "loop.synthesis.no-leak",
    "loop.synthesis.tool-choice",
    "loop.synthesis.history-intact",
    "loop.context.prefix-frozen",
    "loop.context.view-only",
    "loop.crash.effect-watermark",
    "loop.approval.once",
)
"""Rules whose checks know what a kill can lose; the others would take a reply that was never recorded for one that was
acted on."""
_SOURCE = "loop.md section 9"
_MOST = 10
_FIELDS = ("status", "message", "truncated", "refused", "reason", "error_class", "details", "counters", "effects")


@dataclass(frozen=True, slots=True)
class Explored:
    """How many points there were, how many runs were resumed, and the findings."""

    points: int
    resumes: int
    findings: list[Finding]


def every_point(
    scenario: Scenario,
    plan: Plan,
    arm: Arm,
    depth: Depth,
    subject: Subject,
    requirements: Mapping[str, Requirement],
) -> Explored:
    """One finding for each point at which the promise breaks (the first ten), or one that it was kept at all.

    A scenario that is about one kill has a script for that one: of its other kills only the effects are looked at.
    Raises SubjectFailed where the run that nobody kills has no outcome.
    """
    never = World(scenario, plan, arm, depth, subject, point=0)
    whole = subject.run(never)
    kept = {name: requirements[name] for name in JUDGED if name in requirements}
    own = None if scenario.crash is None or scenario.crash.every else scenario.crash
    timed = plan.limits.deadline is not None or any(one.do == "cancel" for one in scenario.interventions)
    broken: list[Finding] = []
    resumes = 0
    for point in range(1, never.crash.effects + 1):
        world = World(scenario, plan, arm, depth, subject, point=point)
        try:
            outcome = subject.run(world)
            problem = _twice(plan, world.trace)
            if own is None:
                problem = problem or _difference(whole, outcome, timed) or _judged(world, kept)
        except SubjectFailed as failed:
            problem = ("an outcome", str(failed))
        resumes += any(isinstance(one, Intervened) and one.do == "crash" for one in world.trace)
        if problem is not None:
            broken.append(_finding(VerdictName.FAIL, f"killed after effect {point}: {problem[0]}", problem[1]))
    told = f"killed at {never.crash.effects} effects, resumed {resumes} times"
    findings = broken[:_MOST] or [_finding(VerdictName.PASS, "the same end after a kill at any effect", told)]
    return Explored(never.crash.effects, resumes, findings)


def _judged(world: World, requirements: Mapping[str, Requirement]) -> tuple[str, str] | None:
    """The first promise that the killed run broke."""
    for one in judge(world.trace, proves=(), requirements=requirements):
        if one.verdict is VerdictName.FAIL:
            return f"{one.check}: {one.expected}", one.actual
    return None


def _finding(verdict: VerdictName, expected: str, actual: str) -> Finding:
    return Finding(check=CHECK, verdict=verdict, source=_SOURCE, expected=expected, actual=actual)


def _difference(whole: RunOutcome, outcome: RunOutcome, timed: bool) -> tuple[str, str] | None:
    """What a killed run lost or changed, as (expected, actual)."""
    if _uncertain(outcome):
        return None
    for name in _FIELDS:
        expected, actual = getattr(whole, name), getattr(outcome, name)
        if plain(expected) != plain(actual):
            if timed:
                return _out_of_time(whole, outcome)
            why = f" ({outcome.reason}, {outcome.error_class})" if name == "status" and outcome.reason else ""
            return f"{name} {plain(expected)}", f"{plain(actual)}{why}"
    if list(whole.conversation) != list(outcome.conversation) and not timed:
        return f"the same {len(whole.conversation)} items of conversation", f"other ones ({len(outcome.conversation)})"
    return None


def _out_of_time(whole: RunOutcome, outcome: RunOutcome) -> tuple[str, str] | None:
    """A run that was killed with a deadline or a cancel at hand ends as the whole one did, or by either; it has done
    no more than that."""
    ends = (whole.reason, Reason.DEADLINE_EXCEEDED)
    if outcome.status != whole.status and outcome.reason not in ends and outcome.status is not Status.CANCELLED:
        return f"status {whole.status}, or out of time", f"{outcome.status} ({outcome.reason})"
    for field in fields(outcome.counters):
        most, used = getattr(whole.counters, field.name), getattr(outcome.counters, field.name)
        if used > most:
            return f"at most {most} {field.name}", f"{used}"
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
