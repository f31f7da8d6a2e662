"""What OpenAI model names tell, as far as recorded answers or documents show it. An unknown name tells nothing, and a
rule that depends on it does not apply. Sources: recorded 4xx answers; wire-facts section 2.1."""

import re

_O_SERIES = re.compile(r"o[134](-|$)")
_FIRST_GPT5 = re.compile(r"gpt-5(-(mini|nano|pro|\d{4}-).*)?$")
_GPT5_OR_LATER = re.compile(r"gpt-[5-9]")
_GPT6_OR_LATER = re.compile(r"gpt-[6-9]")
_FIRST_O1 = re.compile(r"o1-(mini|preview)")
_WITHOUT_TOOLS = re.compile(r"gpt-5-chat")
_ALWAYS_REASONS = re.compile(r"gpt-6-astra|gpt-6\.1-sol")
_REASONS_WHEN_ASKED = re.compile(r"gpt-5\.4")
_REASONS_BY_ITSELF = re.compile(r"gpt-(5\.6|[6-9])")
_EFFORTS: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (_O_SERIES, ("low", "medium", "high")),
    (_FIRST_GPT5, ("minimal", "low", "medium", "high")),
    (_ALWAYS_REASONS, ("low", "medium", "high", "xhigh", "max")),
)


def refuses_max_tokens(model: str) -> bool:
    """Reasoning models take `max_completion_tokens` only."""
    return bool(_O_SERIES.match(model) or (_GPT5_OR_LATER.match(model) and "chat" not in model))


def refuses_stop(model: str) -> bool:
    """Models whose answers to `stop` are recorded refusals, and their siblings of the same release."""
    return bool(_O_SERIES.match(model) or _FIRST_GPT5.match(model))


def refuses_top_p(model: str) -> bool:
    """The first GPT-5 family."""
    return bool(_FIRST_GPT5.match(model))


def refuses_temperature(model: str) -> bool:
    """The o-series and the first GPT-5 family. (Recorded: gpt-5.4-nano takes one.)"""
    return bool(_O_SERIES.match(model) or _FIRST_GPT5.match(model))


def refuses_sampling(model: str, effort: str | None) -> bool:
    """Since GPT-6 temperature, top_p and top_logprobs are taken only with effort none."""
    return bool(_GPT6_OR_LATER.match(model)) and effort != "none"


def refuses_tools(model: str) -> bool:
    """The chat variant of GPT-5, by its recorded answer."""
    return bool(_WITHOUT_TOOLS.match(model))


def refuses_tools_on_chat(model: str, effort: str | None) -> bool:
    """Since GPT-5.4 Chat takes function tools only without reasoning: 5.4 reasons when asked (recorded: 200 without an
    effort), 5.6 and 6 by themselves."""
    if effort == "none":
        return False
    return bool(_REASONS_BY_ITSELF.match(model) or (_REASONS_WHEN_ASKED.match(model) and effort is not None))


def efforts(model: str) -> tuple[str, ...]:
    """The reasoning efforts of a model, () if not known."""
    return next((found for pattern, found in _EFFORTS if pattern.match(model)), ())


def refuses_platform_roles(model: str) -> bool:
    """The first o1 models know neither system nor developer messages."""
    return bool(_FIRST_O1.match(model))


def hears(model: str) -> bool:
    """Whether audio parts may be sent. Only the text members of the GPT-4o and GPT-5 families are known not to."""
    return "audio" in model or not model.startswith(("gpt-4o", "gpt-5"))


def listed(words: tuple[str, ...]) -> str:
    """Values as OpenAI lists them: 'low', 'medium', and 'high'."""
    quoted = [f"'{word}'" for word in words]
    return f"{', '.join(quoted[:-1])}, and {quoted[-1]}"
