"""The pytest plugin: inert in a foreign project, and scenarios as items in one that asks for them."""

from pathlib import Path

import pytest

from harness.guard.process import Guard
from harness.scenario.arms import named
from harness.scenario.load import parse_scenario
from harness.suite.plan import RunPlan
from harness.suite.runner import CaseRunner

pytest_plugins = ["pytester"]

SCENARIO = """\
id: small
title: One answer
proves: [loop.tools.every-call-answered]
user: Go.
tools:
  look: {parameters: {type: object}, effect: read_only, answers: [{text: seen}]}
script:
  - calls: [{tool: look, arguments: {}}]
  - say: Done.
expect: {outcome: completed, executed: {look: 1}}
"""
USER_TEST = "def test_mine():\n    assert True\n"


def _project(pytester: pytest.Pytester, configuration: str) -> None:
    pytester.makepyfile(test_mine=USER_TEST)
    (pytester.path / "promises").mkdir()
    (pytester.path / "promises" / "small.yaml").write_text(SCENARIO, encoding="utf-8")
    (pytester.path / "pyproject.toml").write_text(f"[tool.pytest.ini_options]\n{configuration}", encoding="utf-8")


def test_a_foreign_project_collects_nothing_of_ours(pytester: pytest.Pytester) -> None:
    _project(pytester, "")
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--collect-only", "-q")
    done.stdout.fnmatch_lines(["test_mine.py::test_mine", "", "1 test collected*"])


def test_loading_the_plugin_imports_no_sdk_and_no_heavy_library(pytester: pytest.Pytester) -> None:
    _project(pytester, "")
    heavy = ("openai", "anthropic", "pydantic", "hypothesis")
    code = f"import sys, harness.plugin; print([name for name in {heavy} if name in sys.modules])"
    assert pytester.runpython_c(code).stdout.str().strip() == "[]"


def test_a_project_that_names_a_folder_gets_an_item_for_each_arm(pytester: pytest.Pytester) -> None:
    _project(pytester, '[tool.harness]\nscenarios = ["promises"]\n')
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-v")
    done.assert_outcomes(passed=9)
    done.stdout.fnmatch_lines(["*small[[]anthropic-messages-stream] PASSED*"])


def test_a_broken_promise_fails_its_item_with_the_block_and_no_traceback(pytester: pytest.Pytester) -> None:
    _project(pytester, '[tool.harness]\nscenarios = ["promises"]\n')
    broken = SCENARIO.replace("look: 1}", "look: 2}")
    (pytester.path / "promises" / "small.yaml").write_text(broken, encoding="utf-8")
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--harness-depth", "sim")
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(["FAIL  sim  scenario.expect*", "*replay    harness replay *"])
    done.stdout.no_fnmatch_line("*Traceback*")


def test_a_bad_scenario_file_is_a_collection_error_with_line_and_mend(pytester: pytest.Pytester) -> None:
    _project(pytester, '[tool.harness]\nscenarios = ["promises"]\n')
    bad = SCENARIO.replace("script:", "scrpt:")
    (pytester.path / "promises" / "small.yaml").write_text(bad, encoding="utf-8")
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    assert done.ret == pytest.ExitCode.INTERRUPTED
    done.stdout.fnmatch_lines(["*small.yaml:7: unknown key `scrpt`; did you mean `script`?*"])


def test_an_item_that_reaches_outside_fails_although_its_code_swallowed_it(pytester: pytest.Pytester) -> None:
    _project(pytester, '[tool.harness]\nscenarios = ["promises"]\n')
    pytester.makepyfile(
        test_mine="""
        import sys

        def test_reaches_outside():
            # The audit event alone: nothing is sent.
            try:
                sys.audit("socket.connect", None, ("203.0.113.7", 443))
            except ConnectionRefusedError:
                pass
        """
    )
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "test_mine.py")
    done.assert_outcomes(passed=1, errors=1)
    done.stdout.fnmatch_lines(["*network guard denied*203.0.113.7*"])


class _Tattling(Guard):
    """A guard that has seen something."""

    def __init__(self) -> None:
        super().__init__(Path("unused"))

    def take(self) -> tuple[str, ...]:
        return ("socket.connect to 203.0.113.7:443 denied",)


def test_a_denied_connection_is_a_fault_of_the_harness_not_of_the_subject() -> None:
    scenario = parse_scenario(SCENARIO, "small.yaml")
    result = CaseRunner(RunPlan(depth="sim"), _Tattling()).run(scenario, named("sim"), "")
    assert result.fault is not None and "203.0.113.7" in result.fault
    assert not result.broken("must")


def test_a_case_that_nothing_judged_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.scenario.runner._findings", lambda *_: [])
    scenario = parse_scenario(SCENARIO, "small.yaml")
    result = CaseRunner(RunPlan(depth="sim"), None).run(scenario, named("sim"), "")
    assert result.fault is not None and "proves nothing" in result.fault
