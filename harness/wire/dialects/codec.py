"""A codec that judges and answers in a dialect: the provider's own, with the dialect's rules and habits."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from harness.vocabulary.content import JsonObject, JsonValue, ToolCall
from harness.vocabulary.trace import Violation
from harness.vocabulary.turn import ModelTurn
from harness.vocabulary.usage import NO_USAGE
from harness.wire.codec import UNKNOWN, Circumstances, Codec, Decoded, UndecodableRequest, UnencodableTurn
from harness.wire.dialects.answers import chunks_of, whole_of
from harness.wire.dialects.ids import with_ids
from harness.wire.dialects.model import Dialect, Speech
from harness.wire.events import dump
from harness.wire.reading import parse_body, top
from harness.wire.registry import codec
from harness.wire.rules import Rule, judge


def codec_of(dialect: Dialect, transport: str) -> Codec:
    """The codec of a transport as the dialect speaks it. Raises ValueError that names the transports it speaks."""
    speech = dialect.speeches.get(transport)
    if speech is None:
        spoken = ", ".join(dialect.speeches)
        raise ValueError(f"the dialect {dialect.name} does not speak {transport}: it speaks {spoken}")
    return codec(transport) if speech == Speech() else DialectCodec(codec(transport), dialect.name, speech)


class DialectCodec:
    """See Codec. What the dialect says nothing of is the provider's."""

    def __init__(self, own: Codec, name: str, speech: Speech) -> None:
        self.id = own.id
        self.path = own.path
        self.rules: Sequence[Rule[Any]] = own.rules
        self._own = own
        self._name = name
        self._speech = speech
        self._judged = [rule for rule in own.rules if rule.level == "must" and self._holds(rule)]

    def _holds(self, rule: Rule[Any]) -> bool:
        return rule.id in self._speech.add or (rule.native and rule.id not in self._speech.off)

    def decode(self, body: bytes) -> Decoded:
        """See Codec. The payload is the request's own, without what the server fills in."""
        payload = parse_body(body)
        filled = self._filled(payload)
        if filled == payload:
            return self._own.decode(body)
        found = self._own.decode(dump(filled))
        return Decoded(request=found.request, stream=found.stream, payload=payload)

    def judge(self, payload: JsonObject, circumstances: Circumstances = UNKNOWN) -> list[Violation]:
        """See Codec."""
        found = judge(self._judged, self.view(payload, circumstances))
        return [one for one in found if not self._taken(one)]

    def _taken(self, violation: Violation) -> bool:
        """Whether it is about an argument that this server knows."""
        unknown = violation.rule.endswith(".known-arguments")
        return unknown and violation.pointer in map(top, self._speech.arguments)

    def advice(self, payload: JsonObject, circumstances: Circumstances = UNKNOWN) -> list[Violation]:
        """See Codec."""
        return [one for one in self._own.advice(payload, circumstances) if one.rule not in self._speech.off]

    def view(self, payload: JsonObject, circumstances: Circumstances = UNKNOWN) -> Any:
        """See Codec."""
        return self._own.view(self._filled(payload), circumstances)

    def _filled(self, payload: JsonObject) -> JsonObject:
        filled: JsonObject = {**self._speech.defaults, **payload}
        return with_ids(filled) if self._speech.fills_ids else filled

    def misshapen(self, fault: UndecodableRequest) -> Violation:
        """See Codec."""
        return self._own.misshapen(fault)

    def response(self, turn: ModelTurn, *, model: str, n: int, payload: JsonObject | None = None) -> bytes:
        """See Codec. Raises UnencodableTurn for more calls than the server gives at once."""
        self._expect_calls(turn)
        return whole_of(self._own.response(turn, model=model, n=n, payload=payload), self._speech.answers)

    def stream(self, turn: ModelTurn, *, model: str, n: int, payload: JsonObject | None = None) -> list[bytes]:
        """See Codec. Raises UnencodableTurn for more calls than the server gives at once."""
        self._expect_calls(turn)
        return chunks_of(self._own.stream(turn, model=model, n=n, payload=payload), self._speech.answers)

    def said(self, turn: ModelTurn) -> ModelTurn:
        """The turn as this server gives it: without the ids and the usage that it does not send."""
        ways = self._speech.answers
        if ways.call_ids in ("absent", "empty"):
            parts = tuple(
                replace(part, call_id="") if isinstance(part, ToolCall) else part for part in turn.message.content
            )
            turn = replace(turn, message=replace(turn.message, content=parts))
        return replace(turn, usage=NO_USAGE) if ways.usage == "absent" else turn

    def _expect_calls(self, turn: ModelTurn) -> None:
        most = self._speech.answers.calls_at_once
        if most is not None and len(turn.message.calls) > most:
            raise UnencodableTurn(f"{self._name} gives at most {most} calls at once: split the turn")

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
        """See Codec."""
        words: dict[str, JsonValue] = {"message": message, "type": error_type, "param": param, "code": code}
        if self._speech.answers.error_body == "flat":
            return dump({"object": "error"} | words)
        return self._own.error(status, error_type=error_type, message=message, param=param, code=code, n=n)

    def error_event(self, *, error_type: str, message: str, code: str | None = None, sequence: int = 0) -> bytes:
        """See Codec."""
        return self._own.error_event(error_type=error_type, message=message, code=code, sequence=sequence)

    def headers(self, n: int, status: int = 200) -> dict[str, str]:
        """See Codec."""
        return self._own.headers(n, status)
