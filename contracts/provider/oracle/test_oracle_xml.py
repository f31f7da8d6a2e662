"""The rules of the XML fallback's text protocol, each on both its sides.

A case is a rule, an illegal change of a legal request, and a legal change as near to it as can be. A change replaces
top-level keys; the value GONE takes one out.
"""

from typing import Any

import pytest

from harness.wire.xml_fallback.oracle import PROTOCOL_RULES

GONE = object()
Change = dict[str, Any]
USER = {"role": "user", "content": "hi"}
SCHEMA = {"type": "object", "properties": {}}


def function(name: str = "f", **more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": SCHEMA} | more}


def loop(*messages: dict[str, Any]) -> Change:
    return {"messages": [USER, *messages]}


def chat_call(call_id: str = "c1", name: str = "f") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": "{}"}}


def asks(*ids: str, name: str = "f") -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [chat_call(one, name) for one in ids]}


def answers(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "ok"}


def wrote(*ids: str) -> dict[str, Any]:
    frames = "".join(f'\n<tool_call id="{one}" name="f">{{}}</tool_call>\n' for one in ids)
    return {"role": "assistant", "content": "Looking." + frames}


def gave(*ids: str) -> dict[str, Any]:
    results = "".join(f'<tool_result id="{one}" name="f">ok</tool_result>\n' for one in ids)
    return {"role": "user", "content": f"<tool_results>\n{results}</tool_results>"}


def section(*names: str) -> Change:
    lines = "".join(
        f'<tool name="{one}"><description>d</description><parameters>{{}}</parameters></tool>\n' for one in names
    )
    text = f"S\n\nYou can call tools. Write them so.\n<tools>\n{lines}</tools>"
    return {"messages": [{"role": "system", "content": text}, USER]}


CASES: tuple[Any, ...] = (
    ("no-native-tools", {"tools": [function()]}, section("f")),
    ("no-native-tools", loop(asks("a"), answers("a")), loop(wrote("x1"), gave("x1"))),
    ("tool-section", section("f", "f"), section("f", "g")),
    (
        "calls-have-ids",
        loop({"role": "assistant", "content": '<tool_call name="f">{}</tool_call>'}, gave("")),
        loop({"role": "assistant", "content": '```\n<tool_call name="f">{}</tool_call>\n```'}),
    ),
    (
        "call-ids-unique",
        loop(wrote("x1"), gave("x1"), wrote("x1"), gave("x1")),
        loop(wrote("x1", "x2"), gave("x1", "x2")),
    ),
    (
        "results-message",
        loop({"role": "user", "content": "<tool_results>\n</tool_results>\nand more"}),
        loop({"role": "user", "content": "and more"}),
    ),
    ("calls-answered", loop(wrote("x1", "x2"), gave("x1")), loop(wrote("x1"), gave("x1"))),
    ("result-answers-a-call", loop(wrote("x1"), gave("x1", "x9")), loop(wrote("x1"), gave("x1"))),
    ("results-in-order", loop(wrote("x1", "x2"), gave("x2", "x1")), loop(wrote("x1", "x2"), gave("x1", "x2"))),
)

TRANSPORT = "xml-fallback"
BASE: Change = {"model": "sim-model", "messages": [USER]}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_a_rule_rejects_its_illegal_request_and_accepts_the_nearest_legal_one(case: Any, bench: Any) -> None:
    bench(TRANSPORT, BASE, GONE).shows(*case)


def test_every_rule_has_a_case() -> None:
    assert {f"wire.{TRANSPORT}.{case[0]}" for case in CASES} == {rule.id for rule in PROTOCOL_RULES}
