"""The text protocol of the XML fallback: where call frames stand in a text, and what they hold.

A frame is `<tool_call name="NAME">BODY</tool_call>`. One line feed directly before and one directly after belong to it;
white space between frames is nothing. A frame inside a code fence is text, so is one without a name or with other
markup around its name. The body ends at the first closing tag outside a JSON string and outside CDATA. Source: the
project's wire conventions; this is the judge's reading of them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_OPEN = re.compile(r"<tool_call((?:\s+[a-z_]+=\"[^\"<]*\")*)\s*>")
_ATTRIBUTE = re.compile(r"([a-z_]+)=\"([^\"<]*)\"")
_CLOSE = "</tool_call>"
_STRING_OR_END = re.compile(r"\"(?:[^\"\\]|\\.)*\"|<!\[CDATA\[.*?\]\]>|</tool_call>", re.DOTALL)
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
_FENCE = re.compile(r" {0,3}```")
_ENTITIES = {"&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'", "&amp;": "&"}
_ENTITY = re.compile("|".join(_ENTITIES))


@dataclass(frozen=True, slots=True)
class Frame:
    """One call as it is written. `call_id` is "" where the frame carries none; `body` is decoded."""

    name: str
    body: str
    call_id: str = ""


def unescape(text: str) -> str:
    """The five entities, decoded once."""
    return _ENTITY.sub(lambda match: _ENTITIES[match[0]], text)


def decoded(body: str) -> str:
    """A frame's body: entities outside CDATA, CDATA as it stands."""
    pieces = _CDATA.split(body)
    return "".join(piece if i % 2 else unescape(piece) for i, piece in enumerate(pieces))


def read(text: str) -> list[str | Frame]:
    """A text as its visible texts and frames, in order."""
    found: list[str | Frame] = []
    begin = 0
    for start, end, frame in _frames(text):
        found += [text[begin:start], frame]
        begin = end
    rest = text[begin:]
    if not found:
        return [rest] if rest else []
    return [piece for piece in (*found, rest) if isinstance(piece, Frame) or piece.strip()]


def _frames(text: str) -> Iterator[tuple[int, int, Frame]]:
    """Each frame with the range of text that it takes, its line feeds included."""
    fences = _fenced(text)
    place = 0
    while (match := _OPEN.search(text, place)) is not None:
        place = match.end()
        attributes = dict(_ATTRIBUTE.findall(match[1]))
        if "name" not in attributes or any(start <= match.start() < end for start, end in fences):
            continue
        body_end = _body_end(text, match.end())
        body = decoded(text[match.end() : body_end])
        frame = Frame(unescape(attributes["name"]), body, unescape(attributes.get("id", "")))
        place = min(len(text), body_end + len(_CLOSE))
        start = match.start() - (text[match.start() - 1 : match.start()] == "\n")
        place += text[place : place + 1] == "\n"
        yield start, place, frame


def _body_end(text: str, begin: int) -> int:
    """Where the closing tag of a body begins; the end of the text where there is none."""
    place = begin
    while (match := _STRING_OR_END.search(text, place)) is not None:
        if match[0] == _CLOSE:
            return match.start()
        place = match.end()
    last = text.rfind(_CLOSE, begin)
    return len(text) if last < 0 else last


def _fenced(text: str) -> list[tuple[int, int]]:
    """The ranges of text inside code fences; a fence that is not closed goes on to the end."""
    ranges: list[tuple[int, int]] = []
    opened, place = -1, 0
    if "```" not in text:
        return ranges
    for line in text.split("\n"):
        end = place + len(line) + 1
        if _FENCE.match(line):
            if opened < 0:
                opened = place
            else:
                ranges.append((opened, end))
                opened = -1
        place = end
    return [*ranges, (opened, len(text))] if opened >= 0 else ranges
