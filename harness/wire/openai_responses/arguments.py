"""Responses rules of the arguments beside the input: which are known, what a model takes."""

from collections.abc import Callable, Iterator

from harness.wire import openai_models as models
from harness.wire.openai_responses.view import View
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
_RECORDED = "recorded 400 answers of api.openai.com"
_GUIDE = "the latest-model guide, quoted by github.com/yologdev/yoagent; public reports of this text"


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


def _tempered(view: View) -> Iterator[Hit]:
    value = view.payload.get("temperature")
    if isinstance(value, int | float) and 0 <= value <= 2 and models.refuses_temperature(view.model):
        yield Hit("/temperature")


def _sampled(view: View) -> Iterator[Hit]:
    if models.refuses_sampling(view.model, view.effort):
        for key in ("temperature", "top_p", "top_logprobs"):
            if view.payload.get(key) is not None:
                yield Hit(f"/{key}", {"key": key})


def _effort(view: View) -> Iterator[Hit]:
    taken = models.efforts(view.model)
    if view.effort is not None and taken and view.effort not in taken:
        yield Hit("/reasoning/effort", {"value": view.effort, "model": view.model, "taken": models.listed(taken)})


def _nothing(view: View) -> Iterator[Hit]:
    kept = ("previous_response_id", "conversation", "prompt")
    if view.payload.get("input") in (None, "", []) and all(view.payload.get(key) is None for key in kept):
        yield Hit("/input")


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
        id="wire.openai-responses.input-given",
        statement="There is input, or a conversation or prompt that the provider keeps.",
        message="One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation_id' must be provided.",
        param="input",
        code="missing_required_parameter",
        source="public reports of this text",
        mend="send at least one input item",
        find=_nothing,
    ),
    Rule(
        id="wire.openai-responses.no-temperature",
        statement="The o-series and the first GPT-5 models take no temperature.",
        message="Unsupported parameter: 'temperature' is not supported with this model.",
        param="temperature",
        source=_RECORDED,
        mend="leave `temperature` out",
        find=_tempered,
    ),
    Rule(
        id="wire.openai-responses.no-sampling-while-reasoning",
        statement="Since GPT-6 temperature, top_p and top_logprobs are taken only with effort none.",
        message="Unsupported parameter: '{key}' is not supported with this model.",
        param="{key}",
        source=_GUIDE,
        mend="leave it out, or send reasoning.effort none",
        find=_sampled,
    ),
    Rule(
        id="wire.openai-responses.effort-level",
        statement="The effort is a level of the model (o-series: low to high; gpt-6-astra, gpt-6.1-sol: no none).",
        message="Unsupported value: '{value}' is not supported with the '{model}' model. Supported values are: "
        "{taken}.",
        param="reasoning.effort",
        code="unsupported_value",
        source=_RECORDED,
        recorded="400 for o4-mini with minimal, 2026-01-30",
        mend="choose one of the values that the answer names",
        find=_effort,
    ),
)
