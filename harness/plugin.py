"""The pytest plugin: scenario files become items where a project asks for them; nothing happens anywhere else.

It asks for them by `[tool.harness] scenarios` (or harness.toml) at or above pytest's root folder, or through the
`harness` command, which passes its plan in one option. At load this module imports neither an SDK nor pydantic nor
hypothesis: a foreign project pays nothing for having it installed.
"""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

PLAN_OPTION = "--harness-plan"

# At load, not at configure: a project's conftest.py, which may import a contract class, is imported in between.
pytest.register_assert_rewrite("harness.contract")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of scenario runs under plain pytest, and the command line's own."""
    group = parser.getgroup("harness", "scenarios of run-loop-harness")
    group.addoption("--harness-transport", action="append", default=[], metavar="T", help="run on this transport only")
    group.addoption("--harness-stream", choices=("both", "stream", "plain"), default="both", help="streaming modes")
    group.addoption("--harness-depth", choices=("sim", "wire"), default="wire", help="how deep a scenario runs")
    group.addoption(PLAN_OPTION, default="", help="the plan of a `harness` command, as JSON")


def pytest_configure(config: pytest.Config) -> None:
    """Take part in this session if it is the command line's, or if its project names scenario folders."""
    plan = _plan(config)
    if plan is not None:
        from harness.suite.taking_part import TakingPart

        config.pluginmanager.register(TakingPart(config, plan), "harness-session")


def _plan(config: pytest.Config) -> Any:
    text = config.getoption(PLAN_OPTION)
    if text:
        from harness.suite.plan import plan_from_text

        return plan_from_text(text)
    from harness.config import ConfigurationError, find_table

    try:
        file, table = find_table(config.rootpath)
    except ConfigurationError as error:
        raise pytest.UsageError(str(error)) from None
    if file is None or not table.get("scenarios"):
        return None
    return _own_plan(config, file.parent, table)


def _own_plan(config: pytest.Config, base: Path, table: dict[str, Any]) -> Any:
    from harness.suite.plan import RunPlan

    return RunPlan(
        folders=tuple(str(base / folder) for folder in table["scenarios"]),
        transports=tuple(config.getoption("--harness-transport")),
        streaming=config.getoption("--harness-stream"),
        depth=config.getoption("--harness-depth"),
        subject=table.get("subject", "reference"),
        seed=table.get("seed", 0),
        expected_failures=str(base / table["expected_failures"]) if table.get("expected_failures") else "",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let a case's result travel with its report, also from a worker process."""
    report = yield
    result = getattr(item, "result", None)
    if report.when == "call" and result is not None:
        from harness.reports.result import to_json

        # Attributes of a report travel from a worker process as they are, if they are plain data.
        vars(report)["harness"] = to_json(result)
        vars(report)["harness_calls"] = getattr(item, "calls", [])
    return report
