"""The Responses codec: decoder, oracle and encoder under one name."""

from harness.vocabulary.content import JsonObject
from harness.vocabulary.trace import Violation
from harness.vocabulary.turn import ModelTurn
from harness.wire import openai_errors
from harness.wire.codec import UNKNOWN, Circumstances, Decoded, UndecodableRequest
from harness.wire.events import event
from harness.wire.openai_responses import encode, stream
from harness.wire.openai_responses.decode import decode
from harness.wire.openai_responses.oracle import RULES, advise, judge
from harness.wire.openai_responses.view import View


class ResponsesCodec:
    """POST /v1/responses."""

    id = "openai-responses"
    path = "/v1/responses"
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
        return openai_errors.misshapen(self.id, fault)

    def response(self, turn: ModelTurn, *, model: str, n: int, payload: JsonObject | None = None) -> bytes:
        """See Codec."""
        return encode.response(turn, model=model, n=n, payload=payload)

    def stream(self, turn: ModelTurn, *, model: str, n: int, payload: JsonObject | None = None) -> list[bytes]:
        """See Codec."""
        return stream.stream(turn, model=model, n=n, payload=payload)

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
        return openai_errors.body(error_type, message, param, code)

    def error_event(self, *, error_type: str, message: str, code: str | None = None, sequence: int = 0) -> bytes:
        """See Codec. The error is nested, as recorded; the published document shows it flat."""
        error = openai_errors.inner(error_type, message, None, code)
        return event({"type": "error", "sequence_number": sequence, "error": error}, "error")

    def headers(self, n: int, status: int = 200) -> dict[str, str]:
        """See Codec."""
        return openai_errors.headers(n)
