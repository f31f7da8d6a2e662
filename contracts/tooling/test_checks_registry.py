"""How findings become verdicts."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.checks.registry import MOST_FAILURES, judge
from harness.checks.requirements import load_requirements
from harness.data_root import data_root
from harness.vocabulary.outcome import Status
from harness.vocabulary.trace import Violation
from harness.vocabulary.turn import FaultKind
from harness.vocabulary.verdict import Requirement, VerdictName

FIT = "loop.budget.fit-before-dispatch"
REJECTS = "loop.synthesis.provider-rejects-call"
KNOWN = load_requirements(data_root() / "contracts" / "requirements")


def batch_over_budget(run: Callable[..., Any], **more: Any) -> Any:
    trace = run(limits={"max_tool_calls": 1}, **more)
    a, b = trace.call("fetch", {"u": 1}), trace.call("fetch", {"u": 2})
    return trace.request().reply(a, b).execute(a).refuse(b).join().answer(mode="tool_calls")


def test_no_failure_and_an_occasion_is_a_pass(run: Callable[..., Any]) -> None:
    assert batch_over_budget(run).verdict(FIT) is VerdictName.PASS


def test_a_pass_is_told_for_rules_nobody_asked_for(run: Callable[..., Any]) -> None:
    found = {one.check: one.verdict for one in judge(batch_over_budget(run).trace, proves=[], requirements=KNOWN)}
    assert found[FIT] is VerdictName.PASS


def test_a_failure_fails_and_names_the_request(run: Callable[..., Any]) -> None:
    trace = run(limits={"max_tool_calls": 1})
    trace.request().reply(trace.call("fetch", {"u": 1}), trace.call("fetch", {"u": 2})).execute().join().answer()
    found = trace.findings(FIT)[0]
    assert (found.verdict, found.request, found.level) == (VerdictName.FAIL, 1, "MUST")
    assert found.source.startswith("ADR-0115")


def test_a_broken_should_warns(run: Callable[..., Any]) -> None:
    trace = run(limits={"max_tool_calls": 0}).request("tool_calls").fault(FaultKind.CALL_REJECTED, status=400)
    trace.end(Status.FAILED, "model_permanent_error", "ModelPermanentError")
    assert trace.verdict(REJECTS) is VerdictName.WARN


def test_no_occasion_is_untestable_where_it_was_to_be_proven(run: Callable[..., Any]) -> None:
    assert run().answer().verdict(FIT) is VerdictName.UNTESTABLE


def test_no_occasion_is_no_finding_elsewhere(run: Callable[..., Any]) -> None:
    assert FIT not in {one.check for one in judge(run().answer().trace, proves=[], requirements=KNOWN)}


def test_a_missing_capability_is_not_applicable(run: Callable[..., Any]) -> None:
    found = batch_over_budget(run, without=["budget-synthesis"]).findings(FIT)[0]
    assert found.verdict is VerdictName.NOT_APPLICABLE
    assert "budget-synthesis" in found.actual


def test_a_rule_of_another_transport_is_not_applicable(run: Callable[..., Any]) -> None:
    assert run().answer().verdict("loop.synthesis.xml") is VerdictName.NOT_APPLICABLE
    assert run(transport="xml-fallback").answer().verdict("loop.synthesis.tool-choice") is VerdictName.NOT_APPLICABLE


def test_a_planned_rule_is_never_reported_as_kept(run: Callable[..., Any]) -> None:
    later = Requirement(id="loop.crash.later", level="MUST", statement="s", source="s", planned="crash")
    (found,) = judge(run().answer().trace, proves=[later.id], requirements={**KNOWN, later.id: later})[-1:]
    assert (found.verdict, found.actual) == (VerdictName.UNTESTABLE, "none yet (planned: crash)")


def test_a_script_fault_fails_the_rule_that_it_names(run: Callable[..., Any]) -> None:
    trace = run().request().script_fault("loop.breaker.synthesis-before-limit", "no turn left in the script").end()
    found = trace.findings("loop.breaker.synthesis-before-limit")[0]
    assert (found.verdict, found.actual, found.request) == (VerdictName.FAIL, "no turn left in the script", 1)


def test_a_script_fault_of_a_planned_rule_fails_too(run: Callable[..., Any]) -> None:
    trace = run().request().script_fault("loop.crash.recovery", "asked twice").end()
    assert VerdictName.FAIL in {found.verdict for found in trace.findings("loop.crash.recovery")}


def test_what_the_judge_of_the_wire_found_fails_with_its_pointer(run: Callable[..., Any]) -> None:
    broken = Violation(rule="pairs", pointer="/messages/4/content", message="no result for c1", mend="answer it")
    trace = run(transport="anthropic-messages").request(violations=[broken]).fault(FaultKind.PERMANENT, status=400)
    trace.end(Status.FAILED, "model_permanent_error", "ModelPermanentError")
    found = trace.findings("wire.legal")[0]
    assert (found.verdict, found.request, found.pointer) == (VerdictName.FAIL, 1, "/messages/4/content")
    assert "no result for c1" in found.actual
    assert "answer it" in found.expected


def test_a_request_that_could_not_be_read_fails_as_that_alone(run: Callable[..., Any]) -> None:
    broken = Violation(rule="shape", pointer="/messages", message="not a list")
    trace = (
        run(transport="openai-chat", without=["checkpoints"])
        .step(("fetch", {}))
        .request(items=(), tools=(), system="", violations=[broken])
    )
    trace.fault(FaultKind.PERMANENT, status=400).fail("model_permanent_error", "ModelPermanentError")
    broken_rules = {
        found.check for found in judge(trace.trace, proves=[], requirements=KNOWN) if found.verdict == "fail"
    }
    assert broken_rules == {"wire.legal"}


def test_a_legal_wire_passes(run: Callable[..., Any]) -> None:
    assert run(transport="openai-chat").answer().verdict("wire.legal") is VerdictName.PASS
    assert run().answer().verdict("wire.legal") is VerdictName.NOT_APPLICABLE


def test_many_failures_of_one_kind_are_told_briefly(run: Callable[..., Any]) -> None:
    trace = run(limits={"max_steps": 50, "max_model_calls": 50, "max_tool_calls": 1})
    for place in range(30):
        trace.step(("fetch", {"u": place}))
    found = trace.answer().findings(FIT)
    assert len(found) == MOST_FAILURES + 1
    assert found[-1].actual == "and 19 more failures of this kind"


def test_an_unknown_rule_is_refused(run: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match=r"loop\.nothing\.here"):
        judge(run().trace, proves=["loop.nothing.here"], requirements=KNOWN)


def test_judging_by_nothing_is_refused(run: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="nothing to judge by"):
        judge(run().trace, proves=[], requirements={})


def test_a_trace_without_a_beginning_is_the_harness_fault(run: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="begins with RunStarted"):
        judge(run().answer().trace[1:], proves=[], requirements=KNOWN)
