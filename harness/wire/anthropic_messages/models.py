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


def refuses_late_system(model: str) -> bool:
    """Before 4.8, and in Sonnet 5, there is no system role inside `messages`. (Recorded for 4.8: both answers.)"""
    return generation(model) < (4, 8) or (family(model) == "sonnet" and generation(model) == (5, 0))


def needs_tools_for_tool_blocks(model: str) -> bool:
    """Only the third generation is reported to refuse tool blocks without tools; Sonnet 5 is recorded to take them."""
    return generation(model) < (4, 0)
