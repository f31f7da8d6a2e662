"""The XML fallback codec: Chat Completions bytes, tools in texts."""

from collections.abc import Sequence
from typing import Any

from harness.vocabulary.content import JsonObject
from harness.vocabulary.trace import Violation
from harness.vocabulary.turn import ModelTurn
from harness.wire import openai_errors
from harness.wire.codec import UNKNOWN, Circumstances, Decoded, UndecodableRequest
from harness.wire.openai_chat.codec import ChatCodec
from harness.wire.rules import Rule
from harness.wire.xml_fallback import encode
from harness.wire.xml_fallback.decode import decode
from harness.wire.xml_fallback.oracle import RULES, View, judge


class XmlCodec(ChatCodec):
    """POST /v1/chat/completions, without its tools."""

    id = "xml-fallback"
    rules: Sequence[Rule[Any]] = RULES

    def decode(self, body: bytes) -> Decoded:
        """See Codec."""
        return decode(body)

    def judge(self, payload: JsonObject, circumstances: Circumstances = UNKNOWN) -> list[Violation]:
        """See Codec. This wire has no circumstances."""
        return judge(payload)

    def view(self, payload: JsonObject, circumstances: Circumstances = UNKNOWN) -> View:
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
