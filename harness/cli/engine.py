"""Starting pytest as the engine of a run: its own ini, root and plugins, whatever the folder it is started in holds.

A user's addopts, conftest files, PYTEST_ADDOPTS and other plugins cannot change what a gate does (build-facts.md).
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from harness.cli.progress import Progress
from harness.plugin import PLAN_OPTION
from harness.suite.plan import RunPlan
from harness.suite.selection import Selected
from harness.suite.session import RunSession
from harness.suite.taking_part import SESSION

_INI = Path(__file__).parent / "engine.ini"
_FOREIGN = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTEST_DEBUG", "PYTEST_THEME")
_AUTOLOAD = "PYTEST_DISABLE_PLUGIN_AUTOLOAD"
_OFF = ("cacheprovider", "terminal", "junitxml", "pastebin", "nose", "doctest", "unittest", "legacypath", "debugging")


class Front:
    """Sits in the controlling process: shows progress, keeps the session and what could not be collected."""

    def __init__(self, total: int) -> None:
        self.session: RunSession | None = None
        self.problems: list[str] = []
        self._total = total
        self._progress: Progress | None = None

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """The session is there."""
        self.session = config.stash.get(SESSION, None)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Something could not be collected."""
        if report.failed:
            self.problems.append(str(report.longrepr))

    def pytest_internalerror(self, excrepr: Any, excinfo: Any) -> bool:
        """Pytest itself, or code of ours inside it, failed. True: pytest must not print the traceback."""
        from harness.reports.record import RecordError

        error = excinfo.value
        told = isinstance(error, RecordError)
        self.problems.append(str(error) if told else str(excrepr).strip().splitlines()[-1])
        return True

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One case is done."""
        if getattr(report, "harness", None) is None:
            return
        from harness.reports.result import from_json

        if self._progress is None:
            self._progress = Progress(self._total)
        self._progress.advance(from_json(report.harness), report.failed)

    def close(self) -> None:
        """Take the progress bar away."""
        if self._progress is not None:
            self._progress.close()


def run_engine(plan: RunPlan, chosen: Sequence[Selected], jobs: int, total: int) -> tuple[int, Front]:
    """Run the chosen cases; pytest's exit code, and what the front saw."""
    front = Front(total)
    # One root above every chosen file: pytest gives a file outside its root no name in an item's id.
    root = os.path.commonpath([os.getcwd(), *(one.file.resolve().parent for one in chosen)])
    arguments = ["-p", "harness.plugin", "-c", str(_INI), "--rootdir", root, "--confcutdir", root, "--noconftest"]
    # Scenario files hold no assert to rewrite, and the hook for it would look at each of an SDK's thousand modules.
    arguments += ["--assert=plain", "--import-mode=importlib", PLAN_OPTION, plan.to_text()]
    arguments += [part for name in _OFF for part in ("-p", f"no:{name}")]
    if jobs > 1:
        arguments += ["-p", "xdist.plugin", "-n", str(jobs), "--maxprocesses", str(jobs)]
    try:
        with _own_environment():
            code = pytest.main([*arguments, *(one.argument for one in chosen)], plugins=[front])
    finally:
        front.close()
    return int(code), front


@contextmanager
def _own_environment() -> Iterator[None]:
    """The environment without what would change pytest; put back afterwards, for whoever called in process."""
    kept = {name: os.environ.get(name) for name in (*_FOREIGN, _AUTOLOAD)}
    for name in _FOREIGN:
        os.environ.pop(name, None)
    os.environ[_AUTOLOAD] = "1"
    try:
        yield
    finally:
        for name, value in kept.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
