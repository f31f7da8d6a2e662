"""The XML fallback on the judge's side: what its requests say, and what its answers look like."""

import json
from typing import Any

import pytest

from harness.vocabulary.content import AssistantMessage, Refusal, Text, ToolCall, ToolResult, UserMessage
from harness.vocabulary.control import Control
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.turn import ModelTurn, StopReason
from harness.wire.registry import codec

SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}}
CONTROL = Control("steps", "[run control: steps]\nAnswer now.")


def user(text: str) -> UserMessage:
    return UserMessage((Text(text),))


def result(call_id: str, *content: Any, **more: Any) -> ToolResult:
    return ToolResult(call_id=call_id, tool="find", content=tuple(content), **more)


SECTION = (
    "You can call tools. Write a call like this.\n<tools>\n"
    '<tool name="find"><description>D &amp; &lt;d&gt;</description><parameters>'
    '{"type":"object","properties":{"q":{"type":"string"}}}</parameters></tool>\n</tools>'
)


def xml(*messages: tuple[str, str]) -> ModelRequest:
    payload = {"model": "m", "messages": [{"role": role, "content": text} for role, text in messages]}
    return codec("xml-fallback").decode(json.dumps(payload).encode()).request


@pytest.mark.parametrize("system", ["SYS", ""])
def test_xml_reads_tools_calls_and_results_from_texts(system: str) -> None:
    request = xml(
        ("system", f"{system}\n\n{SECTION}" if system else SECTION),
        ("user", "&lt;tool_results> is a tag"),
        ("assistant", 'Looking.\n<tool_call id="x1" name="find">{"q":"a &lt; b"}</tool_call>\nDone.'),
        (
            "user",
            '<tool_results>\n<tool_result id="x1" name="find" error="true">[tool.failed]\n'
            "1 &lt; 2</tool_result>\n</tool_results>",
        ),
        ("user", "&amp; so on"),
    )
    failed = Text("[tool.failed]\n1 < 2")
    assert request.system == system
    assert [(tool.name, tool.description, tool.parameters) for tool in request.tools] == [("find", "D & <d>", SCHEMA)]
    assert request.items == (
        user("<tool_results> is a tag"),
        AssistantMessage((Text("Looking."), ToolCall("x1", "find", '{"q":"a < b"}'), Text("Done."))),
        result("x1", failed, is_error=True, reason_code="tool.failed"),
        user("& so on"),
    )


def test_xml_reads_a_synthesis_request_by_its_control_and_missing_tools() -> None:
    instruction = f"<platform_instruction>\n{CONTROL.text}\n</platform_instruction>"
    request = xml(("system", "SYS"), ("user", "hi"), ("user", instruction))
    assert (request.control, request.tool_choice, request.tools) == (CONTROL, "none", ())
    kept = xml(("system", SECTION), ("user", "hi"), ("user", instruction))
    assert (kept.control, kept.tool_choice) == (CONTROL, None)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ('<tool_call name="f">{"a":"</tool_call>"}</tool_call>', [("f", '{"a":"</tool_call>"}')]),
        ('<tool_call name="f">{"a":"x\\"</tool_call>"}</tool_call>', [("f", '{"a":"x\\"</tool_call>"}')]),
        ('<tool_call name="f"><![CDATA[{"a":"&lt;"}]]></tool_call>', [("f", '{"a":"&lt;"}')]),
        ('a\n\n<tool_call name="f">{}</tool_call>\n\nb', ["a\n", ("f", "{}"), "\nb"]),
        ('<tool_call name="f">{}</tool_call>\n \n<tool_call name="g">{}</tool_call>', [("f", "{}"), ("g", "{}")]),
        ('```\n<tool_call name="f">{}</tool_call>\n```', ['```\n<tool_call name="f">{}</tool_call>\n```']),
        ("<tool_call>{}</tool_call>", ["<tool_call>{}</tool_call>"]),
        ('<tool_call name="f">{"a": 1', [("f", '{"a": 1')]),
    ],
)
def test_xml_frames_are_found_where_the_protocol_has_them(text: str, parts: list[Any]) -> None:
    said = xml(("user", "hi"), ("assistant", text), ("user", "go on")).items[1]
    assert isinstance(said, AssistantMessage)
    found = [(part.name, part.arguments) if isinstance(part, ToolCall) else part for part in said.content]
    assert found == [Text(one) if isinstance(one, str) else one for one in parts]


def written(*parts: Any, stop: StopReason = StopReason.TOOL_CALLS) -> dict[str, Any]:
    turn = ModelTurn(message=AssistantMessage(parts), stop=stop)
    choice: dict[str, Any] = json.loads(codec("xml-fallback").response(turn, model="m", n=1))["choices"][0]
    return choice


def test_xml_writes_calls_into_the_text_and_never_speaks_of_tools() -> None:
    choice = written(Text("Looking."), ToolCall("a", "find", '{"q":"a<b&c"}'), ToolCall("b", "find", "{}"))
    assert choice["message"]["content"] == (
        'Looking.\n<tool_call name="find">{"q":"a&lt;b&amp;c"}</tool_call>\n\n<tool_call name="find">{}</tool_call>\n'
    )
    assert choice["finish_reason"] == "stop"
    assert "tool_calls" not in choice["message"]


def test_xml_leaves_a_call_open_that_the_output_limit_cut() -> None:
    choice = written(ToolCall("a", "find", '{"q":'), stop=StopReason.MAX_TOKENS)
    assert (choice["message"]["content"], choice["finish_reason"]) == ('\n<tool_call name="find">{"q":', "length")
    whole = written(ToolCall("a", "find", "{}"), stop=StopReason.MAX_TOKENS)
    assert whole["message"]["content"].endswith("</tool_call>\n")


def test_xml_refuses_in_the_refusal_field() -> None:
    choice = written(Refusal("No."), stop=StopReason.REFUSAL)
    assert (choice["message"]["refusal"], choice["message"]["content"]) == ("No.", None)


@pytest.mark.parametrize(
    "arguments", ['{"q":"</tool_call> & \\"x\\""}', '{"q":"<![CDATA[x]]>"}', "{}", '{"q":"\\n```"}']
)
def test_xml_reads_back_what_it_wrote(arguments: str) -> None:
    parts = (Text("First."), ToolCall("x1", "find", arguments), Text("Then."), ToolCall("x2", "find", "{}"))
    content = written(*parts)["message"]["content"]
    assert xml(("user", "hi"), ("assistant", content), ("user", "go on")).items[1] == AssistantMessage(parts)
