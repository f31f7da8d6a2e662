"""What OpenAI model names tell, as far as recorded answers or documents show it. An unknown name tells nothing, and a
rule that depends on it does not apply. Sources: recorded 4xx answers; wire-facts section 2.1."""

import re

_O_SERIES = re.compile(r"o[134](-|$)")
_FIRST_GPT5 = re.compile(r"gpt-5(-(mini|nano|pro|\d{4}-).*)?$")
_GPT5_OR_LATER = re.compile(r"gpt-[5-9]")
_FIRST_O1 = re.compile(r"o1-(mini|preview)")


def refuses_max_tokens(model: str) -> bool:
    """Reasoning models take `max_completion_tokens` only."""
    return bool(_O_SERIES.match(model) or (_GPT5_OR_LATER.match(model) and "chat" not in model))


def refuses_stop(model: str) -> bool:
    """Models whose answers to `stop` are recorded refusals, and their siblings of the same release."""
    return bool(_O_SERIES.match(model) or _FIRST_GPT5.match(model))


def refuses_top_p(model: str) -> bool:
    """The first GPT-5 family."""
    return bool(_FIRST_GPT5.match(model))


def refuses_platform_roles(model: str) -> bool:
    """The first o1 models know neither system nor developer messages."""
    return bool(_FIRST_O1.match(model))


def hears(model: str) -> bool:
    """Whether audio parts may be sent. Only the text members of the GPT-4o and GPT-5 families are known not to."""
    return "audio" in model or not model.startswith(("gpt-4o", "gpt-5"))
