"""Strict validation by the SDKs' own types: it takes right payloads and names wrong places in others."""

from typing import Any

import anthropic.types.beta.message_create_params as beta_params
import anthropic.types.message_create_params as anthropic_params
import openai.types.chat.completion_create_params as chat_params
import openai.types.responses.response_create_params as responses_params
import pytest

from harness.wire.anthropic_messages import arguments as anthropic_arguments
from harness.wire.openai_chat import arguments as chat_arguments
from harness.wire.openai_responses import arguments as responses_arguments
from harness.wire.schema import schema_errors

USER = {"role": "user", "content": "hi"}
SCHEMA = {"type": "object", "properties": {}, "additionalProperties": False}
CHAT: dict[str, Any] = {
    "model": "m",
    "messages": [
        {"role": "developer", "content": "S"},
        USER,
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "ok"}]},
    ],
    "tools": [
        {"type": "function", "function": {"name": "f", "description": "d", "parameters": SCHEMA, "strict": True}}
    ],
    "tool_choice": "none",
}
RESPONSES: dict[str, Any] = {
    "model": "m",
    "store": False,
    "include": ["reasoning.encrypted_content"],
    "input": [
        USER,
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"},
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": [{"type": "input_text", "text": "ok"}]},
    ],
    "tools": [{"type": "function", "name": "f", "description": "d", "parameters": SCHEMA, "strict": True}],
    "tool_choice": "none",
}
ANTHROPIC: dict[str, Any] = {
    "model": "m",
    "max_tokens": 64,
    "system": [{"type": "text", "text": "S"}],
    "messages": [
        USER,
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "", "signature": "s"},
                {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "ok", "is_error": True}]},
        {"role": "system", "content": "volatile"},
    ],
    "tools": [{"name": "f", "description": "d", "input_schema": SCHEMA}],
    "tool_choice": {"type": "none"},
}
RIGHT = {"openai-chat": CHAT, "openai-responses": RESPONSES, "anthropic-messages": ANTHROPIC, "xml-fallback": CHAT}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("transport", RIGHT)
def test_right_payloads_have_no_errors(transport: str, stream: bool) -> None:
    more = {"stream": True} if stream else {}
    assert schema_errors(transport, RIGHT[transport] | more) == []


WRONG: list[tuple[str, dict[str, Any], list[str]]] = [
    ("openai-chat", {"top_k": 1}, ["/top_k: Extra inputs are not permitted"]),
    ("openai-chat", {"messages": [USER | {"mood": 1}]}, ["/messages/0/mood: Extra inputs are not permitted"]),
    ("openai-chat", {"messages": [{"role": "tool", "content": "x"}]}, ["/messages/0/tool_call_id: Field required"]),
    (
        "openai-chat",
        {"messages": [{"role": "user", "content": [{"type": "text"}]}]},
        ["/messages/0/content/0/text: Field required"],
    ),
    (
        "openai-responses",
        {"input": [{"type": "function_call", "call_id": "a", "name": "f"}]},
        ["/input/0/arguments: Field required"],
    ),
    (
        "openai-responses",
        {"tool_choice": {"type": "function", "function": {"name": "f"}}},
        ["/tool_choice/name: Field required", "/tool_choice/function: Extra inputs are not permitted"],
    ),
    ("anthropic-messages", {"temperature": 1}, ["/temperature: Extra inputs are not permitted"]),
    ("anthropic-messages", {"max_tokens": "64"}, ["/max_tokens: Input should be a valid integer"]),
    (
        "anthropic-messages",
        {"messages": [{"role": "user", "content": [{"type": "tool_result", "content": "x"}]}]},
        ["/messages/0/content/0/tool_use_id: Field required"],
    ),
    (
        "anthropic-messages",
        {"messages": [{"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": "x"}]}]},
        ["/messages/0/content/0/input: Input should be a valid dictionary"],
    ),
]


@pytest.mark.parametrize(("transport", "change", "expected"), WRONG)
def test_a_wrong_place_is_named_alone(transport: str, change: dict[str, Any], expected: list[str]) -> None:
    assert schema_errors(transport, RIGHT[transport] | change) == expected


def test_a_role_that_no_member_has_is_reported() -> None:
    errors = schema_errors("openai-chat", CHAT | {"messages": [{"role": "robot", "content": "x"}]}, limit=2)
    assert len(errors) == 2
    assert all(error.startswith("/messages/0/role: ") for error in errors)


def test_an_unknown_transport_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="anthropic-messages"):
        schema_errors("smoke-signals", {})


def test_known_arguments_are_those_of_the_installed_sdks() -> None:
    def keys(module: Any, *names: str) -> set[str]:
        return {key for name in names for key in getattr(module, name).__annotations__}

    chat = keys(chat_params, "CompletionCreateParamsBase", "CompletionCreateParamsStreaming")
    assert chat == chat_arguments.KNOWN
    responses = keys(responses_params, "ResponseCreateParamsBase", "ResponseCreateParamsStreaming")
    assert responses == responses_arguments.KNOWN
    names = ("MessageCreateParamsBase", "MessageCreateParamsStreaming")
    assert keys(anthropic_params, *names) | keys(beta_params, *names) == anthropic_arguments.KNOWN
