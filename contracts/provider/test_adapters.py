"""What each adapter puts on the wire: nothing that was not asked for, the control last, a history that only grows."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from harness.transports.anthropic_messages_render import takes_system_messages
from harness.transports.registry import TRANSPORT_IDS, adapter
from harness.vocabulary.content import (
    AssistantMessage,
    Image,
    Item,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
)
from harness.vocabulary.control import Control
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.tools import ToolDefinition

FETCH = ToolDefinition(name="fetch", description="Get <a> page", parameters={"type": "object"}, strict=True)
LIST = ToolDefinition(name="list", description="List", parameters={"type": "object"})
CONTROL = Control("steps", "[run control: steps]\nAnswer & stop.")
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


def test_an_unknown_transport_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="unknown transport 'x': use one of openai-responses, openai-chat"):
        adapter("x")


@pytest.mark.parametrize(
    ("transport", "keys"),
    [
        ("openai-responses", ["model", "store", "include", "tools", "instructions", "input"]),
        ("openai-chat", ["model", "tools", "messages"]),
        ("anthropic-messages", ["model", "max_tokens", "tools", "system", "messages"]),
        ("xml-fallback", ["model", "messages"]),
    ],
)
def test_nothing_is_sent_that_was_not_set(transport: str, keys: list[str]) -> None:
    assert list(payload(transport, ask())) == keys


@pytest.mark.parametrize(
    ("transport", "expected"),
    [
        ("openai-responses", {"stream": True, "max_output_tokens": 9, "reasoning": {"effort": "low"}, "store": False}),
        ("openai-chat", {"stream": True, "max_completion_tokens": 9, "reasoning_effort": "low"}),
        (
            "anthropic-messages",
            {
                "stream": True,
                "max_tokens": 9,
                "thinking": {"type": "adaptive"},
                "output_config": {"effort": "low"},
            },
        ),
        ("xml-fallback", {"stream": True, "max_completion_tokens": 9, "reasoning_effort": "low"}),
    ],
)
def test_what_is_set_has_the_name_that_the_wire_gives_it(transport: str, expected: dict[str, Any]) -> None:
    found = payload(transport, ask(max_output_tokens=9, reasoning="low"), stream=True)
    assert {key: found[key] for key in expected} == expected


def test_a_chat_stream_asks_for_usage_and_no_padding() -> None:
    options = payload("openai-chat", ask(), stream=True)["stream_options"]
    assert options == {"include_usage": True, "include_obfuscation": False}


@pytest.mark.parametrize(
    ("transport", "choice"),
    [("openai-responses", "none"), ("openai-chat", "none"), ("anthropic-messages", {"type": "none"})],
)
def test_tool_choice_none_is_said_and_the_tools_stay(transport: str, choice: Any) -> None:
    asked = payload(transport, ask(tool_choice="none", control=CONTROL))
    assert asked["tool_choice"] == choice
    assert asked["tools"] == payload(transport, ask())["tools"]


@pytest.mark.parametrize("transport", TRANSPORT_IDS)
def test_tool_choice_is_left_out_without_tools(transport: str) -> None:
    asked = payload(transport, ask(items=HISTORY[:1], tools=(), tool_choice="none"))
    assert "tool_choice" not in asked and "tools" not in asked


def test_tools_have_the_shape_of_their_wire() -> None:
    function = {"name": "fetch", "description": "Get <a> page", "parameters": {"type": "object"}, "strict": True}
    assert payload("openai-chat", ask())["tools"][0] == {"type": "function", "function": function}
    assert payload("openai-responses", ask())["tools"][0] == {"type": "function", **function}
    assert [tool["strict"] for tool in payload("openai-responses", ask())["tools"]] == [True, False]
    described = {"name": "list", "description": "List", "input_schema": {"type": "object"}}
    assert payload("anthropic-messages", ask())["tools"][1] == described
    assert payload("anthropic-messages", ask())["tools"][0]["strict"] is True


@pytest.mark.parametrize("transport", TRANSPORT_IDS)
def test_the_control_is_last_and_before_a_paused_turn(transport: str) -> None:
    plain = messages(transport, ask())
    told = messages(transport, ask(control=CONTROL))
    assert told[: len(plain)] == plain and len(told) == len(plain) + 1
    assert "[run control: steps]" in json.dumps(told[-1])
    paused = messages(transport, ask(control=CONTROL, paused=AssistantMessage((Text("half"),))))
    assert paused[:-1] == told and paused[-1]["role"] == "assistant"


def test_the_control_of_each_wire_has_its_role() -> None:
    roles = {transport: messages(transport, ask(control=CONTROL))[-1]["role"] for transport in TRANSPORT_IDS}
    assert roles == {
        "openai-responses": "developer",
        "openai-chat": "developer",
        "anthropic-messages": "system",
        "xml-fallback": "user",
    }
    whole = "<platform_instruction>\n[run control: steps]\nAnswer &amp; stop.\n</platform_instruction>"
    assert messages("xml-fallback", ask(control=CONTROL))[-1]["content"] == whole


@pytest.mark.parametrize(
    ("model", "takes"),
    [
        ("sim-model", True),
        ("claude-opus-4-8", False),
        ("claude-opus-5-5", True),
        ("claude-fable-5", True),
        ("claude-haiku-5-5-20261001", True),
        ("claude-sonnet-5", False),
        ("claude-sonnet-5-5", False),
        ("claude-opus-4-7", False),
        ("claude-sonnet-4-20250514", False),
        ("claude-haiku-4-5-20251001", False),
        ("claude-3-5-sonnet-20241022", False),
        ("claude-3-opus-20240229", False),
        ("claude-2.1", False),
        ("claude-instant-1.2", False),
    ],
)
def test_models_without_system_messages_get_the_control_behind_the_results(model: str, takes: bool) -> None:
    assert takes_system_messages(model) is takes
    last = messages("anthropic-messages", ask(control=CONTROL, model=model))[-1]
    assert last["role"] == ("system" if takes else "user")
    assert last["content"][-1] == {"type": "text", "text": CONTROL.text}
    assert [block["type"] for block in last["content"][:-1]] == ([] if takes else ["tool_result"] * 3)


@pytest.mark.parametrize("transport", TRANSPORT_IDS)
def test_a_longer_history_begins_with_the_shorter_byte_for_byte(transport: str) -> None:
    longer = (*HISTORY, AssistantMessage((Text("Done."),)), UserMessage((Text("And now?"),)), CALLS, *RESULTS)
    whole = adapter(transport).render(ask(items=longer), stream=True)
    for end in range(1, len(longer) + 1):
        if end < len(longer) and isinstance(longer[end], ToolResult):
            continue
        rendered = adapter(transport).render(ask(items=longer[:end]), stream=True)
        assert whole.startswith(rendered.removesuffix(b"]}"))


@pytest.mark.parametrize("transport", TRANSPORT_IDS)
def test_equal_requests_give_equal_bytes_and_synthesis_keeps_the_history(transport: str) -> None:
    assert adapter(transport).render(ask(), stream=False) == adapter(transport).render(ask(), stream=False)
    free, bound = messages(transport, ask()), messages(transport, ask(tool_choice="none", control=CONTROL))
    skipped = 1 if transport == "xml-fallback" else 0
    assert bound[skipped : len(free)] == free[skipped:]


def test_synthesis_on_xml_says_nothing_of_tools() -> None:
    free, bound = ask(), ask(tool_choice="none", control=CONTROL)
    assert messages("xml-fallback", bound)[0] == {"role": "system", "content": "Be exact."}
    system = messages("xml-fallback", free)[0]["content"]
    assert system.startswith("Be exact.\n\nYou can call tools. ")
    parameters = '<parameters>{"type":"object"}</parameters>'
    assert system.endswith(
        "<tools>\n"
        f'<tool name="fetch"><description>Get &lt;a&gt; page</description>{parameters}</tool>\n'
        f'<tool name="list"><description>List</description>{parameters}</tool>\n'
        "</tools>"
    )


@pytest.mark.parametrize("transport", TRANSPORT_IDS)
def test_a_schema_that_json_cannot_hold_is_refused(transport: str) -> None:
    broken = ToolDefinition(name="t", description="", parameters={"maximum": float("nan")})
    with pytest.raises(ValueError, match="JSON"):
        adapter(transport).render(ask(tools=(broken,)), stream=False)
