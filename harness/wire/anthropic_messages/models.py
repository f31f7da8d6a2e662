"""What Claude model names tell: family and generation, and what a generation takes.

A name that is not a Claude name (a simulated model) counts as the newest generation. Sources: model documentation
(wire-facts sections 2.3 and 5) and recorded answers; where a recording and a document differ, neither side is refused.
"""

import re

Generation = tuple[int, int]
NEWEST: Generation = (99, 0)
_NAME = re.compile(r"claude-(?:([a-z]+)-)?(\d+)(?:[-.](\d{1,2}))?(?![\d])")


def generation(model: str) -> Generation:
    """(4, 5) for claude-sonnet-4-5-20250929 and for claude-3-5-haiku-… likewise (3, 5)."""
    match = _NAME.search(model)
    return (int(match[2]), int(match[3] or 0)) if match else NEWEST


def family(model: str) -> str:
    """opus, sonnet, haiku …; "" where the name does not say it."""
    match = _NAME.search(model)
    return (match[1] or "") if match else ""


def refuses_prefill(model: str) -> bool:
    """Since 4.6 a request must not end with words put into the model's mouth."""
    return generation(model) >= (4, 6)


def refuses_late_system(model: str, *, text: bool = True) -> bool:
    """Before 5, and in Sonnet 5, a system message inside `messages` is refused. The documents name 4.8 as the first
    that takes one; recorded for claude-opus-4-8 is a refusal of a text and an acceptance of a change of tools."""
    first = (5, 0) if text else (4, 8)
    return generation(model) < first or (family(model) == "sonnet" and generation(model) == (5, 0))


def needs_tools_for_tool_blocks(model: str) -> bool:
    """Only the third generation is reported to refuse tool blocks without tools; Sonnet 5 is recorded to take them."""
    return generation(model) < (4, 0)


def known(model: str) -> bool:
    """Whether the name is a Claude name with a generation."""
    return generation(model) != NEWEST


def refuses_manual_thinking(model: str) -> bool:
    """Since 4.7 a thinking budget is refused. (Recorded: 4.6 and before take one.)"""
    return known(model) and generation(model) >= (4, 7)


def refuses_adaptive_thinking(model: str) -> bool:
    """Adaptive thinking came with 4.6."""
    return generation(model) < (4, 6)


def always_thinks(model: str) -> bool:
    """Families whose thinking cannot be switched off."""
    return family(model) in ("fable", "mythos")


def efforts(model: str) -> tuple[str, ...] | None:
    """The effort levels of a model as far as answers tell them; () for a model without any, None if not known."""
    if (family(model), generation(model)) == ("opus", (4, 6)):
        return ("low", "medium", "high", "max")
    if (family(model), generation(model)) == ("opus", (4, 5)):
        return ("low", "medium", "high")
    return () if generation(model) < (4, 6) else None


def most_output(model: str) -> int | None:
    """The largest max_tokens of a model, None if not known."""
    for families, generations, limit in _OUTPUT:
        if family(model) in families and generation(model) in generations:
            return limit
    return None


def binds_prefix(model: str) -> bool:
    """Whether a model binds its thinking to the exact conversation before it: Fable and Mythos since 5.1, the other
    families since 5.5 (documentation of preserved thinking)."""
    first = (5, 1) if always_thinks(model) else (5, 5)
    return known(model) and generation(model) >= first


_OUTPUT: tuple[tuple[tuple[str, ...], tuple[Generation, ...], int], ...] = (
    (("haiku", "sonnet", "opus"), ((3, 0),), 4096),
    (("opus",), ((4, 0), (4, 1)), 32_000),
    (("sonnet", "haiku", "opus"), ((4, 5),), 64_000),
    (("sonnet",), ((4, 0),), 64_000),
    (("opus",), ((4, 6), (4, 7), (4, 8), (5, 0)), 128_000),
)
