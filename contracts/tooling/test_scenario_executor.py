"""Scripted tools: which answer a call gets, as which outcome, and what is recorded of it."""

from typing import Any

import pytest

from harness.scenario.answers import ScriptedToolError
from harness.scenario.clock import SimulatedClock
from harness.scenario.document import Document
from harness.scenario.executor import ScriptedTools
from harness.scenario.format import Scenario
from harness.vocabulary.content import Image, Text, ToolCall
from harness.vocabulary.tools import OutcomeClass, ToolOutcome
from harness.vocabulary.trace import Record, ScriptFault, ToolEnded, ToolStarted


class Bench:
    """Tools of a scenario with one tool, `t`."""

    def __init__(self, answers: str, tool: str = "", proves: str = "loop.turn.order", limits: str = "{}") -> None:
        text = f"""
id: s
title: t
proves: [{proves}]
user: u
limits: {limits}
tools: {{t: {{{tool} answers: {answers}}}}}
script: [{{say: a}}]
expect: {{outcome: completed}}
"""
        self.records: list[Record] = []
        self.clock = SimulatedClock()
        scenario = Scenario.model_validate(Document(text).value)
        self.tools = ScriptedTools(scenario, self.records.append, self.clock)
        self.n = 0

    def run(self, arguments: str = "{}", call_id: str | None = None, name: str = "t") -> ToolOutcome:
        self.n += 1
        return self.tools.run(ToolCall(call_id or f"c{self.n}", name, arguments), "key")

    @property
    def faults(self) -> list[ScriptFault]:
        return [one for one in self.records if isinstance(one, ScriptFault)]


def texts(*outcomes: ToolOutcome) -> list[str]:
    return ["".join(part.text for part in outcome.content if isinstance(part, Text)) for outcome in outcomes]


def test_answers_are_given_in_order_each_as_often_as_it_says() -> None:
    bench = Bench("[{text: a, repeat: 2}, {text: b}, {text: 'c{n}', repeat: always}]")
    assert texts(*[bench.run() for _ in range(5)]) == ["a", "a", "b", "c4", "c5"]


def test_an_answer_may_be_for_some_arguments_only() -> None:
    bench = Bench("[{text: one, when: {arguments: {q: {id: 1}}}, repeat: always}, {text: other, repeat: always}]")
    outcomes = [bench.run(arguments) for arguments in ('{"q":{"id":1,"x":2}}', '{"q":{"id":true}}', "[1]", "{")]
    assert texts(*outcomes) == ["one", "other", "other", "other"]


def test_a_sequence_is_given_one_after_another_and_begins_anew() -> None:
    bench = Bench("[{sequence: [{text: a, repeat: 2}, {error: b}], repeat: 2}]")
    outcomes = [bench.run() for _ in range(6)]
    assert texts(*outcomes) == ["a", "a", "b", "a", "a", "b"]
    assert outcomes[2].outcome is OutcomeClass.ERROR
    bench.run()
    assert len(bench.faults) == 1


@pytest.mark.parametrize(
    ("answer", "outcome", "content", "data"),
    [
        ("{text: hi}", OutcomeClass.OK, (Text("hi"),), None),
        ("{text: '  '}", OutcomeClass.EMPTY, (Text("  "),), None),
        ("{json: {a: [1, '{n}', 'p{n}']}}", OutcomeClass.OK, (Text('{"a":[1,1,"p1"]}'),), {"a": [1, 1, "p1"]}),
        ("{json: null}", OutcomeClass.OK, (Text("null"),), None),
        ("{error: no}", OutcomeClass.ERROR, (Text("no"),), None),
        ("{empty: true}", OutcomeClass.EMPTY, (), None),
        ("{noop: true}", OutcomeClass.NOOP, (Text("Nothing was changed."),), None),
        ("{noop: same}", OutcomeClass.NOOP, (Text("same"),), None),
        ("{text: '[]'}", OutcomeClass.EMPTY, (Text("[]"),), None),
        ("{text: unchanged}", OutcomeClass.NOOP, (Text("unchanged"),), None),
        ("{text: hi, class: uncertain}", OutcomeClass.UNCERTAIN, (Text("hi"),), None),
        ("{image: {media_type: image/gif, data: R0lG}}", OutcomeClass.OK, (Image("image/gif", "R0lG"),), None),
    ],
)
def test_each_kind_of_answer_has_its_outcome(answer: str, outcome: OutcomeClass, content: Any, data: Any) -> None:
    made = Bench(f"[{answer}]", tool="empty_when: '[]', noop_when: [unchanged],").run()
    assert made == ToolOutcome(outcome=outcome, content=content, data=data)


def test_an_image_is_a_picture_that_can_be_read() -> None:
    from base64 import b64decode

    (image,) = Bench("[{image: image/png}]").run().content
    assert isinstance(image, Image) and b64decode(image.data, validate=True).startswith(b"\x89PNG\r\n")


@pytest.mark.parametrize("large", ["70000", "{bytes: 1001, of: 'é{n} '}"])
def test_a_large_answer_has_exactly_its_bytes(large: str) -> None:
    (text,) = texts(Bench(f"[{{large: {large}}}]").run())
    assert len(text.encode()) == (70000 if large == "70000" else 1001)


def test_a_tool_that_breaks_raises_and_its_end_is_recorded() -> None:
    bench = Bench("[{raises: disk full}]")
    with pytest.raises(ScriptedToolError, match="disk full"):
        bench.run()
    assert [type(one) for one in bench.records] == [ToolStarted, ToolEnded]


def test_answers_take_their_time_and_a_tool_that_hangs_takes_its_limit() -> None:
    bench = Bench("[{text: a, takes: 2}, {hangs: true}, {text: late, takes: 9}]", tool="timeout: 5,")
    quick, hung, late = bench.run(), bench.run(), bench.run()
    assert (quick.timed_out, hung.timed_out, late.timed_out) == (False, True, True)
    assert bench.clock.now() == 12.0
    assert hung.outcome is OutcomeClass.ERROR


def test_a_tool_without_a_limit_hangs_until_the_deadline() -> None:
    bench = Bench("[{hangs: true}]", limits="{deadline: 30}")
    assert bench.run().timed_out
    assert bench.clock.now() == 30.0


def test_a_run_is_recorded_with_the_arguments_that_arrived() -> None:
    bench = Bench("[{text: a}]")
    bench.clock.advance(1.0)
    outcome = bench.run('{"q": 1}', call_id="x7")
    assert bench.records == [
        ToolStarted(call_id="x7", tool="t", arguments='{"q": 1}', at=1.0),
        ToolEnded(call_id="x7", tool="t", outcome=outcome, at=1.0),
    ]


def test_a_run_without_an_answer_names_a_promise_and_the_mend() -> None:
    bench = Bench("[{text: a}]", proves="loop.turn.order, loop.approval.once")
    bench.run()
    assert bench.run().outcome is OutcomeClass.ERROR
    (fault,) = bench.faults
    assert fault.rule == "loop.approval.once"
    assert "run 2 of t has no answer; add answers or `repeat: always`" in fault.message


def test_running_a_tool_that_nobody_declared_is_the_subject_s_fault() -> None:
    bench = Bench("[]")
    bench.run(name="ghost")
    assert bench.faults[0].rule == "loop.tools.unknown"


def test_after_a_crash_the_same_call_gets_the_same_answer_and_uses_nothing_up() -> None:
    bench = Bench("[{text: 'r{n}', repeat: 2}]")
    before = bench.run(call_id="a")
    bench.tools.crashed()
    assert bench.run(call_id="a") == before
    assert texts(bench.run(call_id="b")) == ["r2"]
    assert bench.faults == []
