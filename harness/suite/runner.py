"""Running one case: a scenario on an arm, its verdicts as a result, and what the network guard saw meanwhile."""

import gc
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

from harness.guard.process import Guard
from harness.reports.baseline import Baseline, load_baseline
from harness.reports.case import Case, run_id
from harness.reports.result import CaseResult, judged, split
from harness.scenario.arms import Arm
from harness.scenario.format import Scenario
from harness.scenario.runner import ScenarioRun, run_scenario
from harness.scenario.subject import Subject
from harness.suite.plan import RunPlan
from harness.suite.promises import RUNNER_CHECKS, requirements
from harness.suite.subjects import subject_named
from harness.vocabulary.tools import CallRecord


class CaseRunner:
    """Runs the cases of one plan in one process. `calls` is the telemetry of the last case, as plain lines; it stays
    empty where the plan wants none."""

    def __init__(self, plan: RunPlan, guard: Guard | None) -> None:
        self.plan = plan
        self.calls: list[dict[str, Any]] = []
        self._guard = guard
        self._warm = False

    @cached_property
    def subject(self) -> Subject:
        """The subject under test. Raises UnknownSubject."""
        return subject_named(self.plan.subject)

    @cached_property
    def baseline(self) -> Baseline | None:
        """The expected failures of this run. Raises BaselineError."""
        if not self.plan.expected_failures:
            return None
        known = {*requirements(), *RUNNER_CHECKS}
        return load_baseline(Path(self.plan.expected_failures), known, date.today())

    def run(self, scenario: Scenario, arm: Arm, node: str) -> CaseResult:
        """The result of one case. Never raises for what the subject does."""
        told: list[CallRecord] = []
        run = run_scenario(
            scenario,
            self.subject,
            requirements=requirements(),
            transport=arm.transport,
            streaming=arm.streaming,
            depth=self.plan.depth if arm.wire else "sim",
            every_crash=self.plan.crash,
            told_call=told.append if self.plan.calls else None,
        )
        self.calls = self._lines(told, scenario, arm) if told else []
        self._warmed()
        return self._result(run, node)

    def _lines(self, told: list[CallRecord], scenario: Scenario, arm: Arm) -> list[dict[str, Any]]:
        from harness.recording.told_calls import call_line

        return [call_line(call, scenario=scenario.id, arm=arm.name) for call in told]

    def _warmed(self) -> None:
        # The collector is off during a cold start (the command line turns it off): what was imported stays for good.
        if not self._warm:
            self._warm = True
            gc.freeze()
            gc.enable()

    def _result(self, run: ScenarioRun, node: str) -> CaseResult:
        case = Case(run.scenario, run.arm.transport, run.arm.streaming if run.arm.wire else None)
        bare, findings = split(run.findings)
        checks = {found.check for found in findings}
        return CaseResult(
            case=case,
            run=run_id(case, run.subject, self.plan.seed),
            node=node,
            bare=bare,
            findings=findings,
            listed=self.baseline.listed(case, run.subject, checks) if self.baseline else frozenset(),
            outcome=str(run.outcome.status) if run.outcome else None,
            fault=self._fault(run),
            seconds=run.seconds,
            kills=run.points,
            resumes=run.resumes,
        )

    def _fault(self, run: ScenarioRun) -> str | None:
        denied = self._guard.take() if self._guard else ()
        if denied:
            return "the network guard denied: " + "; ".join(denied)
        if run.harness_fault is None and not judged(run.findings):
            return "no check judged this case: it proves nothing"
        return run.harness_fault
