"""The contract of a run loop: scenario files judged over a subject, as a class of tests to subclass.

    class TestMyLoop(LoopContract):
        scenarios = ("tests/scenarios",)          # files or folders; none: all that this package brings
        arms = ("sim", "anthropic-messages-stream")

        def make_subject(self):
            return MySubject()

The subject is what `harness.scenario.subject.Subject` describes. Each scenario on each arm is one test; it fails with
every promise that was broken, in the words of the failure block. A scenario that asks for a capability which the
subject does not declare, or for an arm that it does not run, is skipped with the reason.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import ClassVar

import pytest

from harness.checks.requirements import load_requirements
from harness.data_root import data_root
from harness.scenario.arms import ARMS, Arm, matching, named
from harness.scenario.format import Scenario
from harness.scenario.load import load_scenario, scenario_files
from harness.scenario.runner import ScenarioRun, run_scenario
from harness.scenario.subject import Subject
from harness.vocabulary.verdict import Finding, Requirement, VerdictName

_ALL_ARMS = tuple(arm.name for arm in ARMS)
_BROKEN = (VerdictName.FAIL, VerdictName.UNTESTABLE)


@cache
def _requirements() -> dict[str, Requirement]:
    return load_requirements(data_root() / "contracts" / "requirements")


class LoopContract:
    """Subclass it and return the loop under test from `make_subject`."""

    scenarios: ClassVar[Sequence[str | Path]] = ()
    arms: ClassVar[Sequence[str]] = _ALL_ARMS

    def make_subject(self) -> Subject:
        """The loop under test."""
        raise NotImplementedError(f"{type(self).__name__}: return the loop under test from make_subject()")

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """One test for each scenario and arm."""
        if "scenario_file" not in metafunc.fixturenames:
            return
        cases = list(self._cases())
        ids = [f"{file.stem}[{arm.name}]" for file, arm in cases]
        metafunc.parametrize(("scenario_file", "arm"), cases, ids=ids)

    def _cases(self) -> Iterator[tuple[Path, Arm]]:
        chosen = [Path(path) for path in self.scenarios] or [data_root() / "scenarios"]
        missing = [str(path) for path in chosen if not path.exists()]
        if missing:
            raise pytest.UsageError(f"{type(self).__name__}.scenarios: no such file or folder: {', '.join(missing)}")
        files = scenario_files(chosen)
        if not files:
            raise pytest.UsageError(
                f"{type(self).__name__}.scenarios: no scenario file below {', '.join(map(str, chosen))}"
            )
        arms = [named(name) for name in self.arms]
        return ((file, arm) for file in files for arm in arms)

    def test_the_promises_of_a_scenario_are_kept(self, scenario_file: Path, arm: Arm) -> None:
        """Every check whose occasion comes up, the scenario's own expectations, and equality over depths."""
        __tracebackhide__ = True
        scenario = load_scenario(scenario_file, _requirements().keys())
        if arm not in matching(scenario.arms):
            pytest.skip(f"{scenario.id} is confined to {', '.join(scenario.arms)}")
        run = self._run(scenario, arm)
        if run.harness_fault is not None:
            pytest.fail(f"fault of the harness, not of {run.subject}: {run.harness_fault}", pytrace=False)
        if run.findings and all(one.verdict is VerdictName.NOT_APPLICABLE for one in run.findings):
            pytest.skip(run.findings[0].actual)
        if not run.kept:
            pytest.fail("\n".join(told(run)), pytrace=False)

    def _run(self, scenario: Scenario, arm: Arm) -> ScenarioRun:
        return run_scenario(
            scenario,
            self.make_subject(),
            requirements=_requirements(),
            transport=arm.transport,
            streaming=arm.streaming,
        )


def told(run: ScenarioRun) -> Iterator[str]:
    """The broken promises of a run, block by block."""
    for one in run.findings:
        if one.verdict in _BROKEN and one.level == "MUST":
            yield f"{one.verdict.upper()}  {run.arm.transport}  {one.check}  [{one.level}]  {one.source}"
            yield f"      scenario {run.scenario}{_place(one)}"
            yield f"      expected  {one.expected}"
            yield f"      actual    {one.actual}"


def _place(one: Finding) -> str:
    request = f", request {one.request}" if one.request is not None else ""
    return request + (f", {one.pointer}" if one.pointer else "")
