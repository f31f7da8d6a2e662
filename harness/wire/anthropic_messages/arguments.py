"""Messages rules of the arguments beside messages and tools: known keys, limits, thinking."""

from collections.abc import Callable, Iterator

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


def _small_budget(view: View) -> Iterator[Hit]:
    budget = view.thinking.get("budget_tokens")
    if view.thinking.get("type") == "enabled" and isinstance(budget, int) and budget < 1024:
        yield Hit("/thinking/budget_tokens")


def _large_budget(view: View) -> Iterator[Hit]:
    budget, limit = view.thinking.get("budget_tokens"), view.payload.get("max_tokens")
    manual = view.thinking.get("type") == "enabled" and not view.payload.get("tools")
    if manual and isinstance(budget, int) and isinstance(limit, int) and budget >= limit:
        yield Hit("/max_tokens")


def _forced(view: View) -> Iterator[Hit]:
    choice = view.payload.get("tool_choice")
    forces = isinstance(choice, dict) and choice.get("type") in ("any", "tool")
    if forces and view.thinking.get("type") == "enabled":
        yield Hit("/tool_choice")


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
        id="wire.anthropic-messages.thinking-budget-minimum",
        statement="A manual thinking budget is at least 1024 tokens.",
        message="thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
        source="documentation of extended thinking",
        mend="give a budget of 1024 or more, or adaptive thinking",
        find=_small_budget,
    ),
    Rule(
        id="wire.anthropic-messages.thinking-budget-below-limit",
        statement="Without tools (interleaved thinking), the thinking budget is below max_tokens.",
        message="`max_tokens` must be greater than `thinking.budget_tokens`",
        source="documentation of extended thinking; public reports of this text",
        mend="raise max_tokens above the budget",
        find=_large_budget,
    ),
    Rule(
        id="wire.anthropic-messages.thinking-not-forced",
        statement="With manual thinking, tool_choice forces no tool.",
        message="Thinking may not be enabled when tool_choice forces tool use.",
        source="github.com/mastra-ai/mastra/issues/7507",
        mend="use adaptive thinking, or tool_choice auto or none",
        find=_forced,
    ),
)
