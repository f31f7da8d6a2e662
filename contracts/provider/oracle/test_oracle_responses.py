"""The rules of Responses, each on both its sides.

A case is a rule, an illegal change of a legal request, and a legal change as near to it as can be. A change replaces
top-level keys; the value GONE takes one out.
"""

from typing import Any

import pytest

from harness.wire.codec import Circumstances, Issued
from harness.wire.openai_responses.oracle import RULES

GONE = object()
Change = dict[str, Any]
USER = {"role": "user", "content": "hi"}
SCHEMA = {"type": "object", "properties": {}}
OPEN_SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
CLOSED_SCHEMA = OPEN_SCHEMA | {"additionalProperties": False}
LATE_SCHEMA = CLOSED_SCHEMA | {"required": []}


def function(name: str = "f", **more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": SCHEMA} | more}


def flat(name: str = "f", **more: Any) -> dict[str, Any]:
    return {"type": "function", "name": name, "parameters": SCHEMA, "strict": False} | more


def items(*found: dict[str, Any]) -> Change:
    return {"input": [USER, *found]}


def call(call_id: str = "c1", name: str = "f", **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": "{}"} | more


def output(call_id: str = "c1") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": "ok"}


def thought(**more: Any) -> dict[str, Any]:
    return {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"} | more


def says(kind: str, role: str = "assistant") -> dict[str, Any]:
    return {"role": role, "content": [{"type": kind, "text": "x"}]}


def file(**where: str) -> Change:
    return items({"role": "user", "content": [{"type": "input_file", **where}]})


def text_format(schema: dict[str, Any]) -> Change:
    return {"text": {"format": {"type": "json_schema", "name": "r", "strict": True, "schema": schema}}}


def schema_of(**a: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": a}, "required": ["a"], "additionalProperties": False}


def gave(*found: dict[str, Any]) -> Circumstances:
    """The provider's earlier answer had these items."""
    return Circumstances(issued=(Issued({"model": "sim-model", "input": [USER]}, {"output": list(found)}),))


ANY_OF = [{"type": "string"}, {"type": "null"}]
LONGEST = 10_485_760
FINAL = says("output_text") | {"type": "message", "id": "msg_1", "phase": "final_answer"}

CASES: tuple[Any, ...] = (
    ("known-arguments", {"messages": []}, {"metadata": {}}),
    ("max-output-tokens", {"max_output_tokens": 15}, {"max_output_tokens": 16}),
    ("temperature-at-least-0", {"temperature": -1}, {"temperature": 0}),
    ("temperature-at-most-2", {"temperature": 3}, {"temperature": 2}),
    ("input-given", {"input": []}, {"input": "hi"}),
    ("input-given", {"input": GONE}, {"input": GONE, "previous_response_id": "resp_1"}),
    ("no-temperature", {"model": "gpt-5-nano", "temperature": 1}, {"model": "gpt-4o", "temperature": 1}),
    (
        "no-sampling-while-reasoning",
        {"model": "gpt-6-luna", "top_p": 0.5},
        {"model": "gpt-6-luna", "top_p": 0.5, "reasoning": {"effort": "none"}},
    ),
    (
        "effort-level",
        {"model": "o4-mini", "reasoning": {"effort": "minimal"}},
        {"model": "gpt-5-mini", "reasoning": {"effort": "minimal"}},
    ),
    ("tool-choice-needs-tools", {"tools": GONE, "tool_choice": "required"}, {"tools": GONE, "tool_choice": "none"}),
    (
        "tool-choice-flat",
        {"tool_choice": {"type": "function", "function": {"name": "f"}}},
        {"tool_choice": {"type": "function", "name": "f"}},
    ),
    (
        "tool-choice-known",
        {"tool_choice": {"type": "function", "name": "g"}},
        {"tool_choice": {"type": "function", "name": "f"}},
    ),
    ("parameters-object", {"tools": [flat(parameters={"type": "string"})]}, {"tools": [flat(parameters={})]}),
    (
        "arrays-have-items",
        {"tools": [flat(parameters=schema_of(type="array"))]},
        {"tools": [flat(parameters=schema_of(type="array", items={"type": "string"}))]},
    ),
    (
        "strict-keywords",
        {"tools": [flat(strict=True, parameters=schema_of(allOf=ANY_OF))]},
        {"tools": [flat(strict=True, parameters=schema_of(anyOf=ANY_OF))]},
    ),
    ("strict-said", {"tools": [{"type": "function", "name": "f", "parameters": SCHEMA}]}, {"tools": [flat()]}),
    ("item-id-prefix", items(call(id="call_1"), output()), items(call(id="fc_1"), output())),
    (
        "output-length",
        items(call(), output() | {"output": "x" * (LONGEST + 1)}),
        items(call(), output() | {"output": "x" * LONGEST}),
    ),
    (
        "reasoning-kept",
        items(call(id="fc_1"), output()),
        items(thought(), call(id="fc_1"), output()),
        gave(thought(), call(id="fc_1")),
    ),
    ("reasoning-kept", items(call(id="fc_1"), output()), items(call(), output()), gave(thought(), call(id="fc_1"))),
    ("phase-kept", items(FINAL | {"phase": "commentary"}, USER), items(FINAL, USER), gave(FINAL)),
    ("tool-has-name", {"tools": [function()]}, {"tools": [flat()]}),
    ("name-not-empty", {"tools": [flat("")]}, {"tools": [flat("a")]}),
    ("name-pattern", {"tools": [flat("a.b")]}, {"tools": [flat("a-b")]}),
    ("name-pattern", items(call(name="f?"), output()), items(call(name="f"), output())),
    ("name-length", {"tools": [flat("a" * 129)]}, {"tools": [flat("a" * 128)]}),
    (
        "strict-schema",
        {"tools": [flat(parameters=OPEN_SCHEMA, strict=True)]},
        {"tools": [flat(parameters=CLOSED_SCHEMA, strict=True)]},
    ),
    ("strict-format", text_format(LATE_SCHEMA), text_format(CLOSED_SCHEMA)),
    ("roles", items({"role": "tool", "content": "x"}), items({"role": "developer", "content": "x"})),
    ("assistant-parts", items(says("input_text")), items(says("output_text"))),
    ("user-parts", items(says("text", "user")), items(says("input_text", "user"))),
    ("id-not-empty", items(call(""), output("")), items(call("c"), output("c"))),
    ("id-length", items(call("c" * 65), output("c" * 65)), items(call("c" * 64), output("c" * 64))),
    (
        "item-once",
        items(call("a", id="fc_1"), output("a"), call("b", id="fc_1"), output("b")),
        items(call("a", id="fc_1"), output("a"), call("b", id="fc_2"), output("b")),
    ),
    ("file-kind", file(file_data="data:audio/mpeg;base64,AAAA"), file(file_data="data:text/plain;base64,AAAA")),
    ("file-address", file(file_url="https://example.org/a.mp3"), file(file_url="https://example.org/a.pdf")),
    ("reasoning-followed", items(thought()), items(thought(), call(id="fc_1"), output())),
    ("reasoning-followed", items(thought(), call(), output()), items(thought(), call(), output()) | {"store": False}),
    (
        "reasoning-followed",
        items(thought(), USER) | {"store": False},
        items({"type": "reasoning", "summary": [], "encrypted_content": "e"}, USER) | {"store": False},
    ),
    (
        "reasoning-not-stored",
        items(thought(encrypted_content=None), call(id="fc_1"), output()) | {"store": False},
        items(thought(encrypted_content=None), call(id="fc_1"), output()) | {"store": True},
    ),
    (
        "calls-answered",
        items(call("a"), call("b"), output("a")),
        items(call("a"), call("b"), output("a"), output("b")),
    ),
    ("output-answers-a-call", items(output("a")), items(output("a")) | {"previous_response_id": "resp_1"}),
    ("output-answers-a-call", items(output("a"), call("a"), output("a")), items(call("a"), output("a"))),
)

TRANSPORT = "openai-responses"
BASE: Change = {"model": "sim-model", "input": [USER], "tools": [flat()]}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_a_rule_rejects_its_illegal_request_and_accepts_the_nearest_legal_one(case: Any, bench: Any) -> None:
    bench(TRANSPORT, BASE, GONE).shows(*case)


def test_every_rule_has_a_case() -> None:
    assert {f"wire.{TRANSPORT}.{case[0]}" for case in CASES} == {rule.id for rule in RULES}
