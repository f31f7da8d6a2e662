"""The hooks of a session that runs scenarios: collection, the network guard, and the run record."""

from collections.abc import Generator
from pathlib import Path

import pytest

from harness.guard.process import Guard, guard_process
from harness.suite.items import RUNNER, ScenarioFile
from harness.suite.plan import RunPlan
from harness.suite.runner import CaseRunner
from harness.suite.session import RunSession

SESSION = pytest.StashKey[RunSession]()
_CLEAN = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)


class TakingPart:
    """Registered as a plugin for one session."""

    def __init__(self, config: pytest.Config, plan: RunPlan) -> None:
        self._guard: Guard = guard_process()
        runner = CaseRunner(plan, self._guard)
        config.stash[RUNNER] = runner
        self._folders = tuple(Path(folder).resolve() for folder in plan.folders)
        self._controls = not hasattr(config, "workerinput")
        self._session = RunSession(plan, runner)
        config.stash[SESSION] = self._session

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """A scenario file below a folder of the plan."""
        if file_path.suffix != ".yaml" or not any(folder in file_path.parents for folder in self._folders):
            return None
        collected: pytest.Collector = ScenarioFile.from_parent(parent, path=file_path)
        return collected

    def pytest_collection(self, session: pytest.Session) -> None:
        """Before anything is collected: do the requirements and their checkers fit together?"""
        from harness.checks.requirements import RequirementError
        from harness.suite.promises import requirements

        try:
            requirements()
        except RequirementError as error:
            raise pytest.UsageError(str(error)) from None

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """The cases are known."""
        nodes = [item.nodeid for item in session.items if hasattr(item, "scenario")]
        if self._controls and nodes:
            self._session.begin(nodes)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """A worker knows the cases; all workers know the same ones."""
        self._session.begin([node for node in ids if ".yaml::" in node])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A case has its result."""
        line = getattr(report, "harness", None)
        if self._controls and line is not None:
            self._session.take(report.nodeid, line, getattr(report, "harness_calls", []))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, None, None]:
        """Whatever an item tried to reach beyond loopback fails it, also where its own code swallowed the refusal."""
        yield
        denied = self._guard.take()
        if denied:
            pytest.fail("harness fault: the network guard denied: " + "; ".join(denied), pytrace=False)

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Close the record."""
        if self._controls:
            self._session.finish(complete=exitstatus in _CLEAN)

    def pytest_unconfigure(self) -> None:
        """Leave nothing behind."""
        self._guard.close()
