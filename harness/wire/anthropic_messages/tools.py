"""Messages rules of tools: names, tool_choice, and when tools must be there."""

import re
from collections import Counter
from collections.abc import Callable, Iterator

from harness.wire.anthropic_messages import models
from harness.wire.anthropic_messages.view import View
from harness.wire.reading import objects
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


def _choice(view: View) -> Iterator[Hit]:
    offered = view.payload.get("tools") or view.payload.get("mcp_servers")
    if view.payload.get("tool_choice") is not None and not offered:
        yield Hit("/tool_choice")


def _crowded_none(view: View) -> Iterator[Hit]:
    choice = view.payload.get("tool_choice")
    if isinstance(choice, dict) and choice.get("type") == "none":
        yield from (Hit(f"/tool_choice/{key}", {"key": key}) for key in choice if key != "type")


def _unknown_choice(view: View) -> Iterator[Hit]:
    choice, names = (
        view.payload.get("tool_choice"),
        [tool.get("name") for _, tool in objects(view.payload.get("tools"))],
    )
    if isinstance(choice, dict) and choice.get("type") == "tool" and names and choice.get("name") not in names:
        yield Hit("/tool_choice/name", {"name": choice.get("name")})


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
        id="wire.anthropic-messages.tool-choice-needs-tools",
        statement="tool_choice is sent only together with tools.",
        message="tool_choice may only be specified while providing tools.",
        source="public reports of this text",
        mend="leave tool_choice out when there are no tools",
        find=_choice,
    ),
    Rule(
        id="wire.anthropic-messages.tool-choice-none-alone",
        statement="tool_choice none has no other key.",
        message="tool_choice.none.{key}: Extra inputs are not permitted",
        source="API reference, tool_choice; types of the anthropic SDK 2.14",
        mend='send {"type": "none"} alone',
        find=_crowded_none,
    ),
    Rule(
        id="wire.anthropic-messages.tool-choice-known",
        statement="A tool that tool_choice forces is one of the tools.",
        message="Tool '{name}' not found in provided tools",
        source="public reports of this text",
        mend="name one of the tools of the request",
        find=_unknown_choice,
    ),
    Rule(
        id="wire.anthropic-messages.tool-blocks-need-tools",
        statement="Models of the third generation take calls and results in the history only together with tools.",
        message="Requests which include `tool_use` or `tool_result` blocks must define tools.",
        source="public reports of this text",
        recorded="documented for all models; 200 for claude-sonnet-5 shows that later ones take it",
        mend="keep the tools, and send tool_choice none",
        find=_history,
    ),
    Rule(
        id="wire.anthropic-messages.name-short",
        statement="Tool names have at most 64 characters, as the documents say and the other providers demand.",
        message="{place}: String should have at most 64 characters",
        source="documentation of tool definitions ({1,64}); the server takes 128",
        mend="use at most 64 characters",
        level="should",
        find=_tool_names(lambda name: isinstance(name, str) and 64 < len(name) <= 128),
    ),
)
