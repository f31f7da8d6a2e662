"""Marks of the XML fallback format in a model's text: the opening tag, the body of a frame, code fences.

Each of them reads a growing text and can say "not yet". They know the format only, not turns or events. Rules: the
format as `xml_fallback_render` states it, and: a body ends at the first closing tag outside a JSON string and outside
CDATA; inside a JSON string only the five entities are markup (and CDATA that goes on from CDATA); other markup makes
the frame plain text.
"""

import re
from dataclasses import dataclass, field
from enum import Enum, auto

OPEN = "<tool_call"
CLOSE = "</tool_call>"
_CDATA, _CDATA_END = "<![CDATA[", "]]>"
_LONGEST_TAG = 512
"""A tag longer than this is text: what is held back has a bound."""

_SPACE = r"[ \t\r\n]"
_NAME = r"[A-Za-z_:][A-Za-z0-9_:.-]*"
_ATTRIBUTE = rf"{_SPACE}+{_NAME}{_SPACE}*={_SPACE}*(?:\"[^\"<\n]*\"|'[^'<\n]*')"
_TAG = re.compile(rf"{OPEN}((?:{_ATTRIBUTE})*){_SPACE}*>")
_BEGINNING = re.compile(
    rf"{OPEN}(?:{_ATTRIBUTE})*(?:{_SPACE}+(?:{_NAME}(?:{_SPACE}*(?:={_SPACE}*(?:\"[^\"<\n]*|'[^'<\n]*)?)?)?)?)?"
)
_PAIR = re.compile(rf"({_NAME}){_SPACE}*={_SPACE}*(?:\"([^\"]*)\"|'([^']*)')")
_WHOLE = re.compile(_ATTRIBUTE)
_NAME_BEGUN = re.compile(rf"{_SPACE}+name(?:{_SPACE}|=)")
_ENTITY = re.compile(r"&(lt|gt|amp|quot|apos);")
_CHARACTERS = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_FENCE = re.compile(r" {0,3}```")
_FENCE_HEAD = 6


class Reading(Enum):
    """How far a mark was read. MORE: the text so far fits, and more must come."""

    MORE = auto()
    DONE = auto()
    TEXT = auto()


def decode_entities(text: str) -> str:
    """The five entities, once."""
    return _ENTITY.sub(lambda found: _CHARACTERS[found.group(1)], text)


@dataclass(frozen=True, slots=True)
class OpeningTag:
    """An opening tag of a frame; `end` is the offset behind it."""

    name: str
    end: int


def opening_tag(text: str, at: int) -> OpeningTag | Reading:
    """The frame's opening tag that begins at `at`; MORE while it may still become one, TEXT if it cannot. A frame
    needs exactly one `name`; other attributes are passed over."""
    found = _TAG.match(text, at)
    if found is None:
        fits = len(text) - at < _LONGEST_TAG and (OPEN.startswith(text[at:]) or _BEGINNING.fullmatch(text, at))
        return Reading.MORE if fits and _may_name_one(text[at + len(OPEN) :]) else Reading.TEXT
    names = _names(found.group(1))
    if len(names) != 1 or not names[0] or found.end() - at > _LONGEST_TAG:
        return Reading.TEXT
    return OpeningTag(decode_entities(names[0]), found.end())


def _names(attributes: str) -> list[str]:
    """The values of the whole attributes called `name`."""
    return [pair[1] or pair[2] for pair in _PAIR.findall(attributes) if pair[0] == "name"]


def _may_name_one(attributes: str) -> bool:
    """Whether attributes that are still coming may name exactly one call: no name is empty, and no second one began."""
    names = _names(attributes)
    begun = _NAME_BEGUN.match(_WHOLE.sub("", attributes)) is not None
    return all(names) and len(names) + begun <= 1


@dataclass(slots=True)
class _Quotes:
    """Whether a JSON text stands inside a string."""

    inside: bool = False
    escaped: bool = False

    def read(self, text: str) -> None:
        at = 0
        while at < len(text):
            at = self._step(text, at)

    def _step(self, text: str, at: int) -> int:
        if self.escaped:
            self.escaped = False
            return at + 1
        if not self.inside:
            quote = text.find('"', at)
            self.inside = quote >= 0
            return quote + 1 or len(text)
        stop = _QUOTE_OR_BACKSLASH.search(text, at)
        if stop is None:
            return len(text)
        self.escaped, self.inside = stop.group() == "\\", stop.group() != '"'
        return stop.end()


_QUOTE_OR_BACKSLASH = re.compile(r'["\\]')
_MARKUP = re.compile(r"[&<]")


@dataclass(slots=True)
class Body:
    """The body of a frame while it grows. `at` is the offset up to which it was read."""

    at: int
    pieces: list[str] = field(default_factory=list)
    _quotes: _Quotes = field(default_factory=_Quotes)
    _verbatim: bool = False
    _cdata_end: int = -1

    @property
    def text(self) -> str:
        """The body read so far, entities and CDATA resolved."""
        return "".join(self.pieces)

    @property
    def unclosed(self) -> bool:
        """Whether a JSON string or a CDATA section is open: a closing tag would be content here."""
        return self._quotes.inside or self._verbatim

    def read(self, text: str) -> Reading:
        """Go on in `text` (the whole of it, grown). DONE: the closing tag begins at `at`. TEXT: this is no frame."""
        while self.at < len(text):
            step = self._cdata(text) if self._verbatim else self._plain(text)
            if step is not None:
                return step
        return Reading.MORE

    def finish(self, text: str) -> None:
        """The text ends here: an entity cut at the end is text, a cut tag is dropped."""
        tail = text[self.at :]
        if self._verbatim or tail.startswith("&"):
            self._take(tail)
        self.at = len(text)

    def _take(self, text: str) -> None:
        self._quotes.read(text)
        self.pieces.append(text)

    def _cdata(self, text: str) -> Reading | None:
        end = text.find(_CDATA_END, self.at)
        # Two characters stay unread where the end mark may be cut.
        stop = end if end >= 0 else max(self.at, len(text) - len(_CDATA_END) + 1)
        self._take(text[self.at : stop])
        self.at = stop
        if end < 0:
            return Reading.MORE
        self._verbatim, self.at = False, end + len(_CDATA_END)
        self._cdata_end = self.at
        return None

    def _plain(self, text: str) -> Reading | None:
        mark = _MARKUP.search(text, self.at)
        stop = len(text) if mark is None else mark.start()
        self._take(text[self.at : stop])
        self.at = stop
        if mark is None:
            return None
        return self._entity(text) if mark.group() == "&" else self._tag(text)

    def _entity(self, text: str) -> Reading | None:
        found = _ENTITY.match(text, self.at)
        if found is None and any(f"&{name};".startswith(text[self.at :]) for name in _CHARACTERS):
            return Reading.MORE
        self._take("&" if found is None else _CHARACTERS[found.group(1)])
        self.at = self.at + 1 if found is None else found.end()
        return None

    def _tag(self, text: str) -> Reading | None:
        # Inside a string only a section that goes on from one just closed is markup: so `]]>` itself is written.
        known = (CLOSE, _CDATA) if not self._quotes.inside else (_CDATA,) if self._cdata_end == self.at else ()
        found = next((mark for mark in known if text.startswith(mark, self.at)), None)
        if found == CLOSE:
            return Reading.DONE
        if found == _CDATA:
            self._verbatim, self.at = True, self.at + len(_CDATA)
            return None
        if any(mark.startswith(text[self.at :]) for mark in known):
            return Reading.MORE
        if not self._quotes.inside:
            return Reading.TEXT
        self._take("<")
        self.at += 1
        return None


class Fences:
    """Whether a text stands inside a code fence. A line that begins with three backticks, after at most three spaces,
    opens one or closes it."""

    def __init__(self) -> None:
        self.open = False
        self._head = ""
        self._settled = False

    def read(self, text: str) -> None:
        """Go on with the text that follows."""
        first, *others = text.split("\n")
        self._line(first)
        for line in others:
            self._head, self._settled = "", False
            self._line(line)

    def occupy(self) -> None:
        """Something that is no text stands on this line: it cannot begin with a fence any more."""
        self._settled = True

    def _line(self, text: str) -> None:
        if self._settled or not text:
            return
        self._head = (self._head + text)[:_FENCE_HEAD]
        if _FENCE.match(self._head):
            self.open = not self.open
            self._settled = True
