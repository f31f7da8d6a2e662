"""The rules of the Messages API, each on both its sides.

A case is a rule, an illegal change of a legal request, and a legal change as near to it as can be. A change replaces
top-level keys; the value GONE takes one out.
"""

from typing import Any

import pytest

from harness.wire.anthropic_messages.oracle import RULES
from harness.wire.codec import Circumstances, Issued
from harness.wire.registry import codec

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


def gave(payload: Change, *blocks: dict[str, Any]) -> Circumstances:
    """The provider's earlier answer to this request had these blocks."""
    return Circumstances(issued=(Issued(BASE | payload, {"content": list(blocks)}),))


def strict(**a: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"a": a}, "required": ["a"], "additionalProperties": False}
    return tool(schema=schema) | {"strict": True}


def bare(schema: Any) -> dict[str, Any]:
    return {"input_schema": CLOSED | {"properties": {"a": schema}}}


def referring(name: str) -> dict[str, Any]:
    node = {"type": "object", "properties": {"next": {"$ref": name}}, "additionalProperties": False}
    schema = {"type": "object", "properties": {}, "additionalProperties": False, "$defs": {"Node": node, "Leaf": LEAF}}
    return tool(schema=schema) | {"strict": True}


def unions(number: int) -> dict[str, Any]:
    properties = {f"u{i}": {"type": ["string", "null"]} for i in range(number)}
    return tool(schema=CLOSED | {"properties": properties}) | {"strict": True}


ADDED = {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "f"}}
LEAF = {"type": "string"}
CLOSED: dict[str, Any] = {"type": "object", "additionalProperties": False}
DISABLED = {"thinking": {"type": "disabled"}}
ADAPTIVE = {"thinking": {"type": "adaptive"}}
LONG: Any = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
THOUGHTS = (THOUGHT, {"type": "thinking", "thinking": "", "signature": "s2"})
BOUND: Change = {"model": "claude-opus-5-5"}
BASE: Change = {"model": "sim-model", "max_tokens": 4096, "messages": [USER], "tools": [tool()]}


def effort(model: str, level: str) -> Change:
    return {"model": model, "output_config": {"effort": level}}


CASES: tuple[Any, ...] = (
    (
        "max-tokens-of-the-model",
        {"model": "claude-haiku-4-5", "max_tokens": 64_001},
        {"model": "claude-haiku-4-5", "max_tokens": 64_000},
    ),
    ("cache-warming", {"max_tokens": 0, "stream": True}, {"max_tokens": 0, "stream": False}),
    (
        "cache-warming",
        {"max_tokens": 0, "tool_choice": {"type": "any"}},
        {"max_tokens": 0, "tool_choice": {"type": "auto"}},
    ),
    ("stop-not-blank", {"stop_sequences": ["\n"]}, {"stop_sequences": ["\n."]}),
    (
        "format-has-schema",
        {"output_config": {"format": {"type": "json_schema", "json_schema": {"schema": CLOSED}}}},
        {"output_config": {"format": {"type": "json_schema", "schema": CLOSED}}},
    ),
    (
        "thinking-not-manual",
        MANUAL | {"model": "claude-opus-4-7"},
        MANUAL | {"model": "claude-opus-4-6"},
    ),
    ("thinking-not-adaptive", ADAPTIVE | {"model": "claude-opus-4-5"}, ADAPTIVE | {"model": "claude-opus-4-6"}),
    ("thinking-not-disabled", DISABLED | {"model": "claude-fable-5"}, DISABLED | {"model": "claude-opus-5"}),
    ("effort-supported", effort("claude-haiku-4-5", "low"), effort("claude-opus-4-5", "low")),
    ("effort-level", effort("claude-opus-4-6", "xhigh"), effort("claude-opus-4-6", "max")),
    (
        "tool-choice-none-alone",
        {"tool_choice": {"type": "none", "disable_parallel_tool_use": True}},
        {"tool_choice": {"type": "none"}},
    ),
    (
        "tool-choice-known",
        {"tool_choice": {"type": "tool", "name": "g"}},
        {"tool_choice": {"type": "tool", "name": "f"}},
    ),
    ("name-short", {"tools": [tool("a" * 65)]}, {"tools": [tool("a" * 64)]}),
    (
        "schema-valid",
        {"tools": [tool(schema={"type": "object", "properties": {"a": {"type": "text"}}})]},
        {"tools": [tool(schema={"type": "object", "properties": {"a": {"type": "string"}}})]},
    ),
    (
        "schema-not-combined",
        {"tools": [tool(schema=SCHEMA | {"anyOf": [{}]})]},
        {"tools": [tool(schema={"type": "object", "properties": {"a": {"anyOf": [{}]}}})]},
    ),
    (
        "schema-property-keys",
        {"tools": [tool(schema={"type": "object", "properties": {"a b": {}}})]},
        {"tools": [tool(schema={"type": "object", "properties": {"a.b": {}}})]},
    ),
    ("strict-not-circular", {"tools": [referring("#/$defs/Node")]}, {"tools": [referring("#/$defs/Leaf")]}),
    ("strict-no-bare-schema", {"tools": [unions(0) | bare(True)]}, {"tools": [unions(0) | bare({"type": "string"})]}),
    ("strict-closed", {"tools": [tool() | {"strict": True}]}, {"tools": [tool() | {"strict": False}]}),
    (
        "strict-closed",
        {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
        {"output_config": {"format": {"type": "json_schema", "schema": CLOSED}}},
    ),
    ("strict-no-bounds", {"tools": [strict(type="integer", minimum=1)]}, {"tools": [strict(type="integer")]}),
    ("strict-few-unions", {"tools": [unions(17)]}, {"tools": [unions(16)]}),
    (
        "no-user-citations",
        {"messages": [user(words(citations=[{"type": "char_location"}]))]},
        {"messages": [user(words(citations=None))]},
        NEWEST,
    ),
    ("cache-mark-on-text", {"system": [words("", **MARK)]}, {"system": [words("s", **MARK)]}),
    ("cache-mark-on-text", {"messages": [user(words(), words("", **MARK))]}, {"messages": [user(words(**MARK))]}),
    (
        "cache-mark-not-on-thinking",
        loop(assistant(THOUGHT | MARK, words()), USER),
        loop(assistant(THOUGHT, words(**MARK)), USER),
    ),
    (
        "cache-marks-long-first",
        {"system": [words(**MARK)], "messages": [user(words(**LONG))]},
        {"system": [words(**LONG)], "messages": [user(words(**MARK))]},
    ),
    (
        "thinking-signed",
        loop(assistant({"type": "thinking", "thinking": "t"}, words()), USER),
        loop(assistant(THOUGHT, words()), USER),
    ),
    (
        "server-tools-finished",
        loop(assistant(SEARCH, words()), USER),
        loop(assistant(SEARCH, FOUND, words()), USER),
    ),
    (
        "server-tools-finished",
        loop(assistant(SEARCH, use()), user(result(), words())),
        loop(assistant(SEARCH, use()), user(result())),
    ),
    (
        "thinking-unchanged",
        loop(assistant(THOUGHT | {"thinking": "T"}, use()), user(result())),
        loop(assistant(THOUGHT, use()), user(result())),
        gave({}, THOUGHT, use()),
    ),
    (
        "thinking-unchanged",
        loop(assistant(*THOUGHTS[::-1], use()), user(result())),
        loop(assistant(*THOUGHTS, use()), user(result())),
        gave({}, *THOUGHTS, use()),
    ),
    (
        "thinking-unchanged",
        loop(assistant(THOUGHTS[0], use()), user(result())),
        loop(assistant(use()), user(result())),
        gave({}, *THOUGHTS, use()),
    ),
    (
        "thinking-prefix",
        BOUND | {"system": "new"} | loop(assistant(THOUGHT, use()), user(result())),
        BOUND | {"system": [words("old", **MARK)]} | loop(assistant(THOUGHT, use()), user(result())),
        gave({"system": "old"}, THOUGHT, use()),
    ),
    (
        "thinking-prefix",
        BOUND | {"messages": [user(words("bye")), assistant(THOUGHT, use()), user(result())]},
        {"messages": [user(words("bye")), assistant(THOUGHT, use()), user(result())]},
        gave({}, THOUGHT, use()),
    ),
    (
        "thinking-prefix",
        BOUND | {"tools": [tool(), tool("g")]} | loop(assistant(THOUGHT, use()), user(result())),
        BOUND | {"tools": [tool() | MARK]} | loop(assistant(THOUGHT, use()), user(result())),
        gave({}, THOUGHT, use()),
    ),
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
    ("results-from-user", loop(assistant(words(), result()), USER), loop(assistant(words()), USER)),
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
    (
        "late-system-model",
        loop(system()) | {"model": "claude-opus-4-8"},
        loop({"role": "system", "content": [ADDED]}) | {"model": "claude-opus-4-8"},
    ),
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
    ("result-answers-a-call", loop(user(result())), loop(assistant(use()), user(result()))),
    ("one-result-a-call", loop(assistant(use()), user(result(), result())), loop(assistant(use()), user(result()))),
)

TRANSPORT = "anthropic-messages"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_a_rule_rejects_its_illegal_request_and_accepts_the_nearest_legal_one(case: Any, bench: Any) -> None:
    bench(TRANSPORT, BASE, GONE).shows(*case)


def test_a_system_message_between_results_takes_the_later_ones_from_their_calls() -> None:
    batch = assistant(use("a"), use("b"))
    found = codec(TRANSPORT).judge(BASE | loop(batch, user(result("a")), system(), user(result("b"))), Circumstances())
    assert {one.rule.rpartition(".")[2] for one in found} == {
        "late-system-before-assistant",
        "calls-answered",
        "result-answers-a-call",
    }
    assert codec(TRANSPORT).judge(BASE | loop(batch, user(result("a")), user(result("b")), system())) == []


def test_a_body_of_more_than_32_mb_is_too_large() -> None:
    wire, most = codec(TRANSPORT), 32 * 1024 * 1024
    (only,) = wire.judge(BASE, Circumstances(size=most + 1))
    assert (only.rule, only.status) == (f"wire.{TRANSPORT}.body-size", 413)
    assert only.error_type == "request_too_large"
    assert wire.judge(BASE, Circumstances(size=most)) == []


def test_every_rule_has_a_case() -> None:
    shown = {*(case[0] for case in CASES), "body-size"}
    assert {f"wire.{TRANSPORT}.{name}" for name in shown} == {rule.id for rule in RULES}
