"""Messages rules of the arguments beside messages and tools: known keys, limits, output format, size."""

from collections.abc import Callable, Iterator

from harness.wire.anthropic_messages import models
from harness.wire.anthropic_messages.view import View
from harness.wire.reading import top
from harness.wire.rules import Hit, Rule

_KEYS = (
    "betas billing_policy cache_control compaction container context_management diagnostics fallback_credit_token "
    "fallbacks inference_geo max_tokens mcp_servers messages metadata model output_config service_tier speed "
    "stop_sequences stream system thinking thread tool_choice tools user_profile_id workspace_id"
)
KNOWN = frozenset(_KEYS.split())
"""Arguments of the API: the keys of the SDK's parameter types, general and beta (anthropic 2.14)."""
SAMPLING = frozenset({"temperature", "top_p", "top_k"})
FORMER = frozenset({"output_format"})
"""Recorded as taken, gone from the types since."""
WITHOUT_SAMPLING = "2026-10-21"
LARGEST_BODY = 32 * 1024 * 1024
"""Bytes."""


def _unknown(view: View) -> Iterator[Hit]:
    known = KNOWN | SAMPLING | FORMER
    return (Hit(top(key), {"key": key}) for key in view.payload if key not in known)


def _sampling(view: View) -> Iterator[Hit]:
    if view.since(WITHOUT_SAMPLING):
        yield from (Hit(f"/{key}", {"key": key}) for key in view.payload if key in SAMPLING)


def _temperature(view: View) -> Iterator[Hit]:
    value = view.payload.get("temperature")
    if isinstance(value, int | float) and not 0 <= value <= 1 and not view.since(WITHOUT_SAMPLING):
        yield Hit("/temperature")


def _required(key: str) -> Callable[[View], Iterator[Hit]]:
    def find(view: View) -> Iterator[Hit]:
        if key not in view.payload:
            yield Hit(f"/{key}")

    return find


def _negative(view: View) -> Iterator[Hit]:
    value = view.payload.get("max_tokens")
    if isinstance(value, int) and value < 0:
        yield Hit("/max_tokens")


def _over_model(view: View) -> Iterator[Hit]:
    value, limit = view.payload.get("max_tokens"), models.most_output(view.model)
    if isinstance(value, int) and limit is not None and value > limit:
        yield Hit("/max_tokens", {"value": value, "limit": limit, "model": view.model})


def _not_warming(view: View) -> Iterator[Hit]:
    if view.payload.get("max_tokens") != 0:
        return
    config, choice = view.payload.get("output_config"), view.payload.get("tool_choice")
    against = {
        "stream": view.payload.get("stream") is True,
        "thinking": view.thinking.get("type") == "enabled",
        "output_config": isinstance(config, dict) and config.get("format") is not None,
        "tool_choice": isinstance(choice, dict) and choice.get("type") in ("any", "tool"),
    }
    yield from (Hit(f"/{key}", {"key": key}) for key, set_ in against.items() if set_)


def _blank_stops(view: View) -> Iterator[Hit]:
    stops = view.payload.get("stop_sequences")
    for i, stop in enumerate(stops if isinstance(stops, list) else ()):
        if isinstance(stop, str) and not stop.strip():
            yield Hit(f"/stop_sequences/{i}")


def _no_schema(view: View) -> Iterator[Hit]:
    for pointer, place, form in view.formats():
        if "schema" not in form:
            yield Hit(f"{pointer}/schema", {"place": place})


def _too_large(view: View) -> Iterator[Hit]:
    if view.circumstances.size is not None and view.circumstances.size > LARGEST_BODY:
        yield Hit("")


ARGUMENT_RULES: tuple[Rule[View], ...] = (
    Rule(
        id="wire.anthropic-messages.known-arguments",
        statement="Every top-level key is an argument of the API.",
        message="{key}: Extra inputs are not permitted",
        source="public reports of this text; keys of the SDK's parameter types",
        mend="leave the key out",
        find=_unknown,
    ),
    Rule(
        id="wire.anthropic-messages.no-sampling",
        statement="Since version 2026-10-21 temperature, top_p and top_k are not sent, whatever their value.",
        message="{key}: Extra inputs are not permitted",
        source="platform.claude.com/docs/en/api/migration-2026-10-21",
        mend="leave temperature, top_p and top_k out",
        find=_sampling,
    ),
    Rule(
        id="wire.anthropic-messages.temperature-range",
        statement="Before version 2026-10-21, temperature is from 0 to 1.",
        message="temperature: range: 0..1",
        source="recorded 400 answer of api.anthropic.com",
        mend="leave temperature out",
        find=_temperature,
    ),
    Rule(
        id="wire.anthropic-messages.max-tokens-required",
        statement="max_tokens is sent.",
        message="max_tokens: Field required",
        source="API reference of POST /v1/messages",
        mend="send max_tokens",
        find=_required("max_tokens"),
    ),
    Rule(
        id="wire.anthropic-messages.max-tokens-not-negative",
        statement="max_tokens is 0 (cache warming) or more.",
        message="max_tokens: Input should be greater than or equal to 0",
        source="API reference of POST /v1/messages",
        mend="send a limit of 1 or more",
        find=_negative,
    ),
    Rule(
        id="wire.anthropic-messages.max-tokens-of-the-model",
        statement="max_tokens is at most what the model can write.",
        message="max_tokens: {value} > {limit}, which is the maximum allowed number of output tokens for {model}",
        source="public reports of this text (claude-3-haiku 4096, claude-haiku-4-5 64000, claude-opus-5 128000); model "
        "overview",
        mend="lower max_tokens",
        find=_over_model,
    ),
    Rule(
        id="wire.anthropic-messages.cache-warming",
        statement="With max_tokens 0 (cache warming) there is no stream, manual thinking, output format or forced "
        "tool.",
        message="max_tokens: 0 is not supported together with `{key}`",
        source="API reference of POST /v1/messages (rule; wording ours)",
        mend="leave the other setting out, or ask for at least one token",
        find=_not_warming,
    ),
    Rule(
        id="wire.anthropic-messages.stop-not-blank",
        statement="Stop sequences are more than white space.",
        message="stop_sequences: each stop sequence must contain non-whitespace",
        source="public reports of this text",
        mend="leave blank stop sequences out",
        find=_blank_stops,
    ),
    Rule(
        id="wire.anthropic-messages.format-has-schema",
        statement="An output format holds its schema itself, not in a `json_schema` object as on Chat.",
        message="{place}.schema: Field required",
        source="recorded 400 answer of api.anthropic.com",
        recorded="400 for claude-sonnet-4, 2026-01-28",
        mend="send {type: json_schema, schema: ...}",
        find=_no_schema,
    ),
    Rule(
        id="wire.anthropic-messages.body-size",
        statement="A request body has at most 32 MB.",
        message="Request exceeds the maximum allowed number of bytes. The maximum request size is 32 MB.",
        status=413,
        type="request_too_large",
        source="documentation of errors (request_too_large)",
        mend="send less: fewer images, shorter results",
        find=_too_large,
    ),
)
