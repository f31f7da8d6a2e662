"""The marks that both sides of a wire know: error and result prefixes, reason lines, the control's first line.

They are this project's documented conventions (loop.synthesis.instruction, loop.budget.refusal-is-a-result), read here
from the judge's side. It knows no provider.
"""

import re
from collections.abc import Sequence

from harness.vocabulary.content import AssistantMessage, Item, ResultPart, SystemMessage, Text
from harness.vocabulary.control import CONTROL_LINE, CONTROL_NAMES, Control

ERROR_PREFIX = "ERROR: "
RESULT_PREFIX = "RESULT: "
_REASON = re.compile(r"\[(tool\.[a-z_]+)\]")
_CONTROLS = {CONTROL_LINE.format(name=name): name for name in CONTROL_NAMES}


def first_line(text: str) -> str:
    """The text up to its first line feed."""
    return text.partition("\n")[0]


def control_of(text: str) -> Control | None:
    """The control instruction that `text` is, or None."""
    name = _CONTROLS.get(first_line(text))
    return None if name is None else Control(name, text)


def reason_of(content: Sequence[ResultPart], is_error: bool) -> str | None:
    """The reason code of an error result, read from its first line."""
    text = next((part.text for part in content if isinstance(part, Text)), "")
    match = _REASON.fullmatch(first_line(text)) if is_error else None
    return match and match[1]


def unmarked(content: Sequence[ResultPart]) -> tuple[tuple[ResultPart, ...], bool]:
    """Content without the prefix that tells an error on wires that have no flag for it, and whether it is one."""
    place = next((i for i, part in enumerate(content) if isinstance(part, Text)), None)
    if place is None:
        return tuple(content), False
    part = content[place]
    assert isinstance(part, Text)
    for prefix, is_error in ((ERROR_PREFIX, True), (RESULT_PREFIX, False)):
        if part.text.startswith(prefix):
            rest = part.text[len(prefix) :]
            alone = not rest and sum(isinstance(one, Text) for one in content) == 1
            return (*content[:place], *(() if alone else (Text(rest),)), *content[place + 1 :]), is_error
    return tuple(content), False


def closing(items: list[Item]) -> tuple[list[Item], Control | None, AssistantMessage | None]:
    """Take the volatile end off a conversation: a control that is the last message, or stands before a paused turn.

    A last assistant message without calls is the paused turn. With calls it is history (and illegal): kept.
    """
    rest, paused, control = list(items), None, None
    if rest and isinstance(rest[-1], AssistantMessage) and not rest[-1].calls:
        last = rest.pop()
        assert isinstance(last, AssistantMessage)
        paused = last
    if rest and isinstance(rest[-1], SystemMessage):
        control = control_of(rest[-1].text)
        if control is not None:
            rest.pop()
    return rest, control, paused
