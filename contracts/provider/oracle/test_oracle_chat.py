"""The rules of Chat Completions, each on both its sides.

A case is a rule, an illegal change of a legal request, and a legal change as near to it as can be. A change replaces
top-level keys; the value GONE takes one out.
"""

from typing import Any

import pytest

from harness.wire.openai_chat.oracle import RULES
from harness.wire.openai_chat.view import View
from harness.wire.registry import codec
from harness.wire.rules import judge

GONE = object()
Change = dict[str, Any]
USER = {"role": "user", "content": "hi"}
SCHEMA = {"type": "object", "properties": {}}
OPEN_SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
CLOSED_SCHEMA = OPEN_SCHEMA | {"additionalProperties": False}
LATE_SCHEMA = CLOSED_SCHEMA | {"required": []}


def function(name: str = "f", **more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": SCHEMA} | more}


def chat_call(call_id: str = "c1", name: str = "f") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": "{}"}}


def asks(*ids: str, name: str = "f") -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [chat_call(one, name) for one in ids]}


def answers(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "ok"}


def chat_parts(role: str, *parts: dict[str, Any]) -> Change:
    return {"messages": [{"role": role, "content": [{"type": "text", "text": "see"}, *parts]}]}


def loop(*messages: dict[str, Any]) -> Change:
    return {"messages": [USER, *messages]}


def named(**choice: Any) -> Change:
    return {"tool_choice": {"type": "function", **choice}}


def schema_of(**a: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": a}, "required": ["a"], "additionalProperties": False}


def chat_format(schema: dict[str, Any]) -> Change:
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "r", "strict": True, "schema": schema}}}


PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
SOUND = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}

SAID = {"role": "assistant", "content": "x"}
SYSTEM = {"role": "system", "content": "s"}
DEVELOPER = {"role": "developer", "content": "s"}
ANY_OF = [{"type": "string"}, {"type": "null"}]
GPT_6: Change = {"model": "gpt-6-luna"}

CASES: tuple[Any, ...] = (
    ("known-arguments", {"top_k": 1}, {"top_p": 1}),
    ("max-tokens-name", {"model": "gpt-5-mini", "max_tokens": 9}, {"model": "gpt-4o", "max_tokens": 9}),
    ("no-stop", {"model": "o1-mini", "stop": ["x"]}, {"model": "gpt-4o", "stop": ["x"]}),
    ("no-top-p", {"model": "gpt-5-nano", "top_p": 0.9}, {"model": "gpt-4o", "top_p": 0.9}),
    ("temperature-at-most-2", {"temperature": 2.1}, {"temperature": 2}),
    ("temperature-at-least-0", {"temperature": -0.1}, {"temperature": 0}),
    ("temperature-of-the-model", {"model": "gpt-5-mini", "temperature": 0}, {"model": "gpt-5-mini", "temperature": 1}),
    (
        "no-sampling-while-reasoning",
        GPT_6 | {"tools": GONE, "temperature": 1},
        GPT_6 | {"tools": GONE, "temperature": 1, "reasoning_effort": "none"},
    ),
    (
        "effort-level",
        {"model": "o4-mini", "reasoning_effort": "minimal"},
        {"model": "o4-mini", "reasoning_effort": "low"},
    ),
    (
        "effort-level",
        {"model": "gpt-6-astra", "tools": GONE, "reasoning_effort": "none"},
        {"model": "gpt-6-luna", "tools": GONE, "reasoning_effort": "none"},
    ),
    (
        "stream-options-need-stream",
        {"stream_options": {"include_usage": True}},
        {"stream_options": {"include_usage": True}, "stream": True},
    ),
    ("at-most-4-stops", {"stop": list("abcde")}, {"stop": list("abcd")}),
    (
        "at-most-128-tools",
        {"tools": [function(f"f{i}") for i in range(129)]},
        {"tools": [function(f"f{i}") for i in range(128)]},
    ),
    ("tools-of-the-model", {"model": "gpt-5-chat-latest"}, {"model": "gpt-5-chat-latest", "tools": GONE}),
    ("no-tools-while-reasoning", GPT_6, GPT_6 | {"reasoning_effort": "none"}),
    ("no-tools-while-reasoning", {"model": "gpt-5.4", "reasoning_effort": "low"}, {"model": "gpt-5.4"}),
    ("tool-choice-nested", named(name="f"), named(function={"name": "f"})),
    ("tool-choice-known", named(function={"name": "g"}), named(function={"name": "f"})),
    (
        "arrays-have-items",
        {"tools": [function(parameters=schema_of(type="array"))]},
        {"tools": [function(parameters=schema_of(type="array", items={}))]},
    ),
    (
        "strict-keywords",
        {"tools": [function(strict=True, parameters=schema_of(oneOf=ANY_OF))]},
        {"tools": [function(strict=True, parameters=schema_of(anyOf=ANY_OF))]},
    ),
    (
        "at-most-128-calls",
        loop(asks(*[f"c{i}" for i in range(129)]), *[answers(f"c{i}") for i in range(129)]),
        loop(asks(*[f"c{i}" for i in range(128)]), *[answers(f"c{i}") for i in range(128)]),
    ),
    ("tools-not-empty", {"tools": []}, {"tools": GONE}),
    ("tool-choice-needs-tools", {"tools": GONE, "tool_choice": "none"}, {"tool_choice": "none"}),
    ("parallel-needs-tools", {"tools": GONE, "parallel_tool_calls": False}, {"parallel_tool_calls": False}),
    ("name-not-empty", {"tools": [function("")]}, {"tools": [function("a")]}),
    ("name-pattern", {"tools": [function("a b")]}, {"tools": [function("a_b-9")]}),
    ("name-pattern", loop(asks("c1", name="f?"), answers("c1")), loop(asks("c1", name="f"), answers("c1"))),
    ("name-length", {"tools": [function("a" * 65)]}, {"tools": [function("a" * 64)]}),
    (
        "parameters-object",
        {"tools": [function(parameters={"type": "string"})]},
        {"tools": [function(parameters={"type": "object"})]},
    ),
    (
        "strict-schema",
        {"tools": [function(parameters=OPEN_SCHEMA, strict=True)]},
        {"tools": [function(parameters=OPEN_SCHEMA, strict=False)]},
    ),
    (
        "strict-schema",
        {"tools": [function(parameters=LATE_SCHEMA, strict=True)]},
        {"tools": [function(parameters=CLOSED_SCHEMA, strict=True)]},
    ),
    ("strict-format", chat_format(OPEN_SCHEMA), chat_format(CLOSED_SCHEMA)),
    ("messages-not-empty", {"messages": []}, {"messages": [USER]}),
    ("roles", loop({"role": "robot", "content": "x"}), loop({"role": "developer", "content": "x"})),
    (
        "platform-roles",
        {"model": "o1-mini", "messages": [{"role": "developer", "content": "x"}]},
        {"model": "o1-mini", "messages": [USER]},
    ),
    ("content-not-null", loop({"role": "user", "content": None}), loop({"role": "user", "content": ""})),
    (
        "content-not-null",
        loop({"role": "assistant", "content": None}),
        loop({"role": "assistant", "content": None, "refusal": "no"}),
    ),
    (
        "calls-not-empty",
        loop({"role": "assistant", "content": "x", "tool_calls": []}),
        loop({"role": "assistant", "content": "x"}),
    ),
    ("images-from-user", chat_parts("system", PICTURE), chat_parts("user", PICTURE)),
    (
        "audio-model",
        chat_parts("user", SOUND) | {"model": "gpt-5-mini"},
        chat_parts("user", SOUND) | {"model": "gpt-4o-audio-preview"},
    ),
    (
        "file-data-url",
        chat_parts("user", {"type": "file", "file": {"filename": "a.pdf", "file_data": "https://example.org/a.pdf"}}),
        chat_parts(
            "user", {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,"}}
        ),
    ),
    ("id-not-empty", loop(asks(""), answers("")), loop(asks("c"), answers("c"))),
    ("id-length", loop(asks("c" * 41), answers("c" * 41)), loop(asks("c" * 40), answers("c" * 40))),
    ("calls-answered", loop(asks("a", "b"), answers("a")), loop(asks("a", "b"), answers("a"), answers("b"))),
    ("calls-answered", loop(asks("a")), loop(asks("a"), answers("a"))),
    ("result-answers-a-call", loop(answers("a")), loop(asks("a"), answers("a"))),
    ("result-of-this-batch", loop(asks("a"), answers("a"), answers("b")), loop(asks("a"), answers("a"))),
    ("one-result-a-call", loop(asks("a"), answers("a"), answers("a")), loop(asks("a"), answers("a"))),
)
DIALECT_CASES: tuple[Any, ...] = (
    ("assistant-after-tool", loop(asks("a"), answers("a"), USER), loop(asks("a"), answers("a"), SAID, USER)),
    ("last-not-assistant", loop(SAID), loop(SAID | {"prefix": True})),
    ("ids-of-nine", loop(asks("call_1"), answers("call_1")), loop(asks("abcDEF123"), answers("abcDEF123"))),
    ("roles-alternate", loop(USER), loop(SAID, USER)),
    ("roles-alternate", {"messages": [SAID, USER]}, loop(asks("a"), answers("a"), SAID, USER)),
    ("system-first", loop(SYSTEM), {"messages": [SYSTEM, USER]}),
    ("no-developer", {"messages": [DEVELOPER, USER]}, {"messages": [SYSTEM, USER]}),
    ("tool-choice-not-none", {"tool_choice": "none"}, {"tool_choice": "auto"}),
    ("tool-choice-auto-only", {"tool_choice": "required"}, {"tool_choice": "none"}),
    ("tool-choice-auto-only", named(function={"name": "f"}), {"tool_choice": "auto"}),
    (
        "one-call-at-a-time",
        loop(asks("a", "b"), answers("a"), answers("b")),
        loop(asks("a"), answers("a"), asks("b"), answers("b")),
    ),
    (
        "reasoning-content-kept",
        loop(asks("a"), answers("a")),
        loop(asks("a") | {"reasoning_content": ""}, answers("a")),
    ),
    ("text-parts-only", chat_parts("user", PICTURE), chat_parts("user")),
    ("no-logprobs", {"logprobs": True}, {"logprobs": False}),
    ("no-effort", {"reasoning_effort": "low"}, {}),
)
BESIDE_NATIVE: tuple[Any, ...] = (
    ("as-many-results", loop(asks("a", "b"), answers("a")), loop(asks("a", "b"), answers("a"), answers("b"))),
)
"""Native rules speak about these too; their place is a dialect that has those off."""

TRANSPORT = "openai-chat"
BASE: Change = {"model": "sim-model", "messages": [USER], "tools": [function()]}


@pytest.mark.parametrize("case", [*CASES, *DIALECT_CASES], ids=lambda case: case[0])
def test_a_rule_rejects_its_illegal_request_and_accepts_the_nearest_legal_one(case: Any, bench: Any) -> None:
    bench(TRANSPORT, BASE, GONE).shows(*case)


@pytest.mark.parametrize("case", BESIDE_NATIVE, ids=lambda case: case[0])
def test_a_rule_of_a_dialect_that_replaces_a_native_one_has_two_sides_as_well(case: Any) -> None:
    name, illegal, legal = case
    row = next(rule for rule in RULES if rule.id == f"wire.{TRANSPORT}.{name}")
    assert [one.rule for one in judge([row], View(BASE | illegal))] == [row.id]
    assert judge([row], View(BASE | legal)) == []


def test_a_message_between_a_call_and_its_result_takes_both_apart() -> None:
    found = codec(TRANSPORT).judge(BASE | loop(asks("a"), USER, answers("a")))
    assert [one.rule.rpartition(".")[2] for one in found] == ["calls-answered", "result-answers-a-call"]


def test_every_rule_has_a_case() -> None:
    cases = [*CASES, *DIALECT_CASES, *BESIDE_NATIVE]
    assert {f"wire.{TRANSPORT}.{case[0]}" for case in cases} == {rule.id for rule in RULES}
    assert {f"wire.{TRANSPORT}.{case[0]}" for case in CASES} == {rule.id for rule in RULES if rule.native}
