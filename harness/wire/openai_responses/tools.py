"""Responses rules of tools and of output formats: names, tool_choice, schemas."""

from collections.abc import Callable, Iterator
from typing import Any

from harness.wire.openai_responses.view import View
from harness.wire.openai_schema_rules import arrays_without_items, foreign_keywords, strict_faults
from harness.wire.reading import objects
from harness.wire.rules import Hit, Rule

_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_RECORDED = "recorded 400 answers of api.openai.com"
_REPORTS = "public reports of this text"
_NAMES = "published OpenAPI document (name: 1 to 128, ^[a-zA-Z0-9_-]+$); public reports of these texts"


def _nested_tools(view: View) -> Iterator[Hit]:
    for i, tool in view.functions:
        if "name" not in tool:
            yield Hit(f"/tools/{i}/name", {"i": i})


def _names(broken: Callable[[str], bool]) -> Callable[[View], Iterator[Hit]]:
    def find(view: View) -> Iterator[Hit]:
        for place, pointer, name in _named(view):
            if isinstance(name, str) and broken(name):
                yield Hit(pointer, {"place": place, "length": len(name)})

    return find


def _named(view: View) -> Iterator[tuple[str, str, Any]]:
    yield from ((f"tools[{i}].name", f"/tools/{i}/name", tool.get("name")) for i, tool in view.functions)
    for i, item in view.items:
        if item.get("type") == "function_call":
            yield f"input[{i}].name", f"/input/{i}/name", item.get("name")


def _not_strict(view: View) -> Iterator[Hit]:
    for i, tool in view.functions:
        fault = next(strict_faults(tool.get("parameters")), None) if tool.get("strict") is True else None
        if fault is not None:
            words = {"name": tool.get("name"), "context": fault[0], "fault": fault[1], "i": i}
            yield Hit(f"/tools/{i}/parameters", words)


def _words(i: int, tool: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": tool.get("name"), "i": i} | more


def _not_objects(view: View) -> Iterator[Hit]:
    for i, tool in view.functions:
        schema = tool.get("parameters")
        if isinstance(schema, dict) and schema.get("type", "object") != "object":
            yield Hit(f"/tools/{i}/parameters", _words(i, tool, kind=schema["type"]))


def _itemless(view: View) -> Iterator[Hit]:
    for i, tool in view.functions:
        context = next(arrays_without_items(tool.get("parameters")), None)
        if context is not None:
            yield Hit(f"/tools/{i}/parameters", _words(i, tool, context=context))


def _foreign(view: View) -> Iterator[Hit]:
    for i, tool in view.functions:
        fault = next(foreign_keywords(tool.get("parameters")), None) if tool.get("strict") is True else None
        if fault is not None:
            yield Hit(f"/tools/{i}/parameters", _words(i, tool, context=fault[0], key=fault[1]))


def _unsaid(view: View) -> Iterator[Hit]:
    return (
        Hit(f"/tools/{i}/strict", {"i": i}) for i, tool in view.functions if not isinstance(tool.get("strict"), bool)
    )


def _nested_choice(view: View) -> Iterator[Hit]:
    choice = view.payload.get("tool_choice")
    if isinstance(choice, dict) and choice.get("type") == "function" and "name" not in choice:
        yield Hit("/tool_choice/name")


def _unknown_choice(view: View) -> Iterator[Hit]:
    choice, names = (
        view.payload.get("tool_choice"),
        [tool.get("name") for _, tool in objects(view.payload.get("tools"))],
    )
    named = isinstance(choice, dict) and choice.get("type") == "function" and "name" in choice
    if isinstance(choice, dict) and named and names and choice["name"] not in names:
        yield Hit("/tool_choice/name")


def _forced_nothing(view: View) -> Iterator[Hit]:
    if view.payload.get("tool_choice") == "required" and not view.payload.get("tools") and not view.stateful:
        yield Hit("/tool_choice")


def _format(view: View) -> Iterator[Hit]:
    text = view.payload.get("text")
    form = text.get("format") if isinstance(text, dict) else None
    if isinstance(form, dict) and form.get("type") == "json_schema" and form.get("strict") is True:
        fault = next(strict_faults(form.get("schema")), None)
        if fault is not None:
            yield Hit("/text/format/schema", {"name": form.get("name"), "context": fault[0], "fault": fault[1]})


TOOL_RULES: tuple[Rule[View], ...] = (
    Rule(
        id="wire.openai-responses.tool-has-name",
        statement="A function tool is flat: its name stands beside its type, not in a `function` object.",
        message="Missing required parameter: 'tools[{i}].name'.",
        param="tools[{i}].name",
        code="missing_required_parameter",
        source="public reports of this text",
        mend="flatten the tool: {type, name, description, parameters, strict}",
        find=_nested_tools,
    ),
    Rule(
        id="wire.openai-responses.tool-choice-needs-tools",
        statement="tool_choice required is sent only together with tools.",
        message="Tool choice 'required' must be specified with 'tools' parameter.",
        param="tool_choice",
        source=_REPORTS,
        mend="leave tool_choice out when there are no tools",
        find=_forced_nothing,
    ),
    Rule(
        id="wire.openai-responses.tool-choice-flat",
        statement="A tool_choice that names a function holds the name beside its type, not in a `function` object as "
        "on Chat.",
        message="Missing required parameter: 'tool_choice.name'.",
        param="tool_choice.name",
        code="missing_required_parameter",
        source=_REPORTS,
        mend='send {"type": "function", "name": ...}',
        find=_nested_choice,
    ),
    Rule(
        id="wire.openai-responses.tool-choice-known",
        statement="A function that tool_choice forces is one of the tools.",
        message="Tool choice 'function' not found in 'tools' parameter.",
        param="tool_choice",
        source=_REPORTS,
        mend="name one of the tools of the request",
        find=_unknown_choice,
    ),
    Rule(
        id="wire.openai-responses.name-not-empty",
        statement="Function names, of tools and of calls in the input, are not empty.",
        message="Invalid '{place}': empty string. Expected a string with minimum length 1, but got an empty string "
        "instead.",
        param="{place}",
        code="empty_string",
        source=_NAMES,
        mend="name the function",
        find=_names(lambda name: not name),
    ),
    Rule(
        id="wire.openai-responses.name-pattern",
        statement="Function names, of tools and of calls in the input, are letters, digits, _ and -.",
        message="Invalid '{place}': string does not match pattern. Expected a string that matches the pattern "
        "'^[a-zA-Z0-9_-]+$'.",
        param="{place}",
        code="invalid_value",
        source=_NAMES,
        mend="use letters, digits, _ and - only",
        find=_names(lambda name: not _NAME.issuperset(name)),
    ),
    Rule(
        id="wire.openai-responses.name-length",
        statement="Function names, of tools and of calls in the input, have at most 128 characters.",
        message="Invalid '{place}': string too long. Expected a string with maximum length 128, but got a string with "
        "length {length} instead.",
        param="{place}",
        code="string_above_max_length",
        source=_NAMES,
        mend="use at most 128 characters",
        find=_names(lambda name: len(name) > 128),
    ),
    Rule(
        id="wire.openai-responses.parameters-object",
        statement="The parameters of a function are a schema of type object.",
        message="Invalid schema for function '{name}': schema must be a JSON Schema of 'type: \"object\"', got 'type: "
        '"{kind}"\'.',
        param="tools[{i}].parameters",
        code="invalid_function_parameters",
        source=_REPORTS,
        mend="give the parameters as an object schema",
        find=_not_objects,
    ),
    Rule(
        id="wire.openai-responses.arrays-have-items",
        statement="Every array of a function's parameters describes its items.",
        message="Invalid schema for function '{name}': In context={context}, array schema missing items.",
        param="tools[{i}].parameters",
        code="invalid_function_parameters",
        source=_REPORTS,
        mend="add `items`",
        find=_itemless,
    ),
    Rule(
        id="wire.openai-responses.strict-schema",
        statement="A strict function closes every object and requires every property.",
        message="Invalid schema for function '{name}': In context={context}, {fault}",
        param="tools[{i}].parameters",
        code="invalid_function_parameters",
        source="github.com/kevinwatt/mysql-mcp/issues/5; recorded 400 answers of api.openai.com (same texts)",
        mend="set additionalProperties to false and list every property in required, or send strict false",
        find=_not_strict,
    ),
    Rule(
        id="wire.openai-responses.strict-keywords",
        statement="A strict function uses no keyword that strict mode does not know (oneOf, allOf, not ...).",
        message="Invalid schema for function '{name}': In context={context}, '{key}' is not permitted.",
        param="tools[{i}].parameters",
        code="invalid_function_parameters",
        source="structured-outputs guide; " + _REPORTS,
        mend="use anyOf, or send strict false",
        find=_foreign,
    ),
    Rule(
        id="wire.openai-responses.strict-format",
        statement="A strict output format closes every object and requires every property.",
        message="Invalid schema for response_format '{name}': In context={context}, {fault}",
        param="text.format.schema",
        code="invalid_json_schema",
        source=_RECORDED,
        mend="set additionalProperties to false and list every property in required",
        find=_format,
    ),
    Rule(
        id="wire.openai-responses.strict-said",
        statement="A function tool says whether it is strict: left out, the provider tries strict and falls back.",
        message="tools[{i}].strict is left out.",
        source="published OpenAPI document, strict",
        mend="send strict true or false",
        level="should",
        find=_unsaid,
    ),
)
