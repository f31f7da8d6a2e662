"""Whatever a model, its tools and the world around them do, the pure loop keeps its promises after every step."""

from pathlib import Path

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from harness.contract.loop_machine import LoopMachine
from harness.contract.loop_promises import requirements
from harness.loop import turns
from harness.scenario.load import load_scenario
from harness.scenario.runner import run_scenario
from harness.subjects.reference import Reference

LoopMachine.found = Path(__file__).parent.parent / "reports" / "found"
TestLoopMachine = LoopMachine.TestCase
TestLoopMachine.settings = settings(stateful_step_count=30)


def test_a_failing_example_is_a_scenario_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop without its hard limit is found, and each file that is written shows it to the scenario runner too."""
    monkeypatch.setattr(turns, "over_limit", lambda *_: None)
    machine = type("Broken", (LoopMachine,), {"found": tmp_path})
    quick = settings(max_examples=200, stateful_step_count=30, phases=[Phase.generate], derandomize=True, database=None)
    with pytest.raises(AssertionError, match=r"written as .*found-.*\.yaml"):
        run_state_machine_as_test(machine, settings=quick)
    written = [load_scenario(file, requirements()) for file in tmp_path.iterdir()]
    assert written
    for scenario in written:
        assert not run_scenario(scenario, Reference(), requirements=requirements()).kept, scenario.id
