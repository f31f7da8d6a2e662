"""The Chat Completions codec: decoder, oracle and encoder under one name."""

from collections.abc import Sequence
from typing import Any

from harness.vocabulary.content import JsonObject
from harness.vocabulary.trace import Violation
from harness.vocabulary.turn import ModelTurn
from harness.wire import openai_errors
from harness.wire.codec import UNKNOWN, Circumstances, Decoded, UndecodableRequest
from harness.wire.events import event
from harness.wire.openai_chat import encode
from harness.wire.openai_chat.decode import decode
from harness.wire.openai_chat.oracle import RULES, advise, judge
from harness.wire.openai_chat.view import View
from harness.wire.rules import Rule


class ChatCodec:
    """POST /v1/chat/completions."""

    id = "openai-chat"
    path = "/v1/chat/completions"
    rules: Sequence[Rule[Any]] = RULES

    def decode(self, body: bytes) -> Decoded:
        """See Codec."""
        return decode(body)

    def judge(self, payload: JsonObject, circumstances: Circumstances = UNKNOWN) -> list[Violation]:
        """See Codec. This wire has no circumstances."""
        return judge(payload)

    def advice(self, payload: JsonObject, circumstances: Circumstances = UNKNOWN) -> list[Violation]:
        """See Codec."""
        return advise(payload)

    def view(self, payload: JsonObject, circumstances: Circumstances = UNKNOWN) -> Any:
        """See Codec."""
        return View(payload)

    def misshapen(self, fault: UndecodableRequest) -> Violation:
        """See Codec."""
        return openai_errors.misshapen(self.id, fault)

    def response(self, turn: ModelTurn, *, model: str, n: int, payload: JsonObject | None = None) -> bytes:
        """See Codec."""
        return encode.response(turn, model=model, n=n)

    def stream(self, turn: ModelTurn, *, model: str, n: int, payload: JsonObject | None = None) -> list[bytes]:
        """See Codec."""
        return encode.stream(turn, model=model, n=n, payload=payload)

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
        """See Codec."""
        return event({"error": openai_errors.inner(error_type, message, None, code)})

    def headers(self, n: int, status: int = 200) -> dict[str, str]:
        """See Codec."""
        return openai_errors.headers(n)
