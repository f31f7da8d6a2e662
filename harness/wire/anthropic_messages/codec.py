"""The Messages codec: decoder, oracle and encoder under one name."""

from harness.vocabulary.content import JsonObject
from harness.vocabulary.trace import Violation
from harness.vocabulary.turn import ModelTurn
from harness.wire.anthropic_messages import encode, errors, stream
from harness.wire.anthropic_messages.decode import decode
from harness.wire.anthropic_messages.oracle import RULES, advise, judge
from harness.wire.anthropic_messages.view import View
from harness.wire.codec import UNKNOWN, Circumstances, Decoded, UndecodableRequest
from harness.wire.events import event


class AnthropicCodec:
    """POST /v1/messages."""

    id = "anthropic-messages"
    path = "/v1/messages"
    rules = RULES

    def decode(self, body: bytes) -> Decoded:
        """See Codec."""
        return decode(body)

    def judge(self, payload: JsonObject, circumstances: Circumstances = UNKNOWN) -> list[Violation]:
        """See Codec."""
        return judge(payload, circumstances)

    def advice(self, payload: JsonObject, circumstances: Circumstances = UNKNOWN) -> list[Violation]:
        """See Codec."""
        return advise(payload, circumstances)

    def view(self, payload: JsonObject, circumstances: Circumstances = UNKNOWN) -> View:
        """See Codec."""
        return View(payload, circumstances)

    def misshapen(self, fault: UndecodableRequest) -> Violation:
        """See Codec."""
        return errors.misshapen(self.id, fault)

    def response(self, turn: ModelTurn, *, model: str, n: int, payload: JsonObject | None = None) -> bytes:
        """See Codec."""
        return encode.response(turn, model=model, n=n)

    def stream(self, turn: ModelTurn, *, model: str, n: int, payload: JsonObject | None = None) -> list[bytes]:
        """See Codec."""
        return stream.stream(turn, model=model, n=n)

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
        """See Codec. This wire has no `param`; a code stands in `details`."""
        return errors.body(error_type, message, code, n)

    def error_event(self, *, error_type: str, message: str, code: str | None = None, sequence: int = 0) -> bytes:
        """See Codec."""
        return event({"type": "error", "error": errors.inner(error_type, message, code)}, "error")

    def headers(self, n: int, status: int = 200) -> dict[str, str]:
        """See Codec."""
        return errors.headers(n, status)
