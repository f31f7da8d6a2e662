"""One recorded exchange, judged: is its request legal, can its answer be read, and does both survive the way back?

What the provider answered is the truth that the judge is measured by: a request that was answered 2xx and is rejected
here, or one that was refused for its conversation or schema and is accepted here, is this project's fault and is
reported as such. Nothing is sent.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from harness.recording.exchange import Body, Exchange
from harness.recording.refusals import only_the_provider_sees
from harness.recording.rounds import UNSAID, answer_round, read_answer, request_round
from harness.redaction.scrub import redact
from harness.transports.registry import adapter
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.trace import Violation
from harness.vocabulary.turn import ModelFault
from harness.wire.codec import Codec, Decoded, UndecodableRequest
from harness.wire.dialects import codec_of, load, of_host
from harness.wire.lifecycle import validate
from harness.wire.registry import codec

_PROVIDERS = frozenset({"", "api.openai.com", "api.anthropic.com"})
Kind: TypeAlias = Literal[
    "rejected", "unparsed", "round_trip_failed", "recorded_ok_rejected", "recorded_fault_missed", "stream"
]
_CONFLICTS = (400, 422)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to report. `rule` is the oracle's rule id, or `parse`, `round-trip`, `prediction`; `where` a JSON
    Pointer into the body after the capture's place."""

    kind: Kind
    id: str
    transport: str
    rule: str
    where: str
    message: str
    mend: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    """An exchange with its verdicts; None: there was nothing to judge. `beyond`: what an unforetold refusal is about,
    where only the provider sees it."""

    exchange: Exchange
    accepted: bool | None
    parsed: bool | None
    round_trip: bool | None
    findings: tuple[Finding, ...]
    beyond: str | None = None

    @property
    def succeeded(self) -> bool:
        """Whether the provider answered 2xx, with a body."""
        return _is_2xx(self.exchange.status) and self.exchange.response is not None

    @property
    def whole(self) -> bool:
        """Whether all that was judged of it came out well."""
        return self.parsed is not False and self.round_trip is not False


def judge_of(exchange: Exchange, dialect: str | None) -> Codec | None:
    """The judge of an exchange: by the dialect that is named, else by the one that its host is known to speak. None: a
    compatible server that is not known, of whose rules nothing can be said."""
    spoken = load(dialect) if dialect is not None else of_host(exchange.host)
    if spoken is not None:
        return codec_of(spoken, exchange.transport) if exchange.transport in spoken.speeches else None
    return None if exchange.host or "compat" in exchange.tags else codec(exchange.transport)


def judged(exchange: Exchange, *, dialect: str | None = None) -> Judged:
    """The verdicts on one exchange. `dialect` names the server's dialect where its host does not tell; the rules of an
    unknown server are those of the provider, and its contradicting them is no fault of this judge. Raises DialectError
    for a dialect that there is not."""
    findings: list[Finding] = []
    wire = judge_of(exchange, dialect)
    decoded, violations = _read_request(exchange, wire or codec(exchange.transport))
    accepted = None if exchange.request is None else not violations
    beyond = None if violations else _beyond(exchange)
    findings += _about_request(exchange, violations, known=wire is not None and beyond is None)
    lost = _request_lost(exchange, decoded) if decoded is not None and not violations else None
    parsed, answer = None, None
    if _is_2xx(exchange.status) and exchange.response is not None:
        answer, fault = _read(exchange, exchange.response, decoded)
        parsed = fault is None
        if fault is not None:
            findings.append(_finding(exchange, "unparsed", "parse", "response", fault))
        lost = lost or answer
        findings += _about_stream(exchange, exchange.response, native=_is_native(exchange))
    if lost is not None:
        findings.append(_finding(exchange, "round_trip_failed", "round-trip", "", lost))
    tried = parsed is not None or decoded is not None
    return Judged(exchange, accepted, parsed, (lost is None) if tried else None, tuple(findings), beyond)


def _is_native(exchange: Exchange) -> bool:
    """Whether the provider itself answered, as far as is known."""
    return exchange.host in _PROVIDERS and "compat" not in exchange.tags


def _about_stream(exchange: Exchange, body: Body, *, native: bool) -> list[Finding]:
    """What breaks the order and the discipline of a stream's events."""
    if body.kind != "sse":
        return []
    return [
        _finding(exchange, "stream", one.rule, f"response event {one.event} {one.pointer}", one.message)
        for one in validate(exchange.transport, body.data, native=native)
    ]


def _is_2xx(status: int | None) -> bool:
    return status is not None and 200 <= status < 300


def _read_request(exchange: Exchange, wire: Codec) -> tuple[Decoded | None, list[Violation]]:
    if exchange.request is None:
        return None, []
    try:
        decoded = wire.decode(exchange.request)
    except UndecodableRequest as fault:
        return None, [wire.misshapen(fault)]
    return decoded, wire.judge(decoded.payload)


def _about_request(exchange: Exchange, violations: list[Violation], *, known: bool) -> list[Finding]:
    if violations and _is_2xx(exchange.status) and known:
        return [_breach(exchange, "recorded_ok_rejected", violation) for violation in violations]
    if violations:
        return [_breach(exchange, "rejected", violation) for violation in violations]
    if known and _is_refused(exchange):
        words = f"the provider answered {exchange.status}, no rule foretells it: {_short(_answer(exchange))}"
        return [_finding(exchange, "recorded_fault_missed", "prediction", "request", words)]
    return []


def _is_refused(exchange: Exchange) -> bool:
    """Whether the provider refused a request with words that a rule may foretell."""
    return exchange.request is not None and exchange.status in _CONFLICTS and exchange.response is not None


def _beyond(exchange: Exchange) -> str | None:
    return only_the_provider_sees(_answer(exchange)) if _is_refused(exchange) else None


def _answer(exchange: Exchange) -> str:
    return "" if exchange.response is None else exchange.response.data.decode("utf-8", "replace")


def _request_lost(exchange: Exchange, decoded: Decoded) -> str | None:
    lost = request_round(decoded, codec(exchange.transport), adapter(exchange.transport))
    return None if lost is None else f"the request, {lost}"


def _read(exchange: Exchange, body: Body, decoded: Decoded | None) -> tuple[str | None, str | None]:
    """What the answer lost on its way back, and why it could not be read."""
    request: ModelRequest = decoded.request if decoded is not None else UNSAID
    client = adapter(exchange.transport)
    turn = read_answer(body, request, client)
    if isinstance(turn, ModelFault):
        return None, turn.message
    lost = answer_round(turn, request, codec(exchange.transport), client)
    return (None if lost is None else f"the answer, {lost}"), None


def _breach(exchange: Exchange, kind: Kind, violation: Violation) -> Finding:
    place = f"{exchange.place} request {violation.pointer or '/'}"
    return Finding(kind, exchange.id, exchange.transport, violation.rule, place, violation.message, violation.mend)


def _finding(exchange: Exchange, kind: Kind, rule: str, part: str, message: str) -> Finding:
    return Finding(kind, exchange.id, exchange.transport, rule, f"{exchange.place} {part}".rstrip(), message)


def _short(text: str, limit: int = 200) -> str:
    line = redact(" ".join(text.split()))
    return line if len(line) <= limit else line[:limit] + "…"
