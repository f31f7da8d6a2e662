"""Scenario files as pytest files, cases as pytest items.

An item fails with the failure block, never with a traceback: what is wrong lies in the subject, not in this code.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.reports.result import CaseResult, RunLevel
from harness.scenario.arms import Arm
from harness.scenario.format import Scenario
from harness.suite.runner import CaseRunner

RUNNER = pytest.StashKey[CaseRunner]()


class PromiseBroken(Exception):
    """A case in which the subject broke a promise."""


class HarnessFault(Exception):
    """A case in which the harness itself failed: nothing is said of the subject."""


class ScenarioFile(pytest.File):
    """One scenario file."""

    def collect(self) -> Iterator["ScenarioItem"]:
        """An item for each arm of the run that the scenario is not confined away from."""
        from harness.scenario.arms import matching
        from harness.scenario.load import load_scenario
        from harness.scenario.problems import ScenarioError
        from harness.suite.promises import requirements

        runner = self.config.stash[RUNNER]
        try:
            scenario = load_scenario(self.path, requirements().keys())
        except ScenarioError as error:
            raise self.CollectError(str(error)) from None
        own = set(matching(scenario.arms))
        for arm in runner.plan.arms():
            if arm in own:
                name = f"{scenario.id}[{arm.name}]"
                yield ScenarioItem.from_parent(self, name=name, scenario=scenario, arm=arm)


class ScenarioItem(pytest.Item):
    """One case."""

    def __init__(self, *, scenario: Scenario, arm: Arm, **more: Any) -> None:
        super().__init__(**more)
        self.scenario, self.arm = scenario, arm
        self.result: CaseResult | None = None
        self.calls: list[dict[str, Any]] = []

    def runtest(self) -> None:
        """Run the case; raise what pytest reports as a failure or an error."""
        runner = self.config.stash[RUNNER]
        self.result = runner.run(self.scenario, self.arm, self._node())
        self.calls = runner.calls
        if self.result.fault is not None:
            raise HarnessFault
        if self.result.broken(runner.plan.level):
            raise PromiseBroken
        if set(self.result.counts()) == {"not-applicable"}:
            pytest.skip(self._why_not(runner.subject.capabilities))

    def _why_not(self, capabilities: frozenset[str]) -> str:
        missing = sorted(set(self.scenario.requires) - capabilities)
        return f"the subject does not declare {', '.join(missing)}" if missing else f"not for the arm {self.arm.name}"

    def _node(self) -> str:
        """The pytest id from the working folder; with the whole path where the file lies elsewhere."""
        here = Path.cwd()
        file = self.path.relative_to(here).as_posix() if self.path.is_relative_to(here) else str(self.path)
        return f"{file}::{self.name}"

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The failure block for a broken promise; pytest's own report for anything else."""
        if self.result is None or not isinstance(excinfo.value, (PromiseBroken, HarnessFault)):
            return super().repr_failure(excinfo, style)
        return "\n".join(told(self.result, self.config.stash[RUNNER].plan.level))

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Where a person finds the case."""
        return self.path, None, self.name


def told(result: CaseResult, level: RunLevel) -> list[str]:
    """A result in the words of the failure block."""
    from harness.reports.terminal import failure_lines, fault_lines

    if result.fault is not None:
        return fault_lines(result)
    return [line for finding in result.broken(level) for line in failure_lines(result, finding)]
