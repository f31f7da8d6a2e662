"""The rules of the Messages API, each on both its sides.

A case is a rule, an illegal change of a legal request, and a legal change as near to it as can be. A change replaces
top-level keys; the value GONE takes one out.
"""

from typing import Any

import pytest

from harness.wire.anthropic_messages.oracle import RULES
from harness.wire.codec import Circumstances

GONE = object()
Change = dict[str, Any]
USER = {"role": "user", "content": "hi"}
NEWEST = Circumstances(version="2026-10-21")
SCHEMA = {"type": "object", "properties": {}}


def loop(*messages: dict[str, Any]) -> Change:
    return {"messages": [USER, *messages]}


def tool(name: str = "f", schema: dict[str, Any] = SCHEMA) -> dict[str, Any]:
    return {"name": name, "description": "d", "input_schema": schema}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def system(text: str = "s") -> dict[str, Any]:
    return {"role": "system", "content": text}


def use(call_id: str = "a", name: str = "f") -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {}}


def result(call_id: str = "a") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": "ok"}


def words(text: str = "x", **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": text} | more


THOUGHT = {"type": "thinking", "thinking": "t", "signature": "s"}
SEARCH = {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srv", "content": []}
MANUAL = {"thinking": {"type": "enabled", "budget_tokens": 2048}, "max_tokens": 4096}
MARK: Any = {"cache_control": {"type": "ephemeral"}}

CASES: tuple[Any, ...] = (
    ("known-arguments", {"max_completion_tokens": 1}, {"metadata": {}}),
    ("no-sampling", {"temperature": 1}, {}, NEWEST),
    ("no-sampling", {"top_p": 1}, {"service_tier": "auto"}, NEWEST),
    ("temperature-range", {"temperature": 1.5}, {"temperature": 1.0}),
    ("max-tokens-required", {"max_tokens": GONE}, {"max_tokens": 1}),
    ("max-tokens-not-negative", {"max_tokens": -1}, {"max_tokens": 0}),
    (
        "thinking-budget-minimum",
        {"thinking": {"type": "enabled", "budget_tokens": 1023}},
        {"thinking": {"type": "enabled", "budget_tokens": 1024}},
    ),
    ("thinking-budget-below-limit", MANUAL | {"max_tokens": 2048, "tools": GONE}, MANUAL | {"tools": GONE}),
    ("thinking-not-forced", MANUAL | {"tool_choice": {"type": "any"}}, MANUAL | {"tool_choice": {"type": "auto"}}),
    ("name-pattern", {"tools": [tool("a b")]}, {"tools": [tool("a-b")]}),
    ("name-pattern", loop(assistant(use(name="")), user(result())), loop(assistant(use()), user(result()))),
    ("name-length", {"tools": [tool("a" * 129)]}, {"tools": [tool("a" * 128)]}),
    ("names-unique", {"tools": [tool(), tool()]}, {"tools": [tool(), tool("g")]}),
    ("schema-typed", {"tools": [tool(schema={"properties": {}})]}, {"tools": [tool(schema={"type": "object"})]}),
    ("schema-object", {"tools": [tool(schema={"type": "array"})]}, {"tools": [tool(schema={"type": "object"})]}),
    ("tool-choice-needs-tools", {"tools": GONE, "tool_choice": {"type": "none"}}, {"tool_choice": {"type": "none"}}),
    (
        "tool-blocks-need-tools",
        loop(assistant(use()), user(result())) | {"model": "claude-3-opus-20240229", "tools": GONE},
        loop(assistant(use()), user(result())) | {"model": "claude-sonnet-5", "tools": GONE},
    ),
    ("messages-not-empty", {"messages": []}, {"messages": [USER]}),
    ("roles", loop({"role": "tool", "content": "x"}), loop(system())),
    ("content-not-empty", loop(assistant(), USER), loop(assistant(words()), USER)),
    ("text-not-empty", {"messages": [user(words(""))]}, {"messages": [user(words("."))]}),
    ("text-not-empty", {"system": [words("")]}, {"system": [words("s")]}),
    ("text-not-blank", {"messages": [user(words(" \n"))]}, {"messages": [user(words(" x\n"))]}),
    ("calls-from-assistant", loop(user(use())), loop(assistant(use()), user(result()))),
    ("results-from-user", loop(assistant(words(), result())), loop(assistant(words(), use()), user(result()))),
    (
        "no-assistant-documents",
        loop(assistant({"type": "document", "source": {}}), USER),
        loop(user({"type": "document", "source": {}})),
        NEWEST,
    ),
    ("id-pattern", loop(assistant(use("a.1")), user(result("a.1"))), loop(assistant(use("a_1")), user(result("a_1")))),
    (
        "four-cache-marks",
        {"messages": [user(*[words(**MARK)] * 4)], "system": [words(**MARK)]},
        {"messages": [user(*[words(**MARK)] * 3)], "system": [words(**MARK)]},
    ),
    ("late-system-model", loop(system()) | {"model": "claude-sonnet-5"}, loop(system()) | {"model": "claude-opus-5"}),
    ("late-system-not-first", {"messages": [system(), assistant(words()), USER]}, {"messages": [USER], "system": "s"}),
    ("late-system-after-user", loop(assistant(words()), system()), loop(assistant(SEARCH, FOUND), system())),
    (
        "late-system-before-assistant",
        loop(system(), USER),
        loop(system(), {"role": "system", "content": [], "output_config": {"effort": "low"}}),
    ),
    (
        "late-system-before-assistant",
        loop(assistant(use()), user(result()), system(), user(words())),
        loop(assistant(use()), user(result()), user(words()), system()),
    ),
    ("no-prefill", loop(assistant(words("{"))), loop(assistant(words("{"))) | {"model": "claude-haiku-4-5"}),
    ("no-prefill", loop(assistant(words())), loop(assistant(words(), SEARCH))),
    (
        "prefill-not-blank-at-end",
        loop(assistant(words("{ "))) | {"model": "claude-haiku-4-5"},
        loop(assistant(words("{"))) | {"model": "claude-haiku-4-5"},
    ),
    (
        "thinking-first",
        loop(assistant(use()), user(result())) | MANUAL,
        loop(assistant(THOUGHT, use()), user(result()), assistant(use("b")), user(result("b"))) | MANUAL,
    ),
    (
        "call-ids-unique",
        loop(assistant(use("a")), user(result("a")), assistant(use("a")), user(result("a"))),
        loop(assistant(use("a")), user(result("a")), assistant(use("b")), user(result("b"))),
    ),
    ("calls-answered", loop(assistant(use("a"), use("b")), user(result("a"))), loop(assistant(use()), user(result()))),
    (
        "calls-answered",
        loop(assistant(use()), user(words(), result())),
        loop(assistant(use()), user(result(), words())),
    ),
    (
        "calls-answered",
        loop(assistant(use("a"), use("b")), user(result("a")), system(), user(result("b"))),
        loop(assistant(use("a"), use("b")), user(result("a")), user(result("b")), system()),
    ),
    ("result-answers-a-call", loop(user(result())), loop(assistant(use()), user(result()))),
    ("one-result-a-call", loop(assistant(use()), user(result(), result())), loop(assistant(use()), user(result()))),
)

TRANSPORT = "anthropic-messages"
BASE: Change = {"model": "sim-model", "max_tokens": 4096, "messages": [USER], "tools": [tool()]}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_a_rule_rejects_its_illegal_request_and_accepts_the_nearest_legal_one(case: Any, bench: Any) -> None:
    bench(TRANSPORT, BASE, GONE).shows(*case)


def test_every_rule_has_a_case() -> None:
    assert {f"wire.{TRANSPORT}.{case[0]}" for case in CASES} == {rule.id for rule in RULES}
