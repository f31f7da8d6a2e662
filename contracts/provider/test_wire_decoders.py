"""Request decoders: each wire's request is read back as the neutral request that it stands for."""

import json
from typing import Any

import pytest

from harness.vocabulary.content import (
    AssistantMessage,
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
from harness.vocabulary.control import Control
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.tools import ToolDefinition
from harness.wire.codec import UndecodableRequest
from harness.wire.registry import codec

SCHEMA = {
    "type": "object",
    "properties": {"q": {"type": "string"}},
    "required": ["q"],
    "additionalProperties": False,
}
TOOL = ToolDefinition(name="find", description="D & <d>", parameters=SCHEMA, strict=True)
PNG = "iVBORw0KGgo="
CONTROL = Control("steps", "[run control: steps]\nAnswer now.")
DENIED = "[tool.denied]\nNo."


def user(text: str) -> UserMessage:
    return UserMessage((Text(text),))


def result(call_id: str, *content: Any, **more: Any) -> ToolResult:
    return ToolResult(call_id=call_id, tool="find", content=tuple(content), **more)


def read(transport: str, payload: dict[str, Any]) -> ModelRequest:
    return codec(transport).decode(json.dumps({"model": "m", **payload}).encode()).request


THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"}
THINKING = {"type": "thinking", "thinking": "", "signature": "s"}
HISTORY: tuple[Item, ...] = (
    user("hi"),
    AssistantMessage((Text("Looking."), ToolCall("a", "find", '{"q":"é"}'), ToolCall("b", "find", "{}"))),
    result("a", Text("18C"), Image("image/png", PNG)),
    result("b", Text(DENIED), is_error=True, reason_code="tool.denied"),
    user("and?"),
)
EXPECTED = ModelRequest(
    model="m",
    system="SYS",
    tools=(TOOL,),
    items=HISTORY,
    control=CONTROL,
    tool_choice="none",
    max_output_tokens=512,
    reasoning="low",
)

DATA_URL = f"data:image/png;base64,{PNG}"
CHAT: dict[str, Any] = {
    "messages": [
        {"role": "developer", "content": "SYS"},
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": "Looking.",
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "find", "arguments": '{"q":"é"}'}},
                {"id": "b", "type": "function", "function": {"name": "find", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "18C"},
        {"role": "tool", "tool_call_id": "b", "content": f"ERROR: {DENIED}"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "[images of tool call a]"},
                {"type": "image_url", "image_url": {"url": DATA_URL}},
            ],
        },
        {"role": "user", "content": "and?"},
        {"role": "developer", "content": CONTROL.text},
    ],
    "tools": [
        {
            "type": "function",
            "function": {"name": "find", "description": "D & <d>", "parameters": SCHEMA, "strict": True},
        }
    ],
    "tool_choice": "none",
    "max_completion_tokens": 512,
    "reasoning_effort": "low",
}
RESPONSES: dict[str, Any] = {
    "instructions": "SYS",
    "input": [
        {"role": "user", "content": "hi"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Looking."}]},
        {"type": "function_call", "call_id": "a", "name": "find", "arguments": '{"q":"é"}'},
        {"type": "function_call", "call_id": "b", "name": "find", "arguments": "{}"},
        {
            "type": "function_call_output",
            "call_id": "a",
            "output": [{"type": "input_text", "text": "18C"}, {"type": "input_image", "image_url": DATA_URL}],
        },
        {"type": "function_call_output", "call_id": "b", "output": f"ERROR: {DENIED}"},
        {"role": "user", "content": [{"type": "input_text", "text": "and?"}]},
        {"role": "developer", "content": CONTROL.text},
    ],
    "tools": [{"type": "function", "name": "find", "description": "D & <d>", "parameters": SCHEMA, "strict": True}],
    "tool_choice": "none",
    "max_output_tokens": 512,
    "reasoning": {"effort": "low"},
}
ANTHROPIC: dict[str, Any] = {
    "max_tokens": 512,
    "system": [{"type": "text", "text": "SYS"}],
    "messages": [
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Looking."},
                {"type": "tool_use", "id": "a", "name": "find", "input": {"q": "é"}},
                {"type": "tool_use", "id": "b", "name": "find", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "a",
                    "content": [
                        {"type": "text", "text": "18C"},
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
                    ],
                },
                {"type": "tool_result", "tool_use_id": "b", "content": DENIED, "is_error": True},
            ],
        },
        {"role": "user", "content": "and?"},
        {"role": "system", "content": CONTROL.text},
    ],
    "tools": [{"name": "find", "description": "D & <d>", "input_schema": SCHEMA, "strict": True}],
    "tool_choice": {"type": "none"},
    "output_config": {"effort": "low"},
    "thinking": {"type": "adaptive"},
}
PAYLOADS = {"openai-chat": CHAT, "openai-responses": RESPONSES, "anthropic-messages": ANTHROPIC}


@pytest.mark.parametrize("transport", PAYLOADS)
def test_one_conversation_is_read_alike_on_every_native_wire(transport: str) -> None:
    assert read(transport, PAYLOADS[transport]) == EXPECTED
    assert codec(transport).judge({"model": "m", **PAYLOADS[transport]}) == []


@pytest.mark.parametrize("transport", PAYLOADS)
def test_stream_and_payload_are_reported(transport: str) -> None:
    body = json.dumps({"model": "m", **PAYLOADS[transport], "stream": True, "never_heard_of": 1}).encode()
    decoded = codec(transport).decode(body)
    assert decoded.stream is True
    assert decoded.payload == json.loads(body)


@pytest.mark.parametrize(
    ("text", "content", "is_error"),
    [
        ("plain", (Text("plain"),), False),
        ("", (), False),
        ("ERROR: bad", (Text("bad"),), True),
        ("ERROR: ", (), True),
        ("RESULT: ERROR: said the tool", (Text("ERROR: said the tool"),), False),
        ("RESULT: RESULT: x", (Text("RESULT: x"),), False),
    ],
)
def test_result_prefixes_are_taken_off_once(text: str, content: tuple[Text, ...], is_error: bool) -> None:
    call = {"id": "a", "type": "function", "function": {"name": "find", "arguments": "{}"}}
    messages = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": text},
    ]
    items = [
        {"type": "function_call", "call_id": "a", "name": "find", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": text},
    ]
    expected = result("a", *content, is_error=is_error)
    assert read("openai-chat", {"messages": messages}).items[-1] == expected
    assert read("openai-responses", {"input": items}).items[-1] == expected


def test_responses_groups_what_the_assistant_said_and_keeps_reasoning_verbatim() -> None:
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {}}
    refusal = {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}
    request = read("openai-responses", {"input": [{"role": "user", "content": "hi"}, THOUGHT, search, refusal]})
    mine = "openai-responses"
    parts = (Opaque(mine, THOUGHT), Opaque(mine, search, reasoning=False), Refusal("No."))
    assert request.items == (user("hi"),)
    assert request.paused == AssistantMessage(parts)


def test_anthropic_keeps_thinking_and_server_blocks_verbatim() -> None:
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}
    messages = [
        {"role": "user", "content": [document]},
        {"role": "assistant", "content": [THINKING, search, {"type": "text", "text": "Searching."}]},
    ]
    request = read("anthropic-messages", {"messages": messages})
    mine = "anthropic-messages"
    assert request.items == (UserMessage((Opaque(mine, document, reasoning=False),)),)
    assert request.paused == AssistantMessage(
        (Opaque(mine, THINKING), Opaque(mine, search, reasoning=False), Text("Searching."))
    )


@pytest.mark.parametrize("lead", [[], [{"type": "text", "text": "and?"}]])
def test_anthropic_reads_a_control_that_is_the_last_user_block(lead: list[dict[str, Any]]) -> None:
    use = {"type": "tool_use", "id": "a", "name": "find", "input": {}}
    answer = {"type": "tool_result", "tool_use_id": "a"}
    content = [answer, *lead, {"type": "text", "text": CONTROL.text}]
    messages = [{"role": "assistant", "content": [use]}, {"role": "user", "content": content}]
    request = read("anthropic-messages", {"messages": messages})
    assert request.control == CONTROL
    assert request.items[1:] == (result("a"), *([user("and?")] if lead else []))


def test_anthropic_reads_its_own_default_limit_as_no_limit() -> None:
    messages = [{"role": "user", "content": "hi"}]
    assert read("anthropic-messages", {"messages": messages, "max_tokens": 4096}).max_output_tokens is None
    assert read("anthropic-messages", {"messages": messages, "max_tokens": 4095}).max_output_tokens == 4095


@pytest.mark.parametrize("transport", ["openai-chat", "openai-responses", "anthropic-messages"])
def test_a_paused_turn_follows_the_control(transport: str) -> None:
    role = "system" if transport == "anthropic-messages" else "developer"
    messages = [
        {"role": "user", "content": "hi"},
        {"role": role, "content": CONTROL.text},
        {"role": "assistant", "content": "Searching."},
    ]
    request = read(transport, {"input" if transport == "openai-responses" else "messages": messages})
    assert (request.control, request.paused) == (CONTROL, AssistantMessage((Text("Searching."),)))
    assert request.items == (user("hi"),)


@pytest.mark.parametrize("transport", ["openai-chat", "openai-responses", "anthropic-messages"])
def test_a_late_system_message_that_is_no_control_stays_in_the_history(transport: str) -> None:
    role = "system" if transport == "anthropic-messages" else "developer"
    messages = [{"role": "user", "content": "hi"}, {"role": role, "content": "[run control: naps]\nRest."}]
    request = read(transport, {"input" if transport == "openai-responses" else "messages": messages})
    assert request.items == (user("hi"), SystemMessage("[run control: naps]\nRest."))
    assert request.control is None


CALLLESS = {"role": "assistant", "content": None, "tool_calls": [{"id": "a", "type": "function"}]}
BROKEN: list[tuple[str, bytes | dict[str, Any], str]] = [
    ("openai-chat", b"{", ""),
    ("openai-chat", b"[1]", ""),
    ("openai-chat", b'{"model":"m","messages":[],"temperature":NaN}', ""),
    ("openai-chat", {"messages": "hi"}, "/messages"),
    ("openai-chat", {}, "/messages"),
    ("openai-chat", {"messages": [{"role": "user"}]}, "/messages/0/content"),
    ("openai-chat", {"messages": [{"role": "robot", "content": "x"}]}, "/messages/0/role"),
    ("openai-chat", {"messages": [CALLLESS]}, "/messages/0/tool_calls/0/function"),
    ("openai-chat", {"messages": [{"role": "tool", "content": "x"}]}, "/messages/0/tool_call_id"),
    ("openai-responses", {"input": 3}, "/input"),
    ("openai-responses", {"input": [{}]}, "/input/0/role"),
    ("openai-responses", {"input": [{"type": "function_call", "call_id": "a", "name": "f"}]}, "/input/0/arguments"),
    ("openai-responses", {"input": "x", "tools": [{"type": "function"}]}, "/tools/0/name"),
    ("anthropic-messages", {"messages": [{"role": "user", "content": 1}]}, "/messages/0/content"),
    ("anthropic-messages", {"messages": [], "tools": [{"name": "f", "input_schema": True}]}, "/tools/0/input_schema"),
    ("anthropic-messages", {"messages": [{"role": "user", "content": [{"text": "x"}]}]}, "/messages/0/content/0/type"),
    ("xml-fallback", {"messages": [7]}, "/messages/0"),
]


@pytest.mark.parametrize(("transport", "body", "pointer"), BROKEN)
def test_a_wrong_shape_is_named_by_its_place(transport: str, body: bytes | dict[str, Any], pointer: str) -> None:
    raw = body if isinstance(body, bytes) else json.dumps({"model": "m", **body}).encode()
    with pytest.raises(UndecodableRequest) as caught:
        codec(transport).decode(raw)
    assert caught.value.pointer == pointer
    answer = codec(transport).misshapen(caught.value)
    assert (answer.status, answer.pointer, answer.rule) == (400, pointer, f"wire.{transport}.shape")
