"""What every wire of the judge's side offers, and the values that cross this border.

A codec knows one provider protocol and nothing of scripts, transports or loops. Bytes come in, neutral values and
violations go out; neutral turns come in, bytes go out. All of it is pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from harness.vocabulary.content import JsonObject
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.trace import Violation
from harness.vocabulary.turn import ModelTurn
from harness.wire.rules import Rule

FaultOfShape: TypeAlias = Literal["syntax", "missing", "type"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """One request read back from the wire. `payload` is the parsed body, whole."""

    request: ModelRequest
    stream: bool
    payload: JsonObject


@dataclass(frozen=True, slots=True)
class Issued:
    """One answer that the provider gave: the request's payload and the whole answer, both parsed."""

    payload: JsonObject
    answer: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What a request does not say of itself.

    `version` is the protocol version of the headers (`anthropic-version`), None if it is not known: rules that came
    with a later version are then left out. `resuming` tells that the answer before this request was a paused turn, so
    that a request may end with the content of that turn. `issued` are the provider's earlier answers to this
    conversation, oldest first, () if they are not known: what was said there must come back unchanged. `size` is the
    length of the body in bytes.
    """

    version: str | None = None
    resuming: bool = False
    issued: Sequence[Issued] = ()
    size: int | None = None


UNKNOWN = Circumstances()


class UndecodableRequest(ValueError):
    """The body is not of the provider's shape. `pointer` is a JSON Pointer to the part that is wrong; the message
    says what was expected there."""

    def __init__(self, pointer: str, message: str, fault: FaultOfShape = "type") -> None:
        super().__init__(f"{pointer or 'body'}: {message}")
        self.pointer = pointer
        self.message = message
        self.fault: FaultOfShape = fault


class UnencodableTurn(ValueError):
    """A scripted turn that this provider cannot give (a paused turn on a wire without pauses)."""


class Codec(Protocol):
    """One wire, judge's side."""

    @property
    def id(self) -> str:
        """The transport id."""

    @property
    def path(self) -> str:
        """URL path below the host, as the official SDK asks for it."""

    def decode(self, body: bytes) -> Decoded:
        """Read a request. Raises UndecodableRequest; keys that are not known are ignored."""

    def judge(self, payload: JsonObject, circumstances: Circumstances = UNKNOWN) -> list[Violation]:
        """Breaches of the provider's rules in the order in which the provider looks; [] is legal. Never raises."""

    def advice(self, payload: JsonObject, circumstances: Circumstances = UNKNOWN) -> list[Violation]:
        """What the documents warn of though the provider takes it; never a reason to refuse. Never raises."""

    @property
    def rules(self) -> Sequence[Rule[Any]]:
        """All rows of this wire, those of its dialects included, in the order in which the provider looks."""

    def view(self, payload: JsonObject, circumstances: Circumstances = UNKNOWN) -> Any:
        """The payload as this wire's rows look at it."""

    def misshapen(self, fault: UndecodableRequest) -> Violation:
        """The provider's answer to a request that could not be read."""

    def response(self, turn: ModelTurn, *, model: str, n: int, payload: JsonObject | None = None) -> bytes:
        """A whole answer. `n` (the exchange's number) makes ids and times; `payload` is the request answered."""

    def stream(self, turn: ModelTurn, *, model: str, n: int, payload: JsonObject | None = None) -> list[bytes]:
        """The same answer as server-sent events, one a member."""

    def error(
        self,
        status: int,
        *,
        error_type: str,
        message: str,
        param: str | None = None,
        code: str | None = None,
        n: int = 0,
    ) -> bytes:
        """The body of an error answer."""

    def error_event(self, *, error_type: str, message: str, code: str | None = None, sequence: int = 0) -> bytes:
        """An error inside a stream that has begun. `sequence` numbers it where the wire numbers events."""

    def headers(self, n: int, status: int = 200) -> dict[str, str]:
        """Headers of an answer with this status (the request id), without the content type."""
