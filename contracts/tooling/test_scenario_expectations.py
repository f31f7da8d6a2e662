"""Every key of an `expect` block can pass and can fail, and a finding says which key and what was seen."""

import pytest

from harness.scenario.arms import Arm
from harness.scenario.document import Document
from harness.scenario.expectations import CHECK, expectations
from harness.scenario.format import Scenario
from harness.scenario.format_expect import Expect
from harness.scenario.plan import plan_of
from harness.scenario.seen import look
from harness.scenario.subject import World
from harness.subjects.reference import Reference
from harness.vocabulary.capabilities import CAPABILITIES
from harness.vocabulary.verdict import Finding, VerdictName

TEXT = """
id: s
title: t
proves: [loop.turn.order, loop.tools.unknown]
user: u
limits: {{max_tool_calls: 3, max_cost: 1}}
settings: {{context_budget_tokens: 900, prices: {{sim-model: {{input: 1000, output: 0}}}}}}
tools:
  read: {{effect: read_only, answers: [{{large: 3000}}, {{text: small}}]}}
  pay: {{effect: non_idempotent, answers: [{{text: paid}}]}}
script:
  - calls: [{{tool: read}}]
  - fail: {{status: 503, retry_after: 2}}
  - calls: [{{tool: read, id: again}}, {{tool: pay}}, {{tool: pay}}]
  - say: "All paid. (one open)"
    stop: max_tokens
expect: {expect}
"""
FAILED = """
id: s
title: t
proves: [loop.turn.order]
user: u
script: [{{fail: {{status: 401, message: Who are you?}}}}]
expect: {expect}
"""


def judged(expect: str, text: str = TEXT, capabilities: frozenset[str] = frozenset(CAPABILITIES)) -> list[Finding]:
    scenario = Scenario.model_validate(Document(text.format(expect=expect)).value)
    world = World(scenario, plan_of(scenario), Arm("sim"), "sim", Reference())
    outcome = Reference().run(world)
    seen = look(scenario, world.plan, world.arm, world.script.delivered, world.trace, outcome)
    return expectations(seen, capabilities)


KEYS = {
    "outcome": ("outcome: completed", "outcome: failed", "completed"),
    "truncated": ("truncated: true", "truncated: false", "True"),
    "refused": ("refused: false", "refused: true", "False"),
    "final_text.equals": ('final_text: {equals: "All paid. (one open)"}', "final_text: {equals: All}", "All paid."),
    "final_text.contains": ("final_text: {contains: [open]}", "final_text: {contains: [open, shut]}", "All paid."),
    "final_text.not_contains": ("final_text: {not_contains: shut}", "final_text: {not_contains: open}", "All paid."),
    "executed.read": ("executed: {read: 2}", "executed: {read: 3}", "2 times"),
    "effects.pay": ("effects: {pay: 1}", "effects: {pay: 0}", "1 times"),
    "model_calls": ("model_calls: 4", "model_calls: 3", "4"),
    "attempts": ("attempts: 4", "attempts: 5", "4"),
    "steps": ("steps: 3", "steps: 4", "3"),
    "tool_calls": ("tool_calls: 3", "tool_calls: 4", "3"),
    "refused_calls": ("refused_calls: 1", "refused_calls: 0", "1"),
    "resets": ("resets: 1", "resets: 2", "1"),
    "results.again.is_error": (
        "results: [{call: again, is_error: false}]",
        "results: [{call: again, is_error: true}]",
        "False",
    ),
    "results.pay 2.reason_code": (
        "results: [{tool: pay, nth: 2, reason_code: tool.budget_exhausted}]",
        "results: [{tool: pay, nth: 2, reason_code: tool.denied}]",
        "tool.budget_exhausted",
    ),
    "results.call_9": (
        "results: [{call: call_1, is_error: false}]",
        "results: [{call: call_9, is_error: true}]",
        "no such",
    ),
    "requests.4.tool_choice": (
        "requests: [{at: 4, tool_choice: none}]",
        "requests: [{at: 4, tool_choice: default}]",
        "none",
    ),
    "requests.last.control": (
        "requests: [{at: last, control: tool_calls}]",
        "requests: [{at: last, control: none}]",
        "tool_calls",
    ),
    "requests.each.contains": (
        "requests: [{at: each, contains: u}]",
        "requests: [{at: each, contains: small}]",
        "u",
    ),
    "requests.2.not_contains": (
        "requests: [{at: 2, not_contains: paid}]",
        "requests: [{at: 2, not_contains: line}]",
        "line",
    ),
    "requests.2.items": ("requests: [{at: 2, items: 3}]", "requests: [{at: 2, items: 2}]", "3"),
    "requests.4.elided": (
        "requests: [{at: 4, elided: [call_1]}, {at: 2, elided: []}]",
        "requests: [{at: 4, elided: [again]}]",
        "pointers for ['call_1']",
    ),
    "requests.7": ("requests: [{at: 4, items: 7}]", "requests: [{at: 7, items: 9}]", "the run made 4"),
    "conversation.items": ("conversation: {items: 8}", "conversation: {items: 9}", "8"),
    "conversation.last": ("conversation: {last: assistant}", "conversation: {last: result}", "assistant"),
    "conversation.last_text.contains": (
        "conversation: {last_text: {equals: All paid. (one open)}}",
        "conversation: {last_text: {contains: shut}}",
        "All paid.",
    ),
    "conversation.contains": (
        "conversation: {contains: [paid, small], answered: true}",
        "conversation: {contains: absent}",
        "document.",
    ),
    "conversation.not_contains": ("conversation: {not_contains: absent}", "conversation: {not_contains: paid}", "line"),
    "events": (
        "events: [run.started, model.failed, run.completed]",
        "events: [run.completed, run.started]",
        "run.started",
    ),
    "checkpoints": ("checkpoints: [tool_pending, final]", "checkpoints: [final, tool_pending]", "tool_pending"),
    "waits": ("waits: [{at_least: 1, at_most: 2}]", "waits: [2.5]", "[2.0]"),
    "usage.input": ("usage: {input: 300}", "usage: {input: 100}", "300"),
    "usage.cost": ("usage: {cost: 0.3}", "usage: {cost: 0.30001}", "0.3"),
}


@pytest.mark.parametrize("key", KEYS)
def test_each_key_can_pass_and_can_fail(key: str) -> None:
    right, wrong, actual = KEYS[key]
    assert {one.verdict for one in judged(f"{{{right}}}")} == {VerdictName.PASS}
    failures = [one for one in judged(f"{{{wrong}}}") if one.verdict is VerdictName.FAIL]
    assert failures and all(one.check == CHECK and one.expected.startswith(f"{key}: ") for one in failures)
    assert actual in failures[0].actual


FAILURE_KEYS = {
    "outcome": ("outcome: failed", "outcome: completed", "failed (model_permanent_error, ModelPermanentError)"),
    "reason": ("reason: model_permanent_error", "reason: internal_error", "model_permanent_error"),
    "error_class": ("error_class: ModelPermanentError", "error_class: ContentFiltered", "ModelPermanentError"),
    "details": ("details: {status: 401}", "details: {status: 403}", "401"),
    "final_text": ("outcome: failed", "final_text: {contains: a}", "ended without one"),
}


@pytest.mark.parametrize("key", FAILURE_KEYS)
def test_each_key_of_a_failure_can_pass_and_can_fail(key: str) -> None:
    right, wrong, actual = FAILURE_KEYS[key]
    assert {one.verdict for one in judged(f"{{{right}}}", FAILED)} == {VerdictName.PASS}
    (failure,) = [one for one in judged(f"{{{wrong}}}", FAILED) if one.verdict is VerdictName.FAIL]
    assert failure.expected.startswith(f"{key}: ") and actual in failure.actual


def test_every_key_of_the_format_is_judged_here() -> None:
    tested = {key.split(".")[0] for key in (*KEYS, *FAILURE_KEYS)}
    assert tested == set(Expect.model_fields) - {"verdicts"}


@pytest.mark.parametrize("key", ["tools: unchanged", "prefix: frozen"])
def test_another_tool_or_system_text_is_seen(key: str) -> None:
    from dataclasses import replace

    scenario = Scenario.model_validate(Document(TEXT.format(expect=f"{{requests: [{{at: last, {key}}}]}}")).value)
    world = World(scenario, plan_of(scenario), Arm("sim"), "sim", Reference())
    outcome = Reference().run(world)
    seen = look(scenario, world.plan, world.arm, world.script.delivered, world.trace, outcome)
    assert [one.verdict for one in expectations(seen, CAPABILITIES)] == [VerdictName.PASS]
    last = seen.requests[-1]
    changed = replace(last, request=replace(last.request, tools=()), built=replace(last.request, tools=()))
    broken = replace(seen, requests=(*seen.requests[:-1], changed))
    assert [one.verdict for one in expectations(broken, CAPABILITIES)] == [VerdictName.FAIL]


@pytest.mark.parametrize("broken", ["lost", "swapped"])
def test_a_conversation_with_an_open_call_is_seen(broken: str) -> None:
    from dataclasses import replace

    scenario = Scenario.model_validate(Document(TEXT.format(expect="{conversation: {answered: true}}")).value)
    world = World(scenario, plan_of(scenario), Arm("sim"), "sim", Reference())
    outcome = Reference().run(world)
    items = list(outcome.conversation)
    kept = [*items[:4], *items[5:]] if broken == "lost" else [*items[:4], items[5], items[4], *items[6:]]
    outcome = replace(outcome, conversation=kept)
    seen = look(scenario, world.plan, world.arm, world.script.delivered, world.trace, outcome)
    (finding,) = expectations(seen, CAPABILITIES)
    assert finding.verdict is VerdictName.FAIL
    assert finding.actual.startswith("item 3 has the calls again, call_3, call_4; behind it: ")


def test_an_expectation_of_the_conversation_that_says_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="says nothing of the conversation"):
        Expect.model_validate({"conversation": {}})


def test_a_finding_names_the_rules_that_the_scenario_proves_and_the_request() -> None:
    (finding,) = judged("{requests: [{at: 2, items: 9}]}")
    assert finding.request == 2
    assert finding.expected == "requests.2.items: 9 (proves loop.turn.order, loop.tools.unknown)"


@pytest.mark.parametrize(
    ("expect", "capability"),
    [
        ("steps: 1", "usage"),
        ("events: [run.started]", "events"),
        ("waits: []", "waits"),
        ("checkpoints: [final]", "checkpoints"),
    ],
)
def test_what_a_subject_does_not_show_is_not_applicable(expect: str, capability: str) -> None:
    (finding,) = judged(f"{{{expect}}}", capabilities=frozenset(CAPABILITIES) - {capability})
    assert finding.verdict is VerdictName.NOT_APPLICABLE
    assert finding.actual == f"the subject does not declare {capability}"
