"""Scripted answers of a tool as typed outcomes. `{n}` is the ordinal of the run of the tool, from 1."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from harness.scenario.format_tools import Answer, ImageAnswer, Large, Tool
from harness.scenario.plan import compact
from harness.scenario.turns import MARK
from harness.vocabulary.content import Image, Text
from harness.vocabulary.tools import OutcomeClass, ToolOutcome

_PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="  # one pixel, PNG
)


class ScriptedToolError(Exception):
    """What a tool that breaks raises into the subject's executor."""


def outcome_of(answer: Answer, tool: Tool, n: int) -> ToolOutcome:
    """The outcome of an answer that neither raises nor hangs."""
    kind = answer.kind
    outcome = _MAKERS[kind](answer, n)
    if answer.class_ is not None:
        return replace(outcome, outcome=OutcomeClass(answer.class_))
    return _declared(outcome, tool)


def fits(answer: Answer, arguments: Any) -> bool:
    """Whether a call with these decoded arguments gets this answer."""
    return answer.when is None or within(answer.when.arguments, arguments)


def within(part: Any, whole: Any) -> bool:
    """Whether `whole` holds all of `part`: objects may hold more keys, all else is equal."""
    if isinstance(part, Mapping):
        return isinstance(whole, Mapping) and all(key in whole and within(part[key], whole[key]) for key in part)
    same_kind = isinstance(part, bool) == isinstance(whole, bool)
    return same_kind and bool(part == whole)


def _filled(text: str, n: int) -> str:
    return text.replace(MARK, str(n))


def _said(text: str, outcome: OutcomeClass = OutcomeClass.OK) -> ToolOutcome:
    return ToolOutcome(outcome=outcome, content=(Text(text),))


def _json(answer: Answer, n: int) -> ToolOutcome:
    data = _deep(answer.json_, n)
    return ToolOutcome(outcome=OutcomeClass.OK, content=(Text(compact(data)),), data=data)


def _deep(value: Any, n: int) -> Any:
    if isinstance(value, str):
        return n if value == MARK else _filled(value, n)
    if isinstance(value, list):
        return [_deep(one, n) for one in value]
    if isinstance(value, dict):
        return {key: _deep(one, n) for key, one in value.items()}
    return value


def large_text(large: int | Large, n: int = 1) -> str:
    """Text of exactly so many UTF-8 bytes (what does not fill a whole unit at the end is filled with dots)."""
    size, unit = (large, None) if isinstance(large, int) else (large.bytes, large.of)
    if unit is None:
        return _lines(size)
    piece = _filled(unit, n)
    whole, rest = divmod(size, len(piece.encode()))
    return piece * whole + "." * rest


def _lines(size: int) -> str:
    width = 32
    lines = [f"line {place:>10} of the document.".ljust(width - 1) + "\n" for place in range(1, size // width + 2)]
    return "".join(lines)[:size]


def _image(answer: Answer, n: int) -> ToolOutcome:
    given = answer.image
    image = Image(given.media_type, given.data) if isinstance(given, ImageAnswer) else Image(str(given), _PIXEL)
    return ToolOutcome(outcome=OutcomeClass.OK, content=(image,))


def _noop(answer: Answer, n: int) -> ToolOutcome:
    text = answer.noop if isinstance(answer.noop, str) else "Nothing was changed."
    return _said(_filled(text, n), OutcomeClass.NOOP)


_MAKERS: dict[str, Callable[[Answer, int], ToolOutcome]] = {
    "text": lambda answer, n: _said(_filled(answer.text or "", n)),
    "json": _json,
    "large": lambda answer, n: _said(large_text(answer.large or 1, n)),
    "image": _image,
    "error": lambda answer, n: _said(_filled(answer.error or "", n), OutcomeClass.ERROR),
    "empty": lambda answer, n: ToolOutcome(outcome=OutcomeClass.EMPTY),
    "noop": _noop,
}


def _declared(outcome: ToolOutcome, tool: Tool) -> ToolOutcome:
    """The outcome by the tool's declaration: some texts are an empty or a noop outcome."""
    if outcome.outcome is not OutcomeClass.OK or not outcome.content:
        return outcome
    text = "".join(part.text for part in outcome.content if isinstance(part, Text)).strip()
    has_image = any(isinstance(part, Image) for part in outcome.content)
    if not has_image and text in (*tool.empty_when, ""):
        return replace(outcome, outcome=OutcomeClass.EMPTY)
    return replace(outcome, outcome=OutcomeClass.NOOP) if text in tool.noop_when else outcome
