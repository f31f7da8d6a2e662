"""The loop contract on the reference loop, and on loops that are broken on purpose: those it must catch."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from harness.contract.loop_contract import LoopContract
from harness.data_root import data_root
from harness.scenario.arms import Arm
from harness.scenario.subject import Depth, Subject, World
from harness.subjects.reference import Reference
from harness.vocabulary.content import ToolResult
from harness.vocabulary.outcome import RunOutcome
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.trace import Record, RequestSent

SCENARIOS = data_root() / "scenarios"
CHOSEN = (
    SCENARIOS / "budget" / "batch-one-over-the-limit.yaml",
    SCENARIOS / "budget" / "reserve-of-steps.yaml",
    SCENARIOS / "tools" / "unknown-tool-goes-on.yaml",
)


class TestReferenceLoop(LoopContract):
    """All four wires, streaming and not, and without a wire."""

    scenarios = CHOSEN

    def make_subject(self) -> Subject:
        return Reference()


Change = Callable[[ModelRequest], ModelRequest]


@dataclass
class _Broken:
    """The reference loop as a trace shows it after `change` has spoilt its requests."""

    change: Change
    name: str = "broken"
    capabilities: frozenset[str] = Reference.capabilities
    depths: frozenset[Depth] = frozenset({"sim"})

    def run(self, world: World) -> RunOutcome:
        record = world.record
        spoilt: Any = lambda one: record(_changed(one, self.change))  # noqa: E731
        world.record = spoilt  # type: ignore[method-assign]
        world.script._record = spoilt
        return Reference().run(world)


def _changed(record: Record, change: Change) -> Record:
    if not isinstance(record, RequestSent):
        return record
    built = None if record.built is None else change(record.built)
    return replace(record, request=change(record.request), built=built)


def _without_refusals(request: ModelRequest) -> ModelRequest:
    kept = [one for one in request.items if not (isinstance(one, ToolResult) and one.reason_code)]
    return replace(request, items=tuple(kept))


def _with_tools_gone(request: ModelRequest) -> ModelRequest:
    return replace(request, tools=()) if request.control else request


def _without_tool_choice(request: ModelRequest) -> ModelRequest:
    return replace(request, tool_choice=None)


def _leaking(request: ModelRequest) -> ModelRequest:
    return replace(request, control=replace(request.control, name="cost")) if request.control else request


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (_without_refusals, "loop.tools.every-call-answered"),
        (_with_tools_gone, "loop.synthesis.history-intact"),
        (_without_tool_choice, "loop.synthesis.tool-choice"),
        (_leaking, "loop.budget.reserve-is-synthesis"),
    ],
)
def test_a_broken_loop_fails_with_the_rule_that_it_breaks(change: Change, rule: str) -> None:
    class Broken(LoopContract):
        def make_subject(self) -> Subject:
            return _Broken(change)

    with pytest.raises(pytest.fail.Exception, match=rf"FAIL  sim  {re.escape(rule)}  \[MUST\]") as failed:
        Broken().test_the_promises_of_a_scenario_are_kept(CHOSEN[0], Arm("sim", True))
    assert "scenario batch-one-over-the-limit" in str(failed.value)


def test_a_missing_folder_is_said() -> None:
    class Lost(LoopContract):
        scenarios = ("no-such-folder",)

    with pytest.raises(pytest.UsageError, match=r"Lost\.scenarios: no such file or folder: no-such-folder"):
        Lost()._cases()


def test_a_subclass_without_a_subject_is_told_what_to_return() -> None:
    with pytest.raises(NotImplementedError, match="LoopContract: return the loop under test"):
        LoopContract().make_subject()
