"""The judge's own reading of an event stream's bytes: which events they dispatch, and what is wrong with the framing.

It reads a whole body and knows no provider. Source: WHATWG HTML, section 9.2 (parsing an event stream).
"""

import re
from dataclasses import dataclass

_BYTE_ORDER_MARK = "\ufeff"
_LINE = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Sent:
    """One dispatched event. `name` is "" where the stream names none."""

    name: str
    data: str


@dataclass(frozen=True, slots=True)
class Framed:
    """A body as its events. `undecodable` is the offset in bytes of what is no UTF-8, None if all is. `unfinished`:
    the body ends inside an event, which is then never dispatched. `comments` counts comment lines."""

    events: tuple[Sent, ...]
    undecodable: int | None = None
    unfinished: bool = False
    comments: int = 0


def framed(body: bytes) -> Framed:
    """The events of a whole body. Never raises: bytes that are no UTF-8 are read as U+FFFD."""
    lines = _LINE.split(body.decode("utf-8", "replace").removeprefix(_BYTE_ORDER_MARK))
    rest = lines.pop()
    events: list[Sent] = []
    name, data, comments = "", list[str](), 0
    for line in lines:
        if not line:
            events += [Sent(name, "\n".join(data))] if data else []
            name, data = "", []
            continue
        key, _, value = line.partition(":")
        if key == "data":
            data.append(value.removeprefix(" "))
        elif key == "event":
            name = value.removeprefix(" ")
        comments += not key
    return Framed(tuple(events), _undecodable(body), bool(rest or name or data), comments)


def _undecodable(body: bytes) -> int | None:
    try:
        body.decode()
    except UnicodeDecodeError as error:
        return error.start
    return None
