"""All checkers by the id of their rule, and the verdicts that they give on one run.

A failure is FAIL, or WARN for a SHOULD. No failure and at least one occasion is PASS. No occasion is UNTESTABLE for a
rule that the scenario sets out to prove, and no finding otherwise. A rule whose capability the subject does not
declare, or that has no meaning on the transport, is NOT_APPLICABLE where the scenario set out to prove it.
"""

import gc
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

from harness.checks import (
    answers,
    approval,
    breaker,
    budget,
    budget_fit,
    context,
    crash,
    dispatch,
    elision,
    events,
    model,
    progress,
    reasoning,
    stops,
    synthesis,
    tools,
    turn,
    verdicts,
    views,
    wire,
)
from harness.checks.finding import Check, Failure
from harness.checks.reader import read
from harness.checks.timeline import SIM, XML, Timeline
from harness.vocabulary.trace import Record, ScriptFault
from harness.vocabulary.verdict import Finding, Requirement, VerdictName

MOST_FAILURES = 10
"""Failures of one check that are told one by one."""
_WIRES = frozenset({"openai-responses", "openai-chat", "anthropic-messages", XML})
_NATIVE = frozenset({SIM}) | _WIRES - {XML}
"""Where tools and calls travel in a form of their own, ids included, and not inside text."""
_REASONING = frozenset({SIM, "openai-responses", "anthropic-messages"})
"""Where a turn can hold reasoning."""

_ALL = (
    Check("loop.turn.order", turn.order),
    Check("loop.budget.fit-before-dispatch", budget_fit.fit_before_dispatch),
    Check("loop.budget.refusal-is-a-result", budget_fit.refusal_is_a_result),
    Check("loop.budget.refusal-before-checkpoint", budget_fit.refusal_before_checkpoint),
    Check("loop.budget.tool-calls-never-fail-the-answer", budget.tool_calls_never_fail_the_answer),
    Check("loop.budget.reserve-is-synthesis", budget.reserve_is_synthesis),
    Check("loop.budget.reserve-violation", budget.reserve_violation),
    Check("loop.budget.step-scope", budget.step_scope),
    Check("loop.budget.accounting", budget_fit.accounting),
    Check("loop.budget.attempts-count", budget.attempts_count),
    Check("loop.budget.hard-stop", budget.hard_stop),
    Check("loop.budget.cost", budget.cost),
    Check("loop.budget.cumulative-usage", budget.cumulative_usage),
    Check("loop.breaker.threshold", breaker.threshold),
    Check("loop.breaker.synthesis-before-limit", breaker.synthesis_before_limit),
    Check("loop.breaker.hard-limit-before-dispatch", breaker.hard_limit_before_dispatch),
    Check("loop.breaker.violation-any-arguments", breaker.violation_any_arguments),
    Check("loop.breaker.overlap", breaker.overlap),
    Check("loop.breaker.no-extra-allowance", breaker.no_extra_allowance),
    Check("loop.breaker.resume", breaker.resume),
    Check("loop.breaker.retry-keeps-synthesis", breaker.retry_keeps_synthesis),
    Check("loop.breaker.counts", breaker.counts),
    Check("loop.breaker.evidence-reset", breaker.evidence_reset),
    Check("loop.breaker.reset-cap", breaker.reset_cap),
    Check("loop.progress.outcome-repetition", progress.outcome_repetition),
    Check("loop.progress.retry-budget", progress.retry_budget),
    Check("loop.progress.changing-outcome", progress.changing_outcome),
    Check("loop.progress.fail-closed", progress.fail_closed),
    Check("loop.progress.verdict", verdicts.verdict),
    Check("loop.synthesis.instruction", synthesis.instruction),
    Check("loop.synthesis.no-leak", synthesis.no_leak),
    Check("loop.synthesis.tool-choice", synthesis.tool_choice, _NATIVE),
    Check("loop.synthesis.history-intact", synthesis.history_intact),
    Check("loop.synthesis.xml", synthesis.xml, frozenset({XML})),
    Check("loop.synthesis.provider-rejects-call", synthesis.provider_rejects_call),
    Check("loop.context.prefix-frozen", context.prefix_frozen),
    Check("loop.context.pure", context.pure),
    Check("loop.context.elide-oldest", elision.elide_oldest),
    Check("loop.context.excerpt", views.excerpt),
    Check("loop.context.view-only", views.view_only),
    Check("loop.context.refetch-counts", context.refetch_counts),
    Check("loop.context.overflow", elision.overflow),
    Check("loop.context.well-formed-text", context.well_formed_text),
    Check("loop.model.one-owner", model.one_owner),
    Check("loop.model.transient-only", model.transient_only),
    Check("loop.model.retry-after", model.retry_after),
    Check("loop.model.terminal-required", model.terminal_required),
    Check("loop.model.empty-turn", model.empty_turn),
    Check("loop.model.truncated", answers.truncated),
    Check("loop.model.refusal", answers.refusal),
    Check("loop.model.paused", answers.paused),
    Check("loop.model.reasoning-verbatim", reasoning.verbatim, _REASONING),
    Check("loop.tools.every-call-answered", tools.every_call_answered),
    Check("loop.tools.invalid-arguments", tools.invalid_arguments),
    Check("loop.tools.unknown", tools.unknown),
    Check("loop.tools.ids", dispatch.ids, _NATIVE),
    Check("loop.tools.parallel", dispatch.parallel),
    Check("loop.tools.timeout", stops.timeout),
    Check("loop.tools.external-text-is-data", tools.external_text_is_data),
    Check("loop.events.no-arguments", events.no_arguments),
    Check("loop.approval.suspend", approval.suspend),
    Check("loop.approval.once", approval.once),
    Check("loop.approval.denied", approval.denied),
    Check("loop.cancel.points", stops.cancel_points),
    Check("loop.crash.checkpoints", crash.checkpoints),
    Check("loop.crash.effect-watermark", crash.effect_watermark),
    Check("loop.crash.recovery", crash.recovery),
    Check("loop.crash.every-point", crash.every_point),
    Check("loop.crash.fencing", crash.fencing),
    Check("wire.legal", wire.legal, _WIRES),
)
CHECKS: Mapping[str, Check] = {check.id: check for check in _ALL}
"""Every checker, by the id of its rule."""


def judge(
    trace: Sequence[Record], *, proves: Collection[str], requirements: Mapping[str, Requirement]
) -> list[Finding]:
    """The findings on one run, in the order of `CHECKS`.

    `proves` are the rules that the scenario sets out to show; `requirements` the rules to judge by (a checker whose
    rule is not among them does not run). Raises ValueError for a trace without a beginning, for a rule in `proves`
    that no requirement names, and if no checker is left: to judge nothing is no pass.
    """
    unknown = sorted(set(proves) - set(requirements))
    if unknown:
        raise ValueError(f"proves names rules that no requirement file holds: {', '.join(unknown)}")
    checks = [check for check in _ALL if check.id in requirements]
    if not checks:
        raise ValueError("none of the requirements has a checker: there is nothing to judge by")
    with _collector_paused():
        timeline = read(trace)
        faults = _script_failures(timeline.faults)
        findings: list[Finding] = []
        for check in checks:
            failures = faults.pop(check.id, [])
            findings.extend(_verdicts(check, timeline, requirements[check.id], check.id in proves, failures))
    findings.extend(_without_checker(proves, requirements))
    for rule, failures in faults.items():
        findings.extend(_failed(rule, requirements.get(rule), failures))
    return findings


@contextmanager
def _collector_paused() -> Iterator[None]:
    """No cyclic garbage collection meanwhile: a long trace is one large live heap, and walking it again and again took
    a third of the judge's time, with nothing to free."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _script_failures(faults: Sequence[ScriptFault]) -> dict[str, list[Failure]]:
    found: dict[str, list[Failure]] = {}
    for fault in faults:
        failure = Failure("a request for what the script holds", fault.message, fault.n or None)
        found.setdefault(fault.rule, []).append(failure)
    return found


def _verdicts(
    check: Check, timeline: Timeline, requirement: Requirement, wanted: bool, failures: list[Failure]
) -> Iterator[Finding]:
    obstacle = _obstacle(check, timeline, requirement)
    occasions = 0
    if not obstacle:
        for seen in check.look(timeline):
            occasions += 1
            if seen is not None:
                failures.append(seen)
    if failures:
        yield from _failed(check.id, requirement, failures)
    elif obstacle and wanted:
        yield _finding(requirement, VerdictName.NOT_APPLICABLE, actual=obstacle)
    elif occasions:
        yield _finding(requirement, VerdictName.PASS, actual=f"kept on {occasions} occasions")
    elif wanted:
        yield _finding(
            requirement, VerdictName.UNTESTABLE, "an occasion on which the rule can be seen", "the run had none"
        )


def _obstacle(check: Check, timeline: Timeline, requirement: Requirement) -> str:
    missing = sorted(requirement.requires - timeline.started.capabilities)
    if missing:
        return f"the subject does not declare {', '.join(missing)}"
    if check.transports is not None and timeline.transport not in check.transports:
        return f"the rule has no meaning on {timeline.transport}"
    return ""


def _without_checker(proves: Collection[str], requirements: Mapping[str, Requirement]) -> Iterator[Finding]:
    for name in sorted(set(proves) - set(CHECKS)):
        area = requirements[name].planned or "no area"
        yield _finding(
            requirements[name], VerdictName.UNTESTABLE, "a checker of the rule", f"none yet (planned: {area})"
        )


def _failed(rule: str, requirement: Requirement | None, failures: Sequence[Failure]) -> Iterator[Finding]:
    if requirement is None:
        requirement = Requirement(id=rule, level="MUST", statement="", source="")
    verdict = VerdictName.FAIL if requirement.level == "MUST" else VerdictName.WARN
    for failure in failures[:MOST_FAILURES]:
        yield Finding(
            check=rule,
            verdict=verdict,
            level=requirement.level,
            source=requirement.source,
            expected=failure.expected,
            actual=failure.actual,
            request=failure.request,
            pointer=failure.pointer,
        )
    more = len(failures) - MOST_FAILURES
    if more > 0:
        yield _finding(requirement, verdict, failures[MOST_FAILURES].expected, f"and {more} more failures of this kind")


def _finding(requirement: Requirement, verdict: VerdictName, expected: str = "", actual: str = "") -> Finding:
    return Finding(
        check=requirement.id,
        verdict=verdict,
        level=requirement.level,
        source=requirement.source,
        expected=expected,
        actual=actual,
    )
