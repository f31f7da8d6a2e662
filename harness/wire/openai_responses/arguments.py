"""Responses rules of the arguments beside the input: which are known, what tools and limits may be."""

from collections.abc import Callable, Iterator
from typing import Any

from harness.wire.openai_responses.view import View
from harness.wire.openai_schema_rules import strict_faults
from harness.wire.reading import top
from harness.wire.rules import Hit, Rule

_KEYS = (
    "access_programs background background_options context_management conversation image include input instructions "
    "max_output_tokens max_tool_calls metadata model moderation parallel_tool_calls previous_response_id prompt "
    "prompt_cache_key prompt_cache_options prompt_cache_retention reasoning safety_identifier service_tier store "
    "stream stream_options temperature text tool_choice tools top_logprobs top_p truncation user"
)
KNOWN = frozenset(_KEYS.split())
"""Arguments of the API: the keys of the SDK's parameter type (openai 3.57)."""
_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_RECORDED = "recorded 400 answers of api.openai.com"
_NAMES = "published OpenAPI document (name: 1 to 128, ^[a-zA-Z0-9_-]+$); public reports of these texts"


def _unknown(view: View) -> Iterator[Hit]:
    return (Hit(top(key), {"key": key}) for key in view.payload if key not in KNOWN)


def _few_tokens(view: View) -> Iterator[Hit]:
    value = view.payload.get("max_output_tokens")
    if isinstance(value, int) and value < 16:
        yield Hit("/max_output_tokens", {"value": value})


def _temperature(broken: Callable[[float], bool]) -> Callable[[View], Iterator[Hit]]:
    def find(view: View) -> Iterator[Hit]:
        value = view.payload.get("temperature")
        if isinstance(value, int | float) and broken(value):
            yield Hit("/temperature", {"value": value})

    return find


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


def _format(view: View) -> Iterator[Hit]:
    text = view.payload.get("text")
    form = text.get("format") if isinstance(text, dict) else None
    if isinstance(form, dict) and form.get("type") == "json_schema" and form.get("strict") is True:
        fault = next(strict_faults(form.get("schema")), None)
        if fault is not None:
            yield Hit("/text/format/schema", {"name": form.get("name"), "context": fault[0], "fault": fault[1]})


ARGUMENT_RULES: tuple[Rule[View], ...] = (
    Rule(
        id="wire.openai-responses.known-arguments",
        statement="Every top-level key is an argument of the API.",
        message="Unknown parameter: '{key}'.",
        param="{key}",
        code="unknown_parameter",
        source="public reports of this text; keys of the SDK's parameter type",
        mend="leave the key out",
        find=_unknown,
    ),
    Rule(
        id="wire.openai-responses.max-output-tokens",
        statement="max_output_tokens is at least 16.",
        message="Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got {value} "
        "instead.",
        param="max_output_tokens",
        code="integer_below_min_value",
        source=_RECORDED,
        mend="ask for at least 16 tokens",
        find=_few_tokens,
    ),
    Rule(
        id="wire.openai-responses.temperature-at-least-0",
        statement="temperature is at least 0.",
        message="Invalid 'temperature': decimal below minimum value. Expected a value >= 0, but got {value} instead.",
        param="temperature",
        code="decimal_below_min_value",
        source=_RECORDED,
        mend="send a temperature from 0 to 2",
        find=_temperature(lambda value: value < 0),
    ),
    Rule(
        id="wire.openai-responses.temperature-at-most-2",
        statement="temperature is at most 2.",
        message="Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got {value} instead.",
        param="temperature",
        code="decimal_above_max_value",
        source=_RECORDED,
        mend="send a temperature from 0 to 2",
        find=_temperature(lambda value: value > 2),
    ),
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
        id="wire.openai-responses.strict-format",
        statement="A strict output format closes every object and requires every property.",
        message="Invalid schema for response_format '{name}': In context={context}, {fault}",
        param="text.format.schema",
        code="invalid_json_schema",
        source=_RECORDED,
        mend="set additionalProperties to false and list every property in required",
        find=_format,
    ),
)
