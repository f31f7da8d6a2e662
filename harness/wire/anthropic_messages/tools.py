"""Messages rules of tools: names, schemas, and when tools must be there."""

import re
from collections import Counter
from collections.abc import Callable, Iterator

from harness.wire.anthropic_messages import models
from harness.wire.anthropic_messages.view import View
from harness.wire.rules import Hit, Rule

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_TOOL_BLOCKS = ("tool_use", "tool_result")
_NAMES = "github.com/anthropics/claude-code/issues/96152, github.com/home-assistant/core/issues/147760"


def _broken(name: object) -> bool:
    return isinstance(name, str) and len(name) <= 128 and not _NAME.fullmatch(name)


def _long(name: object) -> bool:
    return isinstance(name, str) and len(name) > 128


def _tool_names(wrong: Callable[[object], bool]) -> Callable[[View], Iterator[Hit]]:
    def find(view: View) -> Iterator[Hit]:
        for i, tool in view.tools:
            if wrong(tool.get("name")):
                yield Hit(f"/tools/{i}/name", {"place": f"tools.{i}.custom.name"})
        for block in view.blocks:
            if block.kind == "tool_use" and wrong(block.body.get("name")):
                place = f"messages.{block.i}.content.{block.j}.tool_use.name"
                yield Hit(f"{block.pointer}/name", {"place": place})

    return find


def _twice(view: View) -> Iterator[Hit]:
    names = Counter(name for _, tool in view.tools if isinstance(name := tool.get("name"), str))
    seen: set[str] = set()
    for i, tool in view.tools:
        name = tool.get("name")
        if isinstance(name, str) and names[name] > 1 and name in seen:
            yield Hit(f"/tools/{i}/name")
        if isinstance(name, str):
            seen.add(name)


def _untyped(view: View) -> Iterator[Hit]:
    for i, tool in view.tools:
        schema = tool.get("input_schema")
        if isinstance(schema, dict) and "type" not in schema:
            yield Hit(f"/tools/{i}/input_schema", {"i": i})


def _mistyped(view: View) -> Iterator[Hit]:
    for i, tool in view.tools:
        schema = tool.get("input_schema")
        if isinstance(schema, dict) and schema.get("type", "object") != "object":
            yield Hit(f"/tools/{i}/input_schema/type", {"i": i})


def _choice(view: View) -> Iterator[Hit]:
    offered = view.payload.get("tools") or view.payload.get("mcp_servers")
    if view.payload.get("tool_choice") is not None and not offered:
        yield Hit("/tool_choice")


def _history(view: View) -> Iterator[Hit]:
    if view.payload.get("tools") or not models.needs_tools_for_tool_blocks(view.model):
        return
    first = next((block for block in view.blocks if block.kind in _TOOL_BLOCKS), None)
    if first is not None:
        yield Hit(first.pointer)


TOOL_RULES: tuple[Rule[View], ...] = (
    Rule(
        id="wire.anthropic-messages.name-pattern",
        statement="Tool names, of tools and of calls in the history, are 1 to 128 letters, digits, _ and -.",
        message="{place}: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'",
        source=_NAMES,
        mend="use letters, digits, _ and - only",
        find=_tool_names(_broken),
    ),
    Rule(
        id="wire.anthropic-messages.name-length",
        statement="Tool names, of tools and of calls in the history, have at most 128 characters.",
        message="{place}: String should have at most 128 characters",
        source=_NAMES,
        mend="use at most 64 characters, which all documents allow",
        find=_tool_names(_long),
    ),
    Rule(
        id="wire.anthropic-messages.names-unique",
        statement="No two tools have one name.",
        message="tools: Tool names must be unique.",
        source="github.com/anthropics/claude-code/issues/10687",
        mend="rename or drop one of them",
        find=_twice,
    ),
    Rule(
        id="wire.anthropic-messages.schema-typed",
        statement="An input schema says its type.",
        message="tools.{i}.custom.input_schema.type: Field required",
        source="recorded 400 answer of api.anthropic.com",
        mend='add "type": "object"',
        find=_untyped,
    ),
    Rule(
        id="wire.anthropic-messages.schema-object",
        statement="An input schema is of type object.",
        message="tools.{i}.custom.input_schema.type: Input should be 'object'",
        source="API reference, tools[].input_schema",
        mend="give the parameters as an object schema",
        find=_mistyped,
    ),
    Rule(
        id="wire.anthropic-messages.tool-choice-needs-tools",
        statement="tool_choice is sent only together with tools.",
        message="tool_choice may only be specified while providing tools.",
        source="public reports of this text",
        mend="leave tool_choice out when there are no tools",
        find=_choice,
    ),
    Rule(
        id="wire.anthropic-messages.tool-blocks-need-tools",
        statement="Models of the third generation take calls and results in the history only together with tools.",
        message="Requests which include `tool_use` or `tool_result` blocks must define tools.",
        source="public reports of this text; a recorded 200 answer of claude-sonnet-5 shows that later models take it",
        mend="keep the tools, and send tool_choice none",
        find=_history,
    ),
)
