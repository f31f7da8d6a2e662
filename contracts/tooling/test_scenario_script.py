"""The scripted model: what it says, in which shape, and which promise it names when a subject leaves the script."""

from typing import Any

import pytest

from harness.provider.replies import ConnectionReply, RawReply, Reply, StatusReply, TurnReply
from harness.scenario.arms import Arm
from harness.scenario.clock import SimulatedClock
from harness.scenario.document import Document
from harness.scenario.format import Scenario
from harness.scenario.plan import plan_of
from harness.scenario.script import OFF_SCRIPT, ScriptedModel
from harness.vocabulary.content import AssistantMessage, Opaque, Refusal, Text, ToolCall
from harness.vocabulary.control import Control, ControlName
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.tools import ToolDefinition
from harness.vocabulary.trace import Record, ScriptFault
from harness.vocabulary.turn import ModelTurn, StopReason
from harness.vocabulary.usage import Usage

SIM = Arm("sim")
TOOL = ToolDefinition(name="fetch", description="", parameters={"type": "object"})


def scenario(script: str, proves: str = "loop.turn.order", more: str = "") -> Scenario:
    text = f"""
id: s
title: t
proves: [{proves}]
user: u
tools: {{fetch: {{parameters: {{type: object, properties: {{page: {{type: integer}}, name: {{type: string}}}}}}}}}}
script: {script}
expect: {{outcome: completed}}
{more}
"""
    return Scenario.model_validate(Document(text).value)


class Model:
    """A scripted model and what it recorded."""

    def __init__(self, made: Scenario, arm: Arm = SIM) -> None:
        self.records: list[Record] = []
        self.clock = SimulatedClock()
        self.script = ScriptedModel(made, plan_of(made), arm, self.records.append, self.clock)
        self.n = 0

    def ask(self, **fields: Any) -> Reply:
        self.n += 1
        return self.script.reply(self.n, request(**fields))

    def turn(self, **fields: Any) -> ModelTurn:
        reply = self.ask(**fields)
        assert isinstance(reply, TurnReply)
        return reply.turn

    @property
    def faults(self) -> list[ScriptFault]:
        return [one for one in self.records if isinstance(one, ScriptFault)]


def request(control: ControlName | None = None, **fields: Any) -> ModelRequest:
    made = None if control is None else Control(control, f"[run control: {control}]\nAnswer now.")
    base: dict[str, Any] = {"model": "m", "system": "s", "tools": (TOOL,), "items": (), "control": made}
    return ModelRequest(**{**base, "tool_choice": None if made is None else "none", **fields})


def calls(turn: ModelTurn) -> list[tuple[str, str]]:
    return [(call.call_id, call.arguments) for call in turn.message.calls]


def test_calls_are_numbered_over_the_run_unless_they_have_an_id() -> None:
    model = Model(scenario("[{calls: [{tool: fetch}, {tool: fetch, id: mine}]}, {calls: [{tool: fetch}]}]"))
    assert calls(model.turn()) == [("call_1", "{}"), ("mine", "{}")]
    assert calls(model.turn()) == [("call_3", "{}")]


def test_a_repeated_turn_counts_itself_in_its_arguments_texts_and_ids() -> None:
    script = '[{repeat: 2, say: "try {n}", calls: [{tool: fetch, arguments: {page: "{n}", name: "p{n}"}, id: "c{n}"}]}]'
    model = Model(scenario(script))
    assert calls(model.turn()) == [("c1", '{"page":1,"name":"p1"}')]
    second = model.turn()
    assert calls(second) == [("c2", '{"page":2,"name":"p2"}')]
    assert second.message.content[0] == Text("try 2")


def test_the_mark_stands_for_a_number_only_where_the_tool_asks_for_one() -> None:
    model = Model(scenario('[{repeat: 2, calls: [{tool: fetch, arguments: {name: "{n}"}}]}]'))
    assert calls(model.turn()) == [("call_1", '{"name":"1"}')]


def test_a_turn_that_is_played_once_is_taken_word_by_word() -> None:
    model = Model(scenario('[{say: "{n}", calls: [{tool: fetch, arguments: {name: "{n}"}}]}]'))
    turn = model.turn()
    assert turn.message.content[0] == Text("{n}")
    assert calls(turn) == [("call_1", '{"name":"{n}"}')]


def test_raw_arguments_are_the_text_itself() -> None:
    model = Model(scenario("""[{calls: [{tool: fetch, raw_arguments: '{"page": '}], stop: max_tokens}]"""))
    turn = model.turn()
    assert calls(turn) == [("call_1", '{"page": ')]
    assert turn.stop is StopReason.MAX_TOKENS


@pytest.mark.parametrize(
    ("turn", "stop", "parts"),
    [
        ("{say: hi}", StopReason.END, (Text("hi"),)),
        ("{refusal: no}", StopReason.REFUSAL, (Refusal("no"),)),
        ("{say: no, stop: refusal}", StopReason.REFUSAL, (Refusal("no"),)),
        ("{stop: content_filter}", StopReason.CONTENT_FILTER, ()),
        ("{empty: true}", StopReason.END, ()),
        ("{say: half, stop: max_tokens}", StopReason.MAX_TOKENS, (Text("half"),)),
        ("{say: wait, stop: pause}", StopReason.PAUSE, (Text("wait"),)),
        ("{calls: [{tool: fetch}]}", StopReason.TOOL_CALLS, (ToolCall("call_1", "fetch", "{}"),)),
    ],
)
def test_each_kind_of_turn_has_its_parts_and_its_stop(turn: str, stop: StopReason, parts: tuple[object, ...]) -> None:
    made = Model(scenario(f"[{turn}]")).turn()
    assert (made.stop, made.message) == (stop, AssistantMessage(parts))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("transport", "kind"),
    [
        ("anthropic-messages", "thinking"),
        ("openai-responses", "reasoning"),
        ("openai-chat", None),
        ("xml-fallback", None),
    ],
)
def test_reasoning_has_the_provider_s_own_shape(transport: str, kind: str | None) -> None:
    made = Model(scenario("[{reasoning: Hm., say: Yes.}]"), Arm(transport)).turn()
    *thoughts, said = made.message.content
    assert said == Text("Yes.")
    assert [part.payload["type"] for part in thoughts if isinstance(part, Opaque)] == ([kind] if kind else [])
    assert all(isinstance(part, Opaque) and part.provider == transport and part.reasoning for part in thoughts)


def test_usage_is_the_default_what_is_given_or_not_reported() -> None:
    model = Model(scenario("[{say: a, usage: {input: 7, cached: null}}, {say: b}]"))
    assert model.turn().usage == Usage(
        input_tokens=7, cached_tokens=None, cache_write_tokens=0, output_tokens=10, reasoning_tokens=0
    )
    assert model.turn().usage.input_tokens == 100


def test_a_failure_is_worded_as_the_provider_words_it() -> None:
    script = "[{fail: {status: 529, retry_after: 1.5}}, {fail: {status: 400, type: context_length}}]"
    anthropic, openai = (Model(scenario(script), Arm(name)) for name in ("anthropic-messages", "openai-chat"))
    first, second = anthropic.ask(), anthropic.ask()
    assert isinstance(first, StatusReply) and isinstance(second, StatusReply)
    assert (first.error_type, first.retry_after) == ("overloaded_error", "1.5")
    assert second.message.startswith("prompt is too long")
    openai.ask()
    long = openai.ask()
    assert isinstance(long, StatusReply) and long.code == "context_length_exceeded"


def test_a_failure_that_says_its_words_keeps_them() -> None:
    model = Model(
        scenario("[{fail: {status: 418, type: teapot, message: Short and stout.}}, {fail: {connection: refused}}]")
    )
    assert model.ask() == StatusReply(status=418, error_type="teapot", message="Short and stout.")
    assert model.ask() == ConnectionReply("refused")


def test_a_raw_answer_is_given_byte_for_byte() -> None:
    model = Model(
        scenario('[{raw: {status: 200, headers: {Content-Type: text/html}, chunks: ["<p>", "é"], end: reset}}]')
    )
    assert model.ask() == RawReply(
        status=200, headers={"content-type": "text/html"}, chunks=(b"<p>", "é".encode()), end="reset"
    )


@pytest.mark.parametrize("transport", ["openai-chat", "openai-responses", "anthropic-messages", "xml-fallback"])
def test_a_cut_falls_behind_as_many_visible_pieces_on_every_wire(transport: str) -> None:
    from harness.wire.registry import codec

    made = scenario("[{say: one two three, cut: {after_events: 2}}]")
    reply = Model(made, Arm(transport)).ask()
    assert isinstance(reply, TurnReply) and reply.cut is not None and reply.cut.after_events is not None
    events = codec(transport).stream(reply.turn, model="m", n=1)[: reply.cut.after_events]
    sent = b"".join(events)
    assert b"one t" in sent and b"wo th" in sent and b"ree" not in sent


def test_a_cut_at_nothing_sends_nothing() -> None:
    reply = Model(scenario("[{say: one, cut: {after_events: 0, how: clean}}]"), Arm("openai-chat")).ask()
    assert isinstance(reply, TurnReply) and reply.cut is not None
    assert (reply.cut.after_events, reply.cut.how) == (0, "clean")


def test_the_calls_of_a_cut_turn_were_never_given() -> None:
    script = "[{calls: [{tool: fetch}], cut: {after_events: 0}}, {calls: [{tool: fetch}]}]"
    model = Model(scenario(script))
    model.ask()
    assert model.script.delivered.calls == []
    assert calls(model.turn()) == [("call_1", "{}")]


@pytest.mark.parametrize(
    ("when", "fields", "rule"),
    [
        ("{control: repeated_tool_calls}", {}, "loop.breaker.synthesis-before-limit"),
        ("{control: none}", {"control": "repeated_tool_calls"}, "loop.breaker.threshold"),
        ("{control: none}", {"control": "steps"}, "loop.budget.reserve-is-synthesis"),
        ("{control: cost}", {}, "loop.budget.reserve-is-synthesis"),
        ("{control: repeated_tool_calls}", {"control": "steps"}, "loop.breaker.overlap"),
        ("{tool_choice: none}", {"control": "steps", "tool_choice": None}, "loop.synthesis.tool-choice"),
        ("{tool_choice: default}", {"control": "steps"}, "loop.synthesis.tool-choice"),
        ("{contains: missing}", {}, "loop.turn.order"),
    ],
)
def test_a_request_that_does_not_fit_names_the_broken_promise(when: str, fields: dict[str, Any], rule: str) -> None:
    model = Model(scenario(f"[{{say: a, when: {when}}}]"))
    assert model.ask(**fields) == OFF_SCRIPT
    assert [(fault.rule, fault.n) for fault in model.faults] == [(rule, 1)]


def test_a_rule_that_the_scenario_proves_is_preferred_among_the_likely_ones() -> None:
    proved = "loop.budget.tool-calls-never-fail-the-answer"
    model = Model(scenario("[{say: a, when: {control: tool_calls}}]", proves=f"loop.turn.order, {proved}"))
    model.ask()
    assert model.faults[0].rule == proved


def test_on_the_xml_fallback_no_choice_is_a_control_without_tools() -> None:
    made = scenario("[{say: a, when: {tool_choice: none}}, {say: b, when: {tool_choice: none}}]")
    model = Model(made, Arm("xml-fallback"))
    assert isinstance(model.ask(control="steps", tools=(), tool_choice=None), TurnReply)
    assert model.ask(control="steps", tool_choice=None) == OFF_SCRIPT
    assert model.faults[0].rule == "loop.synthesis.xml"


@pytest.mark.parametrize(
    ("last", "control", "rule"),
    [
        ("say: done", None, "loop.budget.hard-stop"),
        ("say: done", "repeated_tool_calls", "loop.breaker.no-extra-allowance"),
        ("calls: [{tool: fetch}]", "steps", "loop.breaker.no-extra-allowance"),
        ("refusal: 'no'", None, "loop.model.refusal"),
        ("say: half, stop: max_tokens", None, "loop.model.truncated"),
        ("empty: true", None, "loop.model.empty-turn"),
        ("fail: {status: 400}", None, "loop.model.one-owner"),
        ("say: a, cut: {after_events: 1, how: clean}", None, "loop.model.terminal-required"),
        ("say: a, cut: {after_events: 1, how: reset}", None, "loop.model.transient-only"),
    ],
)
def test_a_request_after_the_end_names_the_promise_that_should_have_ended_the_run(
    last: str, control: ControlName | None, rule: str
) -> None:
    model = Model(scenario(f"[{{{last}}}]"))
    model.ask(control=control)
    assert model.ask(control=control) == OFF_SCRIPT
    assert model.faults[0].rule == rule
    assert "the script has 1 reply" in model.faults[0].message


def test_what_was_never_asked_for_is_counted_unless_it_may_be() -> None:
    model = Model(scenario("[{say: a}, {repeat: 3, calls: [{tool: fetch}]}]"))
    model.ask()
    model.ask()
    assert model.script.unplayed() == 2
    allowed = Model(scenario("[{say: a}]", more="unplayed: allowed"))
    assert allowed.script.unplayed() == 0


def test_a_reply_that_was_lost_in_a_crash_is_given_again() -> None:
    model = Model(scenario("[{repeat: 2, calls: [{tool: fetch}]}, {say: done}]"))
    first = model.turn()
    model.script.rewind()
    assert model.turn() == first
    assert calls(model.turn()) == [("call_2", "{}")]


def test_each_attempt_takes_the_time_that_the_clock_says() -> None:
    model = Model(scenario("[{say: a}, {fail: {status: 500}}]", more="clock: {start: 10, attempt_takes: 2.5}"))
    model.ask()
    model.ask()
    assert model.clock.now() == 5.0


def test_each_repetition_thinks_its_own_thought_under_its_own_seal() -> None:
    script = '[{repeat: 2, reasoning: "Page {n}.", calls: [{tool: fetch}]}, {say: Done.}]'
    for transport, key in (("sim", "text"), ("anthropic-messages", "thinking")):
        model = Model(scenario(script), Arm(transport))
        first, second = thought(model.turn()), thought(model.turn())
        assert (first[key], second[key]) == ("Page 1.", "Page 2.")
        assert transport == "sim" or first["signature"] != second["signature"]


def thought(turn: ModelTurn) -> Any:
    part = turn.message.content[0]
    assert isinstance(part, Opaque) and part.reasoning
    return part.payload
