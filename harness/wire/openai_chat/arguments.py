"""Chat rules of the arguments beside the messages: which are known, what a model takes."""

from collections.abc import Callable, Iterator

from harness.wire import openai_models as models
from harness.wire.openai_chat.view import View
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
_GUIDE = "the latest-model guide, quoted by github.com/yologdev/yoagent; public reports of this text"


def _unknown(view: View) -> Iterator[Hit]:
    return (Hit(top(key), {"key": key}) for key in view.payload if key not in KNOWN)


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


def _warm(view: View) -> Iterator[Hit]:
    value = view.payload.get("temperature")
    given = isinstance(value, int | float) and 0 <= value <= 2 and value != 1
    if given and models.refuses_temperature(view.model):
        yield Hit("/temperature", {"value": value})


def _sampled(view: View) -> Iterator[Hit]:
    if models.refuses_sampling(view.model, view.effort):
        for key in ("temperature", "top_p", "top_logprobs"):
            if view.payload.get(key) is not None:
                yield Hit(f"/{key}", {"key": key})


def _effort(view: View) -> Iterator[Hit]:
    taken = models.efforts(view.model)
    if view.effort is not None and taken and view.effort not in taken:
        yield Hit("/reasoning_effort", {"value": view.effort, "taken": models.listed(taken)})


def _unstreamed(view: View) -> Iterator[Hit]:
    if view.payload.get("stream_options") is not None and view.payload.get("stream") is not True:
        yield Hit("/stream_options")


def _many_stops(view: View) -> Iterator[Hit]:
    stops = view.payload.get("stop")
    if isinstance(stops, list) and len(stops) > 4:
        yield Hit("/stop", {"length": len(stops)})


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
        id="wire.openai-chat.temperature-of-the-model",
        statement="The o-series and the first GPT-5 models take no temperature but 1.",
        message="Unsupported value: 'temperature' does not support {value} with this model. Only the default (1) value "
        "is supported.",
        param="temperature",
        code="unsupported_value",
        source="public reports of this text",
        mend="leave `temperature` out",
        find=_warm,
    ),
    Rule(
        id="wire.openai-chat.no-sampling-while-reasoning",
        statement="Since GPT-6 temperature, top_p and top_logprobs are taken only with effort none.",
        message="Unsupported parameter: '{key}' is not supported with this model.",
        param="{key}",
        code="unsupported_parameter",
        source=_GUIDE,
        mend="leave it out, or send reasoning_effort none",
        find=_sampled,
    ),
    Rule(
        id="wire.openai-chat.effort-level",
        statement="The effort is a level of the model (o-series: low to high; gpt-6-astra, gpt-6.1-sol: no none).",
        message="Unsupported value: 'reasoning_effort' does not support '{value}' with this model. Supported values "
        "are: {taken}.",
        param="reasoning_effort",
        code="unsupported_value",
        source="public reports of this text; recorded 400 answer on Responses",
        mend="choose one of the values that the answer names",
        find=_effort,
    ),
    Rule(
        id="wire.openai-chat.stream-options-need-stream",
        statement="stream_options is sent only together with stream true.",
        message="The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        param="stream_options",
        source="public reports of this text",
        mend="leave stream_options out, or stream",
        find=_unstreamed,
    ),
    Rule(
        id="wire.openai-chat.at-most-4-stops",
        statement="There are at most 4 stop sequences.",
        message="Invalid 'stop': array too long. Expected an array with maximum length 4, but got an array with length "
        "{length} instead.",
        param="stop",
        code="array_above_max_length",
        source="API reference, stop; public reports of this text",
        mend="send at most 4",
        find=_many_stops,
    ),
)
