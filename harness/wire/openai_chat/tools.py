"""Chat rules of tools and of output formats: when tools must be there, tool_choice, names, schemas."""

from collections.abc import Callable, Iterator
from typing import Any

from harness.wire import openai_models as models
from harness.wire.openai_chat.view import NAME, View
from harness.wire.openai_schema_rules import arrays_without_items, foreign_keywords, strict_faults
from harness.wire.rules import Hit, Rule

_RECORDED = "recorded 400 answers of api.openai.com"
_REPORTS = "public reports of this text"
_NAMES = "API reference, function name; public reports of these texts"
_MOST_TOOLS = 128


def _needs_tools(key: str) -> Callable[[View], Iterator[Hit]]:
    def find(view: View) -> Iterator[Hit]:
        if view.payload.get(key) is not None and view.payload.get("tools") is None and not view.has_tools:
            yield Hit(f"/{key}")

    return find


def _empty_tools(view: View) -> Iterator[Hit]:
    if view.payload.get("tools") == []:
        yield Hit("/tools")


def _many_tools(view: View) -> Iterator[Hit]:
    tools = view.payload.get("tools")
    if isinstance(tools, list) and len(tools) > _MOST_TOOLS:
        yield Hit("/tools", {"length": len(tools)})


def _untooled(view: View) -> Iterator[Hit]:
    if view.functions and models.refuses_tools(view.model):
        yield Hit("/tools")


def _reasoned_tools(view: View) -> Iterator[Hit]:
    if view.functions and models.refuses_tools_on_chat(view.model, view.effort):
        yield Hit("/reasoning_effort", {"model": view.model})


def _flat_choice(view: View) -> Iterator[Hit]:
    choice = view.payload.get("tool_choice")
    if isinstance(choice, dict) and choice.get("type") == "function" and "function" not in choice:
        yield Hit("/tool_choice/function")


def _unknown_choice(view: View) -> Iterator[Hit]:
    choice, names = view.payload.get("tool_choice"), [function.get("name") for _, function in view.functions]
    function = choice.get("function") if isinstance(choice, dict) else None
    if isinstance(function, dict) and names and function.get("name") not in names:
        yield Hit("/tool_choice/function/name")


def _names(broken: Callable[[str], bool]) -> Callable[[View], Iterator[Hit]]:
    def find(view: View) -> Iterator[Hit]:
        for place, function in _named(view):
            name = function.get("name")
            if isinstance(name, str) and broken(name):
                yield Hit("/" + place.replace("[", "/").replace("]", "").replace(".", "/"), _words(place, name))

    return find


def _named(view: View) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from ((f"tools[{i}].function.name", function) for i, function in view.functions)
    for i, j, call in view.calls():
        if isinstance(call.get("function"), dict):
            yield f"messages[{i}].tool_calls[{j}].function.name", call["function"]


def _words(place: str, name: str) -> dict[str, Any]:
    return {"place": place, "length": len(name)}


def _not_strict(view: View) -> Iterator[Hit]:
    for i, function in view.functions:
        fault = next(strict_faults(function.get("parameters")), None) if function.get("strict") is True else None
        if fault is not None:
            words = {"name": function.get("name"), "context": fault[0], "fault": fault[1], "i": i}
            yield Hit(f"/tools/{i}/function/parameters", words)


def _not_objects(view: View) -> Iterator[Hit]:
    for i, function in view.functions:
        schema = function.get("parameters")
        if isinstance(schema, dict) and schema.get("type", "object") != "object":
            words = {"name": function.get("name"), "kind": schema["type"], "i": i}
            yield Hit(f"/tools/{i}/function/parameters", words)


def _foreign(view: View) -> Iterator[Hit]:
    for i, function in view.functions:
        fault = next(foreign_keywords(function.get("parameters")), None) if function.get("strict") is True else None
        if fault is not None:
            words = {"name": function.get("name"), "context": fault[0], "key": fault[1], "i": i}
            yield Hit(f"/tools/{i}/function/parameters", words)


def _itemless(view: View) -> Iterator[Hit]:
    for i, function in view.functions:
        context = next(arrays_without_items(function.get("parameters")), None)
        if context is not None:
            yield Hit(f"/tools/{i}/function/parameters", {"name": function.get("name"), "context": context, "i": i})


def _format(view: View) -> Iterator[Hit]:
    form = view.payload.get("response_format")
    inner = form.get("json_schema") if isinstance(form, dict) else None
    if isinstance(inner, dict) and inner.get("strict") is True:
        fault = next(strict_faults(inner.get("schema")), None)
        if fault is not None:
            words = {"name": inner.get("name"), "context": fault[0], "fault": fault[1]}
            yield Hit("/response_format/json_schema/schema", words)


TOOL_RULES: tuple[Rule[View], ...] = (
    Rule(
        id="wire.openai-chat.tools-not-empty",
        statement="`tools` holds at least one tool where it is sent.",
        message="Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array "
        "instead.",
        param="tools",
        code="empty_array",
        source="public reports of this text",
        mend="leave `tools` out when there are none",
        find=_empty_tools,
    ),
    Rule(
        id="wire.openai-chat.at-most-128-tools",
        statement="There are at most 128 tools.",
        message="Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with "
        "length {length} instead.",
        param="tools",
        code="array_above_max_length",
        source="github.com/cgoinglove/better-chatbot/issues/197",
        mend="offer fewer tools",
        find=_many_tools,
    ),
    Rule(
        id="wire.openai-chat.tools-of-the-model",
        statement="gpt-5-chat takes no tools.",
        message="tools is not supported in this model. For a list of supported models, refer to "
        "https://platform.openai.com/docs/guides/function-calling#models-supporting-function-calling.",
        status=404,
        source="recorded 404 answer of api.openai.com",
        recorded="404 for gpt-5-chat-latest, 2025-10-05",
        mend="use another model, or the text protocol",
        find=_untooled,
    ),
    Rule(
        id="wire.openai-chat.no-tools-while-reasoning",
        statement="Since GPT-5.4 function tools and reasoning do not go together on Chat; 5.6 and 6 reason unless the "
        "effort is none.",
        message="Function tools with reasoning_effort are not supported for {model} in /v1/chat/completions. To use "
        "function tools, use /v1/responses or set reasoning_effort to 'none'.",
        param="reasoning_effort",
        source="github.com/danny-avila/LibreChat/issues/14231, github.com/openai/openai-openapi/issues/541",
        recorded="reported also for requests without an effort; 200 for gpt-5.4 without one, 2026-05-06",
        mend="send reasoning_effort none, or use Responses",
        find=_reasoned_tools,
    ),
    Rule(
        id="wire.openai-chat.tool-choice-needs-tools",
        statement="tool_choice is sent only together with tools.",
        message="Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
        param="tool_choice",
        source="github.com/dapr/dapr-agents/issues/248",
        mend="leave tool_choice out when there are no tools",
        find=_needs_tools("tool_choice"),
    ),
    Rule(
        id="wire.openai-chat.parallel-needs-tools",
        statement="parallel_tool_calls is sent only together with tools.",
        message="Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are "
        "specified.",
        param="parallel_tool_calls",
        source="public reports of this text",
        mend="leave parallel_tool_calls out when there are no tools",
        find=_needs_tools("parallel_tool_calls"),
    ),
    Rule(
        id="wire.openai-chat.tool-choice-nested",
        statement="A tool_choice that names a function holds it in a `function` object, not beside its type as on "
        "Responses.",
        message="Missing required parameter: 'tool_choice.function'.",
        param="tool_choice.function",
        code="missing_required_parameter",
        source=_REPORTS,
        mend='send {"type": "function", "function": {"name": ...}}',
        find=_flat_choice,
    ),
    Rule(
        id="wire.openai-chat.tool-choice-known",
        statement="A function that tool_choice forces is one of the tools.",
        message="Tool choice 'function' not found in 'tools' parameter.",
        param="tool_choice",
        source="public reports of this text (on Responses)",
        mend="name one of the tools of the request",
        find=_unknown_choice,
    ),
    Rule(
        id="wire.openai-chat.name-not-empty",
        statement="Function names, of tools and of calls in the history, are not empty.",
        message="Invalid '{place}': empty string. Expected a string with minimum length 1, but got an empty string "
        "instead.",
        param="{place}",
        code="empty_string",
        source=_NAMES,
        mend="name the function",
        find=_names(lambda name: not name),
    ),
    Rule(
        id="wire.openai-chat.name-pattern",
        statement="Function names, of tools and of calls in the history, are letters, digits, _ and -.",
        message="Invalid '{place}': string does not match pattern. Expected a string that matches the pattern "
        "'^[a-zA-Z0-9_-]+$'.",
        param="{place}",
        code="invalid_value",
        source=_NAMES,
        mend="use letters, digits, _ and - only",
        find=_names(lambda name: bool(name) and not NAME.fullmatch(name)),
    ),
    Rule(
        id="wire.openai-chat.name-length",
        statement="Function names, of tools and of calls in the history, have at most 64 characters.",
        message="Invalid '{place}': string too long. Expected a string with maximum length 64, but got a string with "
        "length {length} instead.",
        param="{place}",
        code="string_above_max_length",
        source=_NAMES,
        mend="use at most 64 characters",
        find=_names(lambda name: len(name) > 64),
    ),
    Rule(
        id="wire.openai-chat.parameters-object",
        statement="The parameters of a function are a schema of type object.",
        message="Invalid schema for function '{name}': schema must be a JSON Schema of 'type: \"object\"', got 'type: "
        '"{kind}"\'.',
        param="tools[{i}].function.parameters",
        code="invalid_function_parameters",
        source="public reports of this text",
        mend="give the parameters as an object schema",
        find=_not_objects,
    ),
    Rule(
        id="wire.openai-chat.arrays-have-items",
        statement="Every array of a function's parameters describes its items.",
        message="Invalid schema for function '{name}': In context={context}, array schema missing items.",
        param="tools[{i}].function.parameters",
        code="invalid_function_parameters",
        source=_REPORTS,
        mend="add `items`",
        find=_itemless,
    ),
    Rule(
        id="wire.openai-chat.strict-schema",
        statement="A strict function closes every object and requires every property.",
        message="Invalid schema for function '{name}': In context={context}, {fault}",
        param="tools[{i}].function.parameters",
        code="invalid_function_parameters",
        source=_RECORDED,
        mend="set additionalProperties to false and list every property in required, or leave strict out",
        find=_not_strict,
    ),
    Rule(
        id="wire.openai-chat.strict-keywords",
        statement="A strict function uses no keyword that strict mode does not know (oneOf, allOf, not ...).",
        message="Invalid schema for function '{name}': In context={context}, '{key}' is not permitted.",
        param="tools[{i}].function.parameters",
        code="invalid_function_parameters",
        source="structured-outputs guide; " + _REPORTS,
        mend="use anyOf, or leave strict out",
        find=_foreign,
    ),
    Rule(
        id="wire.openai-chat.strict-format",
        statement="A strict output format closes every object and requires every property.",
        message="Invalid schema for response_format '{name}': In context={context}, {fault}",
        param="response_format",
        source=_RECORDED,
        mend="set additionalProperties to false and list every property in required",
        find=_format,
    ),
)
