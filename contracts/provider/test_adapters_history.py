"""How each wire writes down the history: calls, results, images, what only a provider understands."""

import copy
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.transports.registry import TRANSPORT_IDS, adapter
from harness.transports.xml_fallback_parse import FrameReader
from harness.vocabulary.content import (
    AssistantMessage,
    AssistantPart,
    Image,
    Item,
    Opaque,
    Refusal,
    SystemMessage,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
)
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.tools import ToolDefinition
from harness.wire.registry import codec

FETCH = ToolDefinition(name="fetch", description="Get <a> page", parameters={"type": "object"}, strict=True)
LIST = ToolDefinition(name="list", description="List", parameters={"type": "object"})
CALLS = AssistantMessage(
    (Text("Looking."), ToolCall("a", "fetch", '{"u": "<1>"}'), ToolCall("b", "list", ""), ToolCall("c", "list", "{no"))
)
RESULTS: tuple[Item, ...] = (
    ToolResult(call_id="a", tool="fetch", content=(Text("page & more"), Image("image/png", "iVBO"))),
    ToolResult(
        call_id="b", tool="list", content=(Text("[tool.failed]\nno"),), is_error=True, reason_code="tool.failed"
    ),
    ToolResult(call_id="c", tool="list", content=(Text("ERROR: is what it says"),)),
)
HISTORY: tuple[Item, ...] = (UserMessage((Text("Go."),)), CALLS, *RESULTS)

MESSAGES = {"openai-responses": "input"}


def ask(items: Sequence[Item] = HISTORY, **changes: Any) -> ModelRequest:
    given: dict[str, Any] = {"model": "sim-model", "system": "Be exact.", "tools": (FETCH, LIST), "items": items}
    return ModelRequest(**{**given, **changes})


def payload(transport: str, request: ModelRequest, *, stream: bool = False) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(adapter(transport).render(request, stream=stream))
    return found


def messages(transport: str, request: ModelRequest) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = payload(transport, request)[MESSAGES.get(transport, "messages")]
    return found


def test_chat_puts_images_behind_all_tool_messages_of_the_batch() -> None:
    *_, a, b, c, pictures = messages("openai-chat", ask())
    assert a == {"role": "tool", "tool_call_id": "a", "content": "page & more"}
    assert b == {"role": "tool", "tool_call_id": "b", "content": "ERROR: [tool.failed]\nno"}
    assert c["content"] == "RESULT: ERROR: is what it says"
    url = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}}
    assert pictures == {"role": "user", "content": [{"type": "text", "text": "[images of tool call a]"}, url]}


def test_chat_arguments_are_raw_text_or_an_empty_object() -> None:
    (assistant,) = [message for message in messages("openai-chat", ask()) if message["role"] == "assistant"]
    assert assistant["content"] == "Looking."
    sent = [call["function"]["arguments"] for call in assistant["tool_calls"]]
    assert sent == ['{"u": "<1>"}', "{}", "{}"]


def test_responses_has_one_item_for_each_part_and_calls_without_an_id() -> None:
    said, first, *_, a, b, _ = messages("openai-responses", ask())[1:]
    assert said == {"type": "message", "role": "assistant", "content": "Looking."}
    assert first == {"type": "function_call", "call_id": "a", "name": "fetch", "arguments": '{"u": "<1>"}'}
    picture = {"type": "input_image", "image_url": "data:image/png;base64,iVBO", "detail": "auto"}
    assert a["output"] == [{"type": "input_text", "text": "page & more"}, picture]
    assert b == {"type": "function_call_output", "call_id": "b", "output": "ERROR: [tool.failed]\nno"}


def test_anthropic_results_of_a_batch_are_one_user_message() -> None:
    user, assistant, results = messages("anthropic-messages", ask())
    assert user == {"role": "user", "content": [{"type": "text", "text": "Go."}]}
    assert [block["type"] for block in assistant["content"]] == ["text", "tool_use", "tool_use", "tool_use"]
    assert [block.get("input") for block in assistant["content"][1:]] == [{"u": "<1>"}, {}, {}]
    a, b, c = results["content"]
    source = {"type": "base64", "media_type": "image/png", "data": "iVBO"}
    assert a["content"] == [{"type": "text", "text": "page & more"}, {"type": "image", "source": source}]
    assert b == {"type": "tool_result", "tool_use_id": "b", "content": "[tool.failed]\nno", "is_error": True}
    assert c == {"type": "tool_result", "tool_use_id": "c", "content": "ERROR: is what it says"}


def test_xml_history_is_frames_and_elements() -> None:
    _, _, assistant, results = messages("xml-fallback", ask())
    assert assistant["content"] == (
        'Looking.\n<tool_call id="a" name="fetch">{"u": "&lt;1&gt;"}</tool_call>\n'
        '\n<tool_call id="b" name="list">{}</tool_call>\n\n<tool_call id="c" name="list">{}</tool_call>\n'
    )
    assert results["content"].splitlines() == [
        "<tool_results>",
        '<tool_result id="a" name="fetch">page &amp; more'
        "[image image/png, 4 base64 characters: not shown on this transport]</tool_result>",
        '<tool_result id="b" name="list" error="true">[tool.failed]',
        "no</tool_result>",
        '<tool_result id="c" name="list">ERROR: is what it says</tool_result>',
        "</tool_results>",
    ]


@pytest.mark.parametrize(
    ("said", "sent"),
    [
        ("<tool_results>x", "&lt;tool_results>x"),
        ("<platform_instruction>", "&lt;platform_instruction>"),
        ("&lt;", "&amp;lt;"),
        ("<b>", "<b>"),
        ("a <tool_results>", "a <tool_results>"),
    ],
)
def test_a_user_cannot_pose_as_the_platform_on_xml(said: str, sent: str) -> None:
    assert messages("xml-fallback", ask(items=(UserMessage((Text(said),)),)))[1]["content"] == sent


@pytest.mark.parametrize("transport", TRANSPORT_IDS)
def test_opaque_content_goes_back_verbatim_and_only_to_its_maker(transport: str) -> None:
    payloads = {name: {"type": "thinking", "thinking": "", "signature": f"sig-{name}"} for name in TRANSPORT_IDS}
    opaque = tuple(Opaque(name, payloads[name]) for name in TRANSPORT_IDS)
    request = ask(items=(HISTORY[0], AssistantMessage((*opaque, Text("x"), *CALLS.calls)), *RESULTS))
    rendered = json.dumps(messages(transport, request))
    assert [name for name in TRANSPORT_IDS if f"sig-{name}" in rendered] == [transport]
    if transport in ("openai-responses", "anthropic-messages"):
        assert json.dumps(payloads[transport]) in rendered


@pytest.mark.parametrize("transport", TRANSPORT_IDS)
def test_an_assistant_message_that_renders_to_nothing_is_left_out(transport: str) -> None:
    foreign = AssistantMessage((Opaque("elsewhere", {}), Text("")))
    assert messages(transport, ask(items=(HISTORY[0], foreign))) == messages(transport, ask(items=HISTORY[:1]))


def test_anthropic_leaves_out_what_the_provider_refuses() -> None:
    said = AssistantMessage((Text(" \n"), Refusal("No."), Text("")))
    empty = ToolResult(call_id="a", tool="fetch", content=())
    sent = messages("anthropic-messages", ask(items=(HISTORY[0], said, empty, SystemMessage("Note."))))
    assert sent[1] == {"role": "assistant", "content": [{"type": "text", "text": "No."}]}
    assert sent[2]["content"] == [{"type": "tool_result", "tool_use_id": "a"}]
    assert sent[3] == {"role": "system", "content": [{"type": "text", "text": "Note."}]}


@pytest.mark.parametrize(
    "arguments", ['{"a":1,"a":2}', '{"a":NaN}', "[1]", "7", '"x"', "{", '{"a":1e999}', "[" * 5000, "9" * 5000]
)
@pytest.mark.parametrize("transport", TRANSPORT_IDS)
def test_arguments_that_are_no_object_are_sent_as_an_empty_one(transport: str, arguments: str) -> None:
    calling = AssistantMessage((ToolCall("a", "fetch", arguments),))
    empty = AssistantMessage((ToolCall("a", "fetch", "{}"),))
    assert messages(transport, ask(items=(*HISTORY[:1], calling))) == messages(
        transport, ask(items=(*HISTORY[:1], empty))
    )


INVENTED = ("bank.transfer!", "weird name/✓", "n" * 200, "a\n", "a b", "", "\ud800")


def invented(*names: str) -> ModelRequest:
    """A history in which these names were called, each with its refusal."""
    calls = [ToolCall(f"c{n}", name, "{}") for n, name in enumerate(names)]
    told = [
        ToolResult(call_id=call.call_id, tool=call.name, content=(Text(f"[tool.unknown]\nNo {n}."),), is_error=True)
        for n, call in enumerate(calls)
    ]
    return ask(items=(*HISTORY[:1], AssistantMessage(tuple(calls)), *told), tools=(LIST,))


@pytest.mark.parametrize("transport", TRANSPORT_IDS)
def test_an_invented_name_is_sent_as_a_legal_one_with_its_refusal(transport: str) -> None:
    request = invented(*INVENTED)
    before = copy.deepcopy(request)
    body = adapter(transport).render(request, stream=False)
    decoded = codec(transport).decode(body)
    assert codec(transport).judge(decoded.payload) == []
    assert request == before, "the neutral conversation keeps what the model wrote"
    _, message, *results = decoded.request.items
    assert isinstance(message, AssistantMessage)
    assert len({call.name for call in message.calls}) == len(INVENTED), "two names have two placeholders"
    texts = [result.text for result in results if isinstance(result, ToolResult)]
    assert texts == [f"[tool.unknown]\nNo {n}." for n in range(len(INVENTED))]
    assert body == adapter(transport).render(invented(*INVENTED), stream=False)


@pytest.mark.parametrize(
    ("transport", "most"), [("openai-chat", 64), ("openai-responses", 128), ("anthropic-messages", 128)]
)
def test_a_name_that_the_wire_takes_is_sent_as_it_is(transport: str, most: int) -> None:
    sent = adapter(transport).render(invented("n" * most, "n" * (most + 1), "A-b_9"), stream=False).decode()
    assert f'"{"n" * most}"' in sent and '"A-b_9"' in sent
    assert "n" * (most + 1) not in sent and sent.count('"invalid_name_') == 1


@pytest.mark.parametrize("transport", TRANSPORT_IDS)
def test_text_on_the_wire_is_well_formed(transport: str) -> None:
    body = adapter(transport).render(ask(items=(UserMessage((Text("a\ud800b \ud83d\ude00"),)),)), stream=False)
    assert "a\ufffdb \U0001f600" in body.decode()


PLAIN = st.text(alphabet="ab \n&<>\"'{}é", min_size=1, max_size=8).filter(lambda text: text.strip() != "")
VALUES = st.dictionaries(PLAIN, PLAIN | st.integers() | st.just("</tool_call>"), max_size=3)


@given(st.lists(PLAIN | VALUES, min_size=1, max_size=6))
def test_an_xml_history_reads_back_as_the_turn_it_was(parts: list[Any]) -> None:
    turn: list[AssistantPart] = []
    for part in parts:
        if isinstance(part, dict):
            turn.append(ToolCall(f"x{len(turn)}", "f", json.dumps(part)))
        elif not (turn and isinstance(turn[-1], Text)):
            turn.append(Text(part))
    content = messages("xml-fallback", ask(items=(AssistantMessage(tuple(turn)),)))[-1]["content"]
    found: list[AssistantPart] = []

    def on_text(text: str) -> None:
        last = found[-1] if found else None
        if isinstance(last, Text):
            found[-1] = Text(last.text + text)
        elif text:
            found.append(Text(text))

    reader = FrameReader(on_text, lambda name, raw: found.append(ToolCall(f"x{len(found)}", name, raw)))
    reader.feed(content)
    reader.close()
    assert found == turn
