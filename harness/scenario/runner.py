"""One scenario, one subject, one arm -> a trace and its findings.

Findings are the checks' verdicts, the scenario's own expectations, and whether the run over a wire is the run without
one. A fault of the harness (its own exception, a fault of the simulated provider) is kept apart: it is never a
finding, so it is never the subject's.
"""

import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from harness.checks.registry import judge
from harness.data_root import data_root
from harness.scenario.arms import SIM, Arm, matching
from harness.scenario.crash_points import CHECK as EVERY_POINT
from harness.scenario.crash_points import every_point
from harness.scenario.equality import Permitted, compare, load_permitted, permitted_by
from harness.scenario.expectations import expectations
from harness.scenario.format import Scenario
from harness.scenario.plan import Plan, plan_of
from harness.scenario.seen import look
from harness.scenario.subject import Depth, Subject, SubjectFailed, World
from harness.vocabulary.outcome import RunOutcome
from harness.vocabulary.tools import CallRecord
from harness.vocabulary.trace import Record, ScriptFault
from harness.vocabulary.verdict import Finding, Requirement, VerdictName

OUTCOME_CHECK = "scenario.outcome"
UNPLAYED_CHECK = "scenario.unplayed"
_BROKEN = (VerdictName.FAIL, VerdictName.UNTESTABLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioRun:
    """What one run came to. `harness_fault` is the report of a fault of the harness: nothing is then said of the
    subject. `trace` is empty where the scenario does not apply."""

    scenario: str
    arm: Arm
    depth: Depth
    subject: str
    trace: Sequence[Record] = ()
    findings: Sequence[Finding] = ()
    outcome: RunOutcome | None = None
    seconds: float = 0.0
    points: int = 0
    resumes: int = 0
    harness_fault: str | None = None

    @property
    def item_id(self) -> str:
        """`<scenario>[<arm>]`."""
        return f"{self.scenario}[{self.arm.name}]"

    @property
    def kept(self) -> bool:
        """Whether all MUST promises were kept (untestable counts at its requirement's level)."""
        return self.harness_fault is None and not any(
            one.verdict in _BROKEN and one.level == "MUST" for one in self.findings
        )


@dataclass(slots=True)
class _Played:
    world: World
    outcome: RunOutcome | None = None
    failure: str | None = None
    faults: list[str] = field(default_factory=list)


def run_scenario(
    scenario: Scenario,
    subject: Subject,
    *,
    requirements: Mapping[str, Requirement],
    transport: str = SIM,
    streaming: bool = True,
    depth: Depth | None = None,
    permitted: Sequence[Permitted] | None = None,
    every_crash: bool = False,
    told_call: Callable[[CallRecord], None] | None = None,
) -> ScenarioRun:
    """Run a scenario on one arm. `depth` left out is sim without a transport, else wire. `permitted` left out is the
    project's own list. `every_crash` kills a run of its own after each effect. `told_call` gets the
    telemetry of the run's calls; runs beside it (its twin without a wire, killed ones) tell none. Never raises for what
    a subject does; a fault of the harness is told in the result."""
    arm = Arm(transport, streaming)
    depth = depth or ("wire" if arm.wire else "sim")
    begun = time.perf_counter()
    obstacle = _obstacle(scenario, subject, arm, depth)
    made: dict[str, object] = {}
    try:
        every = every_crash or (scenario.crash is not None and bool(scenario.crash.every))
        made = (
            {"findings": obstacle}
            if obstacle
            else _run(scenario, subject, arm, depth, requirements, permitted, every=every, told_call=told_call)
        )
    except Exception as error:
        made = {"harness_fault": _told(error)}
    seconds = time.perf_counter() - begun
    return ScenarioRun(
        scenario=scenario.id,
        arm=arm,
        depth=depth,
        subject=subject.name,
        seconds=seconds,
        **made,  # type: ignore[arg-type]
    )


def _obstacle(scenario: Scenario, subject: Subject, arm: Arm, depth: Depth) -> list[Finding]:
    """Why a scenario does not apply, said of each rule that it proves; [] if it does."""
    missing = sorted(set(scenario.requires) - subject.capabilities)
    why = ""
    if missing:
        why = f"the subject does not declare {', '.join(missing)}"
    elif arm.name not in {one.name for one in matching(scenario.arms)}:
        why = f"the scenario is confined to {', '.join(scenario.arms)}"
    elif depth not in subject.depths:
        why = f"the subject does not run at depth {depth}"
    if not why:
        return []
    return [Finding(check=rule, verdict=VerdictName.NOT_APPLICABLE, actual=why) for rule in scenario.proves]


def _run(
    scenario: Scenario,
    subject: Subject,
    arm: Arm,
    depth: Depth,
    requirements: Mapping[str, Requirement],
    permitted: Sequence[Permitted] | None,
    *,
    every: bool,
    told_call: Callable[[CallRecord], None] | None,
) -> dict[str, object]:
    plan = plan_of(scenario)
    played = _play(World(scenario, plan, arm, depth, subject, told_call=told_call), subject)
    twin = None
    if arm.wire and "sim" in subject.depths and not played.faults:
        twin = _play(World(scenario, plan, Arm(SIM, arm.streaming), "sim", subject), subject)
    faults = played.faults + (twin.faults if twin else [])
    made: dict[str, object] = {"trace": played.world.trace, "outcome": played.outcome}
    if faults:
        return made | {"harness_fault": "\n".join(faults)}
    findings = _findings(played, plan, subject, requirements)
    if twin is not None:
        allowed = load_permitted(data_root() / "contracts" / "requirements") if permitted is None else permitted
        findings.append(compare(played.world.trace, twin.world.trace, arm, [*allowed, *permitted_by(scenario)]))
    if every and played.outcome is not None:
        # Killed runs of their own show it, where this one was never killed.
        findings = [one for one in findings if one.check != EVERY_POINT or one.verdict is not VerdictName.UNTESTABLE]
        explored = every_point(scenario, plan, arm, depth, subject, requirements)
        findings += explored.findings
        made |= {"points": explored.points, "resumes": explored.resumes}
    return made | {"findings": findings}


def _play(world: World, subject: Subject) -> _Played:
    played = _Played(world)
    try:
        played.outcome = subject.run(world)
    except SubjectFailed as failed:
        played.failure = str(failed)
    played.faults = [_told(fault) for fault in world.harness_faults]
    return played


def _findings(played: _Played, plan: Plan, subject: Subject, requirements: Mapping[str, Requirement]) -> list[Finding]:
    world, scenario = played.world, played.world.scenario
    findings = judge(world.trace, proves=scenario.proves, requirements=requirements)
    if played.outcome is None:
        return [*findings, _finding(OUTCOME_CHECK, "one outcome", played.failure or "none")]
    findings.append(_finding(OUTCOME_CHECK, "one outcome", f"{played.outcome.status}", kept=True))
    seen = look(scenario, plan, world.arm, world.script.delivered, world.trace, played.outcome)
    findings += expectations(seen, subject.capabilities)
    if scenario.unplayed != "allowed" and not any(isinstance(one, ScriptFault) for one in world.trace):
        left = world.script.unplayed()
        actual = "all of it was asked for" if not left else f"{left} replies were never asked for"
        findings.append(_finding(UNPLAYED_CHECK, "the whole script is played", actual, kept=not left))
    return findings


def _finding(check: str, expected: str, actual: str, *, kept: bool = False) -> Finding:
    verdict = VerdictName.PASS if kept else VerdictName.FAIL
    return Finding(check=check, verdict=verdict, source="scenarios.md", expected=expected, actual=actual)


def _told(error: Exception) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1:]
    where = f" ({last[0].filename.rsplit('/', 1)[-1]}:{last[0].lineno} in {last[0].name})" if last else ""
    return f"{type(error).__name__}: {error}{where}"
