"""An incremental decoder of server-sent events. It knows the framing only, not what the events say.

Rules: WHATWG HTML, section 9.2 (parsing an event stream): lines end in LF, CR or CRLF; a leading byte order mark is
dropped; lines that begin with a colon are comments; `data` lines of one event are joined by LF; an event that no empty
line closes before the body ends is never dispatched.
"""

import re
from dataclasses import dataclass

_LINE_END = re.compile(rb"\r\n|\r|\n")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One dispatched event. `event` is "" where the stream names none."""

    event: str
    data: str


class SseDecoder:
    """Feed it chunks cut anywhere; it returns the events that they complete."""

    def __init__(self) -> None:
        self._pending: list[bytes] = []
        self._after_carriage_return = False
        self._first_line = True
        self._event = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """Events completed by this chunk, in order. Never raises: bytes that are no UTF-8 become U+FFFD."""
        if self._after_carriage_return and chunk:
            # A CR that ended the last chunk has closed its line already; its LF belongs to it.
            chunk = chunk.removeprefix(b"\n")
            self._after_carriage_return = False
        lines = _LINE_END.split(chunk)
        if chunk.endswith(b"\r"):
            self._after_carriage_return = True
        if len(lines) == 1:
            self._pending.append(chunk)
            return []
        lines[0] = b"".join((*self._pending, lines[0]))
        self._pending = [lines.pop()]
        return [event for line in lines if (event := self._line(line)) is not None]

    @property
    def unfinished(self) -> bool:
        """Whether an event has begun that no empty line has closed."""
        return bool(self._data) or any(self._pending)

    def _line(self, raw: bytes) -> ServerSentEvent | None:
        if self._first_line:
            raw, self._first_line = raw.removeprefix(_BYTE_ORDER_MARK), False
        if not raw:
            return self._dispatch()
        name, _, value = raw.decode("utf-8", "replace").partition(":")
        if name == "data":
            self._data.append(value.removeprefix(" "))
        elif name == "event":
            self._event = value.removeprefix(" ")
        return None

    def _dispatch(self) -> ServerSentEvent | None:
        event = ServerSentEvent(self._event, "\n".join(self._data)) if self._data else None
        self._event, self._data = "", []
        return event
