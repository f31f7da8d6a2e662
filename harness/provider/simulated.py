"""A provider that plays a script: it decodes, judges and records each request, then answers in its wire's bytes.

A request that breaks a rule gets the provider's own error and does not use the script up. Nothing is raised into the
client, which might swallow or retry it: a fault of the script or of this harness is kept in `faults` and answered 500;
whoever owns the run looks there when it is over.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, Protocol

from harness.provider.faults import fault_of, refused
from harness.provider.replies import (
    Answer,
    ConnectionReply,
    RawReply,
    Reply,
    StatusReply,
    TurnReply,
    cut_chunks,
    told,
)
from harness.vocabulary.content import Opaque
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.trace import Record, ReplySent, RequestSent, Violation
from harness.vocabulary.turn import ModelTurn, StopReason
from harness.wire.codec import Circumstances, Codec, Decoded, Issued, UndecodableRequest
from harness.wire.dialects import codec_of, load
from harness.wire.dialects.codec import DialectCodec
from harness.wire.reading import parse_body
from harness.wire.registry import codec

JSON = "application/json"
SSE = "text/event-stream; charset=utf-8"
_UNREADABLE = ModelRequest(model="", system="", tools=(), items=())


class Responder(Protocol):
    """A script's voice."""

    def reply(self, n: int, request: ModelRequest) -> Reply:
        """What to answer to request `n` (counted from 1, refused requests included)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request and how it was answered. `n` 0: it was not for this wire."""

    n: int
    method: str
    path: str
    status: int
    violations: tuple[Violation, ...] = ()


class SimulatedProvider:
    """One run's provider. `record` takes trace records, `clock` gives seconds; `dialect` names the server that it
    plays, None the provider itself. It may be called from many threads; requests are answered one at a time."""

    def __init__(
        self,
        transport: str,
        responder: Responder,
        record: Callable[[Record], None],
        clock: Callable[[], float],
        dialect: str | None = None,
    ) -> None:
        self.codec: Codec = codec(transport) if dialect is None else codec_of(load(dialect), transport)
        self.exchanges: list[Exchange] = []
        self.faults: list[Exception] = []
        self._responder = responder
        self._record = record
        self._clock = clock
        self._n = 0
        self._paused = False
        self._issued: list[Issued] = []
        self._lock = Lock()

    def answer(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Answer one HTTP request. `path` may have anything in front of the wire's own. Never raises."""
        with self._lock:
            try:
                return self._answer(method, path, headers, body)
            except Exception as fault:
                self.faults.append(fault)
                self.exchanges.append(Exchange(n=self._n, method=method, path=path, status=500))
                return self._error(500, "api_error", "internal error of the simulated provider", None, None)

    def _answer(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        if method != "POST" or not path.partition("?")[0].endswith(self.codec.path):
            self.exchanges.append(Exchange(n=0, method=method, path=path, status=404))
            return self._error(404, "not_found_error", f"{method} {path} is not answered here", None, None)
        self._n += 1
        decoded, violations = self._judged(body, headers)
        request = _UNREADABLE if decoded is None else decoded.request
        self._record(
            RequestSent(n=self._n, request=request, payload=body, violations=violations, at=self._clock()),
        )
        answer = self._refusal(violations[0]) if violations or decoded is None else self._played(decoded)
        sent = Exchange(n=self._n, method=method, path=path, status=answer.status, violations=violations)
        self.exchanges.append(sent)
        return answer

    def _judged(self, body: bytes, headers: Mapping[str, str]) -> tuple[Decoded | None, tuple[Violation, ...]]:
        try:
            decoded = self.codec.decode(body)
        except UndecodableRequest as fault:
            return None, self._misread(body, fault)
        lower = {name.lower(): value for name, value in headers.items()}
        circumstances = Circumstances(
            version=lower.get("anthropic-version"),
            resuming=self._paused,
            issued=self._issued,
            size=len(body),
        )
        return decoded, tuple(self.codec.judge(decoded.payload, circumstances))

    def _misread(self, body: bytes, fault: UndecodableRequest) -> tuple[Violation, ...]:
        """Breaches of a body that cannot be read: those that the oracle knows better words for come first."""
        known = [] if fault.fault == "syntax" or not fault.pointer else self.codec.judge(parse_body(body))
        return (*known, self.codec.misshapen(fault))

    def _refusal(self, violation: Violation) -> Answer:
        self._record(ReplySent(n=self._n, reply=refused(violation)))
        words = (violation.error_type, violation.message, violation.param, violation.code)
        return self._error(violation.status, *words)

    def _played(self, decoded: Decoded) -> Answer:
        reply = self._responder.reply(self._n, decoded.request)
        if isinstance(reply, TurnReply):
            return self._turn(reply, decoded)
        self._record(ReplySent(n=self._n, reply=fault_of(reply)))
        if isinstance(reply, ConnectionReply):
            return Answer(status=0, end=reply.how)
        if isinstance(reply, RawReply):
            return Answer(status=reply.status, headers=reply.headers, chunks=reply.chunks, end=reply.end)
        return self._status(reply)

    def _status(self, reply: StatusReply) -> Answer:
        later = {} if reply.retry_after is None else {"retry-after": reply.retry_after}
        return self._error(reply.status, reply.error_type, reply.message, None, reply.code, later)

    def _turn(self, reply: TurnReply, decoded: Decoded) -> Answer:
        arguments: dict[str, Any] = {"model": decoded.request.model, "n": self._n, "payload": decoded.payload}
        if decoded.stream:
            chunks, kind = tuple(self.codec.stream(reply.turn, **arguments)), SSE
        else:
            chunks, kind = (self.codec.response(reply.turn, **arguments),), JSON
        said = self.codec.said(reply.turn) if isinstance(self.codec, DialectCodec) else reply.turn
        self._record(told(self._n, replace(reply, turn=said)))
        headers = self.codec.headers(self._n) | {"content-type": kind}
        if reply.cut is None:
            self._paused = reply.turn.stop is StopReason.PAUSE
            self._remember(reply.turn, arguments)
            return Answer(status=200, headers=headers, chunks=chunks)
        kept = cut_chunks(chunks, reply.cut, streamed=decoded.stream)
        return Answer(status=200, headers=headers, chunks=kept, end=reply.cut.how)

    def _remember(self, turn: ModelTurn, arguments: dict[str, Any]) -> None:
        """Keep an answer that holds what must come back unchanged: reasoning and other parts of this wire alone."""
        if any(isinstance(part, Opaque) for part in turn.message.content):
            answer = parse_body(self.codec.response(turn, **arguments))
            self._issued.append(Issued(arguments["payload"], answer))

    def _error(
        self,
        status: int,
        error_type: str,
        message: str,
        param: str | None,
        code: str | None,
        more: Mapping[str, str] | None = None,
    ) -> Answer:
        body = self.codec.error(status, error_type=error_type, message=message, param=param, code=code, n=self._n)
        headers = self.codec.headers(self._n, status) | {"content-type": JSON} | dict(more or {})
        return Answer(status=status, headers=headers, chunks=(body,))
