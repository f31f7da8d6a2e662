"""A run over a wire is the run without one: what counts as a difference, and what is permitted."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.data_root import data_root
from harness.scenario.arms import ARMS, Arm
from harness.scenario.document import Document
from harness.scenario.equality import CHECK, Permitted, PermittedError, compare, load_permitted
from harness.scenario.format import Scenario
from harness.scenario.neutral import neutral
from harness.scenario.plan import plan_of
from harness.scenario.subject import World
from harness.subjects.reference import Reference
from harness.vocabulary.content import AssistantMessage, ToolCall, ToolResult
from harness.vocabulary.trace import (
    CheckpointWritten,
    EventEmitted,
    Record,
    ReplySent,
    RequestSent,
    RunEnded,
    ToolEnded,
    ToolStarted,
    Waited,
)
from harness.vocabulary.verdict import VerdictName

CHAT = Arm("openai-chat")
TEXT = """
id: s
title: t
proves: [loop.turn.order]
user: u
tools:
  read: {effect: read_only, answers: [{text: r, repeat: always}], parameters: {type: object}}
  pay: {answers: [{text: p}]}
script:
  - reasoning: Let me see.
    calls: [{tool: read, arguments: {b: 1, a: 2}}, {tool: pay}]
  - fail: {status: 503}
  - say: Done.
expect: {outcome: completed}
"""


def traced(arm: Arm) -> list[Record]:
    scenario = Scenario.model_validate(Document(TEXT).value)
    world = World(scenario, plan_of(scenario), arm, "wire" if arm.wire else "sim", Reference())
    Reference().run(world)
    assert world.harness_faults == []
    return world.trace


@pytest.fixture(scope="module")
def twin() -> list[Record]:
    return traced(Arm("sim"))


@pytest.mark.parametrize("arm", ARMS, ids=[arm.name for arm in ARMS])
def test_every_arm_has_the_neutral_trace_of_depth_sim(arm: Arm, twin: list[Record]) -> None:
    allowed = load_permitted(data_root() / "contracts" / "requirements")
    finding = compare(traced(arm), twin, arm, allowed)
    assert (finding.check, finding.verdict, finding.actual) == (CHECK, VerdictName.PASS, f"{len(twin) - 1} records")


def changed(trace: list[Record], kind: type, **fields: Any) -> list[Record]:
    place = max(place for place, one in enumerate(trace) if type(one) is kind)
    return [*trace[:place], replace(trace[place], **fields), *trace[place + 1 :]]


def ended(trace: list[Record]) -> RunEnded:
    found = trace[-1]
    assert isinstance(found, RunEnded)
    return found


CHANGES: dict[str, tuple[type, dict[str, Any]]] = {
    "tool run": (ToolStarted, {"arguments": '{"a":2}'}),
    "event": (EventEmitted, {"fields": {"truncated": True, "refused": False}}),
    "checkpoint": (CheckpointWritten, {"trigger": "failed"}),
    "wait": (Waited, {"seconds": 9.0}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_each_kind_of_record_is_compared(name: str, twin: list[Record]) -> None:
    kind, fields = CHANGES[name]
    finding = compare(changed(twin, kind, **fields), twin, CHAT, ())
    assert finding.verdict is VerdictName.FAIL
    assert f", {name}" in finding.expected


def test_requests_replies_tool_outcomes_and_the_outcome_are_compared(twin: list[Record]) -> None:
    sent = next(one for one in reversed(twin) if isinstance(one, RequestSent))
    reply = next(one for one in reversed(twin) if isinstance(one, ReplySent))
    run = next(one for one in reversed(twin) if isinstance(one, ToolEnded))
    outcome = ended(twin).outcome
    changes: list[tuple[type, dict[str, Any], str]] = [
        (RequestSent, {"built": replace(sent.request, items=sent.request.items[:-1])}, "request.items"),
        (RequestSent, {"built": replace(sent.request, system="other")}, "request.system"),
        (ReplySent, {"reply": replace(reply.reply, usage=outcome.usage)}, "reply.usage"),
        (ReplySent, {"cut": True}, "reply.cut"),
        (ToolEnded, {"outcome": replace(run.outcome, timed_out=True)}, "tool outcome.timed_out"),
        (RunEnded, {"outcome": replace(outcome, effects={})}, "outcome.effects.pay"),
        (RunEnded, {"outcome": replace(outcome, conversation=outcome.conversation[:-1])}, "outcome.conversation"),
    ]
    for kind, fields, path in changes:
        finding = compare(changed(twin, kind, **fields), twin, CHAT, ())
        assert finding.verdict is VerdictName.FAIL and f", {path}" in finding.expected


def test_the_first_difference_is_told_in_words(twin: list[Record]) -> None:
    finding = compare(changed(twin, Waited, seconds=9.0), twin, CHAT, ())
    assert finding.expected.endswith("request 2, wait: 0.5")
    assert finding.actual == "9.0"


def test_a_missing_and_an_additional_record_are_differences(twin: list[Record]) -> None:
    shorter, longer = compare(twin[:-1], twin, CHAT, ()), compare([*twin, Waited(seconds=1.0)], twin, CHAT, ())
    assert shorter.actual == "the end of the run" and "outcome" in shorter.expected
    assert longer.expected.endswith("the end of the run") and longer.actual == "wait 1.0"


def test_a_permitted_difference_is_none_on_its_arms_only(twin: list[Record]) -> None:
    trace = changed(twin, EventEmitted, fields={"truncated": True, "refused": False})
    here = Permitted("event.run.completed.truncated", ("openai-chat-*",), "for the test")
    assert compare(trace, twin, CHAT, [here]).verdict is VerdictName.PASS
    assert compare(trace, twin, Arm("anthropic-messages"), [here]).verdict is VerdictName.FAIL
    above, star = Permitted("event", (), "all of them"), Permitted("event.run.*.truncated", (), "any")
    assert all(compare(trace, twin, CHAT, [one]).verdict is VerdictName.PASS for one in (above, star))


def test_ids_and_the_order_of_arguments_are_no_difference() -> None:
    def told(call_id: str, arguments: str) -> list[Record]:
        message = AssistantMessage((ToolCall(call_id, "t", arguments),))
        result = ToolResult(call_id=call_id, tool="t", content=())
        return [
            ToolStarted(call_id=call_id, tool="t", arguments=arguments),
            EventEmitted(name="tool.call.finished", fields={"call_id": call_id}),
            CheckpointWritten(trigger="tool_call", version=1, conversation=(message, result), pending=(call_id,)),
        ]

    assert neutral(told("call_1", '{"b": 1, "a": 2}')) == neutral(told("x1", '{"a":2,"b":1}'))
    assert neutral(told("call_1", "{}")) != neutral(told("call_1", '{"a":1}'))
    doubled = told("call_1", '{"a":1,"a":2}')
    assert neutral(doubled) != neutral(told("call_1", '{"a":2}'))
    for unsure in (doubled, told("call_1", '{"a":NaN}'), told("call_1", "[1]"), told("call_1", "[")):
        assert neutral(unsure, objects=True) == neutral(told("call_1", "{}"), objects=True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[difference]]\nat = 'a'\n", "difference 1: write `at`, `arms` and `because`"),
        ("[[difference]]\nat = 'a'\narms = ['telex-*']\nbecause = 'x'\n", "no arm fits 'telex-\\*'; the arms are "),
        ("other = 1\n", r"expected only \[\[difference\]\] tables"),
        ("[[", "cannot be read"),
    ],
)
def test_a_bad_list_of_permitted_differences_is_told(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "permitted-differences.toml").write_text(text, encoding="utf-8")
    with pytest.raises(PermittedError, match=words):
        load_permitted(tmp_path)


def test_every_permitted_difference_says_why() -> None:
    allowed = load_permitted(data_root() / "contracts" / "requirements")
    assert allowed and all(len(one.because) > 20 and one.arms for one in allowed)
