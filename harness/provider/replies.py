"""What a script can make the provider answer, and what then goes to the client. Values only."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from harness.vocabulary.trace import ReplySent
from harness.vocabulary.turn import ModelTurn

BodyEnd: TypeAlias = Literal["clean", "reset", "stall"]
"""How a body ends: closed in order, connection reset, or silence until the client gives up."""
NoAnswer: TypeAlias = Literal["refused", "reset", "timeout"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Break an answer off: after so many events of a stream, or after so many bytes. Exactly one is set. A whole (not
    streamed) answer has no events: it is then cut in its middle. `visible` is for the record: whether the script says
    that text or refusal deltas go out before (None: it does not say)."""

    after_events: int | None = None
    after_bytes: int | None = None
    how: BodyEnd = "clean"
    visible: bool | None = None

    def __post_init__(self) -> None:
        if (self.after_events is None) == (self.after_bytes is None):
            raise ValueError("a cut needs exactly one of after_events and after_bytes")
        if min(self.after_events or 0, self.after_bytes or 0) < 0:
            raise ValueError("a cut is after 0 or more events or bytes")


@dataclass(frozen=True, slots=True)
class TurnReply:
    """A model turn, whole or broken off."""

    turn: ModelTurn
    cut: Cut | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusReply:
    """An error answer. `retry_after` is the text of the header, if there is to be one."""

    status: int
    error_type: str
    message: str
    code: str | None = None
    retry_after: str | None = None


@dataclass(frozen=True, slots=True)
class ConnectionReply:
    """No answer at all."""

    how: NoAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class RawReply:
    """Bytes as they are: for answers that no provider should give."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    chunks: tuple[bytes, ...] = ()
    end: BodyEnd = "clean"


Reply: TypeAlias = TurnReply | StatusReply | ConnectionReply | RawReply


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What goes to the client. Status 0: no answer, for the reason in `end`. Chunks are sent one by one."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    chunks: tuple[bytes, ...] = ()
    end: BodyEnd | Literal["refused", "timeout"] = "clean"


def told(n: int, reply: TurnReply) -> ReplySent:
    """The record of a turn, whole or broken off, as the answer to request `n`."""
    if reply.cut is None:
        return ReplySent(n=n, reply=reply.turn)
    return ReplySent(n=n, reply=reply.turn, cut=True, ending=reply.cut.how, visible=reply.cut.visible)


def cut_chunks(chunks: tuple[bytes, ...], cut: Cut, *, streamed: bool) -> tuple[bytes, ...]:
    """The chunks up to the cut."""
    if cut.after_events is not None and streamed:
        return chunks[: cut.after_events]
    left = sum(map(len, chunks)) // 2 if cut.after_bytes is None else cut.after_bytes
    kept: list[bytes] = []
    for chunk in chunks:
        kept.append(chunk[:left])
        left -= len(kept[-1])
    return tuple(chunk for chunk in kept if chunk)
