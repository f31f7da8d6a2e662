"""Running a scenario: what is a finding, what is a fault of the harness, and what does not apply."""

import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from harness.checks.requirements import load_requirements
from harness.data_root import data_root
from harness.loop.sqlite_store import SqliteStore
from harness.scenario.document import Document
from harness.scenario.format import Scenario
from harness.scenario.runner import ScenarioRun, run_scenario
from harness.scenario.subject import Depth, Subject, SubjectFailed, World
from harness.subjects.reference import Reference
from harness.vocabulary.capabilities import CAPABILITIES
from harness.vocabulary.content import AssistantMessage, Text, ToolCall, UserMessage
from harness.vocabulary.outcome import RunOutcome, Status
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.stream import TurnEnded
from harness.vocabulary.trace import Intervened, RequestSent, RunEnded, ToolStarted
from harness.vocabulary.verdict import Finding, Requirement, VerdictName

TEXT = """
id: s
title: t
proves: [loop.tools.every-call-answered]
user: u
tools:
  read: {effect: read_only, answers: [{text: "r{n}", repeat: always}]}
  pay: {effect: non_idempotent, answers: [{text: "p{n}", repeat: always}]}
script:
  - calls: [{tool: read}, {tool: pay}]
  - say: Done.
expect: {outcome: completed, executed: {pay: 1}}
"""


@pytest.fixture(scope="module")
def requirements() -> Mapping[str, Requirement]:
    return load_requirements(data_root() / "contracts" / "requirements")


def scenario(text: str = TEXT, more: str = "") -> Scenario:
    return Scenario.model_validate(Document(text + more).value)


class Fake:
    """A tiny subject at depth sim: asks the model until it says something, with a twist."""

    name = "fake"
    depths: frozenset[Depth] = frozenset({"sim"})

    def __init__(self, twist: Callable[[World], RunOutcome], capabilities: frozenset[str] = frozenset()) -> None:
        self._twist, self.capabilities = twist, capabilities

    def run(self, world: World) -> RunOutcome:
        outcome = self._twist(world)
        world.record(RunEnded(outcome=outcome))
        return outcome


def one_answer(world: World) -> RunOutcome:
    request = ModelRequest(model="m", system=world.plan.system, tools=(), items=(UserMessage((Text("u"),)),))
    (event,) = world.model().attempt(request)
    said = event.turn.message if isinstance(event, TurnEnded) else AssistantMessage(())
    message = "".join(part.text for part in said.content if isinstance(part, Text))
    conversation = (*request.items, said)
    return RunOutcome(status=Status.COMPLETED, message=message, conversation=conversation)


def verdicts(run: ScenarioRun, check: str) -> list[VerdictName]:
    return [one.verdict for one in run.findings if one.check == check]


def failures(run: ScenarioRun) -> list[Finding]:
    return [one for one in run.findings if one.verdict is VerdictName.FAIL]


@pytest.mark.parametrize("transport", ["sim", "openai-chat", "openai-responses", "anthropic-messages", "xml-fallback"])
@pytest.mark.parametrize("streaming", [True, False])
def test_the_reference_keeps_its_promises_on_every_arm(
    transport: str, streaming: bool, requirements: Mapping[str, Requirement]
) -> None:
    run = run_scenario(scenario(), Reference(), requirements=requirements, transport=transport, streaming=streaming)
    assert run.harness_fault is None and run.kept
    assert verdicts(run, "scenario.expect") == [VerdictName.PASS] * 2
    assert verdicts(run, "trace.equal") == ([] if transport == "sim" else [VerdictName.PASS])
    assert run.depth == ("sim" if transport == "sim" else "wire")


def test_over_a_wire_the_record_of_a_request_holds_what_was_built_and_what_was_sent(
    requirements: Mapping[str, Requirement],
) -> None:
    run = run_scenario(scenario(), Reference(), requirements=requirements, transport="openai-chat")
    sent = [one for one in run.trace if isinstance(one, RequestSent)]
    assert len(sent) == 2
    assert all(one.built is not None and one.payload and not one.violations for one in sent)


def test_a_missing_capability_makes_every_proven_rule_not_applicable(requirements: Mapping[str, Requirement]) -> None:
    run = run_scenario(scenario(more="requires: [approval]\n"), Fake(one_answer), requirements=requirements)
    assert [(one.check, one.verdict) for one in run.findings] == [
        ("loop.tools.every-call-answered", VerdictName.NOT_APPLICABLE)
    ]
    assert run.findings[0].actual == "the subject does not declare approval"
    assert run.trace == ()


def test_another_arm_than_the_scenario_s_and_another_depth_than_the_subject_s_do_not_apply(
    requirements: Mapping[str, Requirement],
) -> None:
    confined = run_scenario(scenario(more="arms: [openai-chat-stream]\n"), Reference(), requirements=requirements)
    assert confined.findings[0].actual == "the scenario is confined to openai-chat-stream"
    deep = run_scenario(scenario(), Fake(one_answer), requirements=requirements, transport="openai-chat")
    assert deep.findings[0].actual == "the subject does not run at depth wire"


def test_a_script_that_is_not_played_to_its_end_is_a_failure(requirements: Mapping[str, Requirement]) -> None:
    run = run_scenario(scenario(), Fake(one_answer), requirements=requirements)
    (unplayed,) = [one for one in run.findings if one.check == "scenario.unplayed"]
    assert (unplayed.verdict, unplayed.actual) == (VerdictName.FAIL, "1 replies were never asked for")
    allowed = run_scenario(scenario(more="unplayed: allowed\n"), Fake(one_answer), requirements=requirements)
    assert verdicts(allowed, "scenario.unplayed") == []


def test_leaving_the_script_fails_the_rule_that_it_points_to(requirements: Mapping[str, Requirement]) -> None:
    text = TEXT.replace("  - calls: [{tool: read}, {tool: pay}]\n", "").replace(
        "say: Done.", "say: Done.\n    when: {control: steps}"
    )
    run = run_scenario(scenario(text), Fake(one_answer), requirements=requirements)
    assert "loop.budget.reserve-is-synthesis" in [one.check for one in failures(run)]


def test_a_subject_that_ends_without_an_outcome_has_failed(requirements: Mapping[str, Requirement]) -> None:
    def dies(world: World) -> RunOutcome:
        raise SubjectFailed("the process ended with code 3")

    run = run_scenario(scenario(), Fake(dies), requirements=requirements)
    (finding,) = [one for one in run.findings if one.check == "scenario.outcome"]
    assert (finding.verdict, finding.actual) == (VerdictName.FAIL, "the process ended with code 3")
    assert run.harness_fault is None and not run.kept


def test_an_exception_of_the_harness_is_no_finding(requirements: Mapping[str, Requirement]) -> None:
    def broken(world: World) -> RunOutcome:
        raise ZeroDivisionError("in our own code")

    run = run_scenario(scenario(), Fake(broken), requirements=requirements)
    assert run.findings == () and not run.kept
    assert (
        run.harness_fault is not None
        and "ZeroDivisionError: in our own code (test_scenario_runner.py:" in run.harness_fault
    )


def test_a_fault_of_the_simulated_provider_is_no_finding(requirements: Mapping[str, Requirement]) -> None:
    text = TEXT.replace("say: Done.", "say: Done.\n    stop: pause")
    run = run_scenario(scenario(text), Reference(), requirements=requirements, transport="openai-chat")
    assert run.findings == ()
    assert run.harness_fault is not None and "UnencodableTurn" in run.harness_fault


def test_a_run_that_differs_from_depth_sim_is_told(requirements: Mapping[str, Requirement]) -> None:
    class TwoFaced(Reference):
        def run(self, world: World) -> RunOutcome:
            if world.depth == "sim":
                world.plan = replace(world.plan, user="another question")
            return super().run(world)

    run = run_scenario(scenario(), TwoFaced(), requirements=requirements, transport="anthropic-messages")
    (finding,) = failures(run)
    assert (finding.check, finding.actual) == ("trace.equal", "'u'")
    assert "request 1, request.items.user.text: 'another question'" in finding.expected


def test_a_run_that_is_suspended_without_end_has_failed(requirements: Mapping[str, Requirement]) -> None:
    def circles(world: World) -> RunOutcome:
        while True:
            world.suspended(["call_1"])

    run = run_scenario(scenario(), Fake(circles), requirements=requirements)
    (finding,) = [one for one in run.findings if one.check == "scenario.outcome"]
    assert "suspended 101 times" in finding.actual


CRASH = [
    "{after: call_model}",
    "{after: call_model, nth: 2}",
    "{after: run_tool, call: read}",
    "{after: write_checkpoint, call: tool_pending}",
    "{after: write_checkpoint, call: final}",
    "{after: emit, call: run.completed}",
    "{after: mark_effect_sent}",
]


@pytest.mark.parametrize("transport", ["sim", "openai-responses"])
@pytest.mark.parametrize("crash", CRASH)
def test_a_killed_run_goes_on_from_its_store(
    crash: str, transport: str, requirements: Mapping[str, Requirement]
) -> None:
    text = TEXT.replace("expect: {outcome: completed, executed: {pay: 1}}", "expect: {outcome: completed}")
    run = run_scenario(scenario(text, f"crash: {crash}\n"), Reference(), requirements=requirements, transport=transport)
    assert run.harness_fault is None
    assert [one.do for one in run.trace if isinstance(one, Intervened)] == ["crash"]
    assert run.outcome is not None and run.outcome.message == "Done."
    assert verdicts(run, "scenario.unplayed") == [VerdictName.PASS]
    paid = [one for one in run.trace if isinstance(one, ToolStarted) and one.tool == "pay"]
    assert len(paid) <= 1


def test_a_run_killed_at_every_point_keeps_its_end(requirements: Mapping[str, Requirement]) -> None:
    run = run_scenario(scenario(more="crash: {every: true}\n"), Reference(), requirements=requirements)
    assert verdicts(run, "loop.crash.every-point") == [VerdictName.PASS]


def test_a_store_on_disk_serves_as_well_as_memory(tmp_path: str, requirements: Mapping[str, Requirement]) -> None:
    made: list[SqliteStore] = []

    def store() -> SqliteStore:
        made.append(SqliteStore(f"{tmp_path}/runs{len(made)}.db"))
        return made[-1]

    subject: Subject = Reference(store)
    run = run_scenario(scenario(more="crash: {every: true}\n"), subject, requirements=requirements)
    assert run.kept and len(made) > 10


def test_a_subject_that_loses_its_work_in_a_crash_breaks_the_promise(requirements: Mapping[str, Requirement]) -> None:
    from harness.scenario.crash import SimulatedCrash

    def forgetful(world: World) -> RunOutcome:
        try:
            world.crash.performed("call_model", None)
            world.crash.performed("run_tool", "call_1")
        except SimulatedCrash:
            world.crashed()
            return RunOutcome(status=Status.COMPLETED, message="what was I doing?")
        for _ in range(world.crash.effects and 2):
            world.tools.run(ToolCall("call_2", "pay", "{}"), "key")
        return RunOutcome(status=Status.COMPLETED, message="Done.")

    subject = Fake(forgetful, frozenset(CAPABILITIES))
    run = run_scenario(scenario(more="crash: {every: true}\nunplayed: allowed\n"), subject, requirements=requirements)
    broken = [one for one in failures(run) if one.check == "loop.crash.every-point"]
    assert [one.expected for one in broken] == [
        "killed after effect 1: message Done.",
        "killed after effect 2: message Done.",
    ]


def test_of_two_workers_the_late_one_changes_nothing(requirements: Mapping[str, Requirement]) -> None:
    text = TEXT.replace("{tool: read}, {tool: pay}", "{tool: read}")
    more = "crash: {after: write_checkpoint, call: tool_call, then: resume_by_two}\nunplayed: allowed\n"
    text = text.replace(", executed: {pay: 1}", "")
    run = run_scenario(scenario(text, more), Reference(), requirements=requirements)
    assert run.outcome is not None and run.outcome.message == "Done."
    done = [one.do for one in run.trace if isinstance(one, Intervened)]
    assert done == ["crash", "resume", "fenced"]


def test_a_run_without_a_wire_loads_no_sdk_and_nothing_that_slows_a_start() -> None:
    code = """
import sys
from pathlib import Path
from harness.checks.requirements import load_requirements
from harness.data_root import data_root
from harness.scenario.load import load_scenario
from harness.scenario.runner import run_scenario
from harness.subjects.reference import Reference
root = data_root()
scenario = load_scenario(root / "scenarios" / "breaker" / "identical-calls-earn-synthesis.yaml")
run = run_scenario(scenario, Reference(), requirements=load_requirements(root / "contracts" / "requirements"))
assert run.kept, run
print(*sorted({"openai", "anthropic", "httpx2", "hypothesis", "pytest", "sqlite3"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
