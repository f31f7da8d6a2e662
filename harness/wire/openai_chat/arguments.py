"""Chat rules of the arguments beside the messages: which are known, what tools and limits may be."""

from collections.abc import Callable, Iterator
from typing import Any

from harness.wire import openai_models as models
from harness.wire.openai_chat.view import NAME, View
from harness.wire.openai_schema_rules import strict_faults
from harness.wire.reading import top
from harness.wire.rules import Hit, Rule

_KEYS = (
    "audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens messages "
    "metadata modalities model moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key "
    "prompt_cache_options prompt_cache_retention reasoning_effort response_format safety_identifier seed "
    "service_tier stop store stream stream_options temperature tool_choice tools top_logprobs top_p user verbosity "
    "web_search_options"
)
KNOWN = frozenset(_KEYS.split())
"""Arguments of the API: the keys of the SDK's parameter type (openai 3.57)."""
_RECORDED = "recorded 400 answers of api.openai.com"
_NAMES = "API reference, function name; public reports of these texts"


def _unknown(view: View) -> Iterator[Hit]:
    return (Hit(top(key), {"key": key}) for key in view.payload if key not in KNOWN)


def _needs_tools(key: str) -> Callable[[View], Iterator[Hit]]:
    def find(view: View) -> Iterator[Hit]:
        if view.payload.get(key) is not None and view.payload.get("tools") is None and not view.has_tools:
            yield Hit(f"/{key}")

    return find


def _empty_tools(view: View) -> Iterator[Hit]:
    if view.payload.get("tools") == []:
        yield Hit("/tools")


def _refused(key: str, refuses: Callable[[str], bool]) -> Callable[[View], Iterator[Hit]]:
    def find(view: View) -> Iterator[Hit]:
        if view.payload.get(key) is not None and refuses(view.model):
            yield Hit(f"/{key}", {"key": key})

    return find


def _hot(view: View) -> Iterator[Hit]:
    value = view.payload.get("temperature")
    if isinstance(value, int | float) and value > 2:
        yield Hit("/temperature", {"value": float(value)})


def _cold(view: View) -> Iterator[Hit]:
    value = view.payload.get("temperature")
    if isinstance(value, int | float) and value < 0:
        yield Hit("/temperature", {"value": value})


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


def _format(view: View) -> Iterator[Hit]:
    form = view.payload.get("response_format")
    inner = form.get("json_schema") if isinstance(form, dict) else None
    if isinstance(inner, dict) and inner.get("strict") is True:
        fault = next(strict_faults(inner.get("schema")), None)
        if fault is not None:
            words = {"name": inner.get("name"), "context": fault[0], "fault": fault[1]}
            yield Hit("/response_format/json_schema/schema", words)


ARGUMENT_RULES: tuple[Rule[View], ...] = (
    Rule(
        id="wire.openai-chat.known-arguments",
        statement="Every top-level key is an argument of the API.",
        message="Unrecognized request argument supplied: {key}",
        source="public reports of this text; keys of the SDK's parameter type",
        mend="leave the key out",
        find=_unknown,
    ),
    Rule(
        id="wire.openai-chat.max-tokens-name",
        statement="Reasoning models take max_completion_tokens, not max_tokens.",
        message="Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' "
        "instead.",
        param="max_tokens",
        code="unsupported_parameter",
        source=_RECORDED,
        mend="send max_completion_tokens",
        find=_refused("max_tokens", models.refuses_max_tokens),
    ),
    Rule(
        id="wire.openai-chat.no-stop",
        statement="The o-series and the first GPT-5 models take no stop sequences.",
        message="Unsupported parameter: 'stop' is not supported with this model.",
        param="stop",
        code="unsupported_parameter",
        source=_RECORDED,
        mend="leave `stop` out",
        find=_refused("stop", models.refuses_stop),
    ),
    Rule(
        id="wire.openai-chat.no-top-p",
        statement="The first GPT-5 models take no top_p.",
        message="Unsupported parameter: 'top_p' is not supported with this model.",
        param="top_p",
        code="unsupported_parameter",
        source=_RECORDED,
        mend="leave `top_p` out",
        find=_refused("top_p", models.refuses_top_p),
    ),
    Rule(
        id="wire.openai-chat.temperature-at-most-2",
        statement="temperature is at most 2.",
        message="Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got {value} instead.",
        param="temperature",
        code="decimal_above_max_value",
        source=_RECORDED,
        mend="send a temperature from 0 to 2",
        find=_hot,
    ),
    Rule(
        id="wire.openai-chat.temperature-at-least-0",
        statement="temperature is at least 0.",
        message="Invalid 'temperature': decimal below minimum value. Expected a value >= 0, but got {value} instead.",
        param="temperature",
        code="decimal_below_min_value",
        source=_RECORDED,
        mend="send a temperature from 0 to 2",
        find=_cold,
    ),
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
        id="wire.openai-chat.strict-format",
        statement="A strict output format closes every object and requires every property.",
        message="Invalid schema for response_format '{name}': In context={context}, {fault}",
        param="response_format",
        source=_RECORDED,
        mend="set additionalProperties to false and list every property in required",
        find=_format,
    ),
)
