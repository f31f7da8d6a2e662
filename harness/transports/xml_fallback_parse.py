"""XML fallback: a model's text to text parts and tool calls, in any chunking.

It reads the text of a Chat answer (so it goes on from the Chat handler) and knows nothing of requests but the number
of the first call. A frame is held back until it is whole, since only then it is known to be no text; other text is held
back only while it may still belong to a tag. One line end on each side of a frame belongs to it; white space between
two frames is dropped. Rules: `xml_frames`, loop.synthesis.xml, loop.model.truncated.
"""

from collections.abc import Callable

from harness.transports.openai_chat_parse import ChatTurn
from harness.transports.xml_fallback_render import ID
from harness.transports.xml_frames import CLOSE, OPEN, Body, Fences, OpeningTag, Reading, opening_tag


class FrameReader:
    """Splits a growing text: visible pieces go to `on_text`, whole frames (name, raw arguments) to `on_call`."""

    def __init__(self, on_text: Callable[[str], None], on_call: Callable[[str, str], None]) -> None:
        self._on_text, self._on_call = on_text, on_call
        self._rest = ""
        self._fences = Fences()
        self._tag: OpeningTag | None = None
        self._body: Body | None = None
        self._space = ""
        self._after_frame = False
        self._line_end_due = False

    @property
    def held(self) -> str:
        """Text that was fed and not yet passed on."""
        return self._space + self._rest

    def feed(self, text: str) -> None:
        """Go on with the next piece."""
        self._rest += text
        while self._step():
            pass

    def close(self) -> None:
        """The text ends. A frame that is cut is still a call, with the arguments that were read."""
        while self._rest:
            if self._tag is not None and self._body is not None:
                self._close_body(self._tag, self._body)
            else:
                self._pass_on(len(self._rest))
            while self._step():
                pass
        self._on_text(self._space)
        self._space = ""

    def _step(self) -> bool:
        """One step in the text at hand; False where more must come."""
        if self._tag is not None and self._body is not None:
            return self._step_body(self._tag, self._body)
        if self._line_end_due and self._rest:
            self._line_end_due = False
            if self._rest.startswith("\n"):
                self._fences.read("\n")
                self._rest = self._rest[1:]
        at = self._rest.find(OPEN)
        return self._step_tag(at) if at >= 0 else self._step_text()

    def _step_text(self) -> bool:
        """No tag at hand: pass the text on, but for an end that may be the beginning of one."""
        at = self._rest.rfind("<")
        hold = at if at >= 0 and OPEN.startswith(self._rest[at:]) else len(self._rest)
        self._pass_on(self._before(hold))
        if self._fences.open:
            self._pass_on(len(self._rest))
        return False

    def _step_tag(self, at: int) -> bool:
        self._pass_on(self._before(at))
        at = self._rest.index(OPEN)
        found = Reading.TEXT if self._fences.open else opening_tag(self._rest, at)
        if found is Reading.MORE:
            return False
        if isinstance(found, OpeningTag):
            self._tag, self._body = found, Body(found.end)
        else:
            self._pass_on(at + len(OPEN))
        return True

    def _before(self, at: int) -> int:
        """The offset before the line end that would belong to a frame at `at`."""
        return at - 1 if at > 0 and self._rest[at - 1] == "\n" else at

    def _step_body(self, tag: OpeningTag, body: Body) -> bool:
        reading = body.read(self._rest)
        if reading is Reading.MORE:
            return False
        if reading is Reading.DONE:
            self._take_frame(tag, body, body.at + len(CLOSE))
        else:
            self._tag = self._body = None
            self._pass_on(tag.end)
        return True

    def _close_body(self, tag: OpeningTag, body: Body) -> None:
        """The text ended inside a frame. Where a JSON string or CDATA was never closed, the last closing tag that it
        swallowed ends the body after all."""
        last = self._rest.rfind(CLOSE, tag.end) if body.unclosed else -1
        end = last if last >= 0 else len(self._rest)
        whole = Body(tag.end)
        whole.read(self._rest[:end])
        whole.finish(self._rest[:end])
        self._take_frame(tag, whole, end + len(CLOSE))

    def _take_frame(self, tag: OpeningTag, body: Body, end: int) -> None:
        arguments = body.text
        self._tag = self._body = None
        self._rest = self._rest[end:]
        self._space = ""
        self._after_frame = self._line_end_due = True
        self._fences.occupy()
        self._on_call(tag.name, arguments if arguments.strip() else "")

    def _pass_on(self, end: int) -> None:
        """Text up to `end` is text for good; after a frame, white space waits for what follows."""
        text, self._rest = self._rest[:end], self._rest[end:]
        self._fences.read(text)
        if self._after_frame:
            self._space += text
            if not self._space.strip():
                return
            text, self._space, self._after_frame = self._space, "", False
        if text:
            self._on_text(text)


class XmlTurn(ChatTurn):
    """The `TurnHandler` of this wire: Chat answers whose text holds the calls. Ids count on from `first`."""

    def __init__(self, first: int) -> None:
        super().__init__(ID)
        self._next = first
        self._texts = 0
        self._frames = FrameReader(self._text, self._frame)

    def content(self, text: str) -> None:
        """Visible text, whole or a piece of it."""
        self._frames.feed(text)

    def before_end(self) -> None:
        """What is held back is decided by the end of the text."""
        self._frames.close()

    def _text(self, text: str) -> None:
        self.turn.text(("text", self._texts), text)

    def _frame(self, name: str, arguments: str) -> None:
        key = ("frame", self._next)
        self.turn.call(key, f"x{self._next}", name)
        self.turn.arguments(key, arguments)
        self._next += 1
        self._texts += 1
