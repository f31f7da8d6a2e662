"""What an error answer, an error inside a stream and a Retry-After mean (loop.model.transient-only)."""

import json
from typing import Any

import pytest

from harness.transports.errors import model_error
from harness.transports.registry import TRANSPORT_IDS, adapter
from harness.vocabulary.content import Text, UserMessage
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.stream import StreamFailed
from harness.vocabulary.turn import (
    FaultKind,
    ModelError,
    ModelFault,
    ModelPermanentError,
    ModelProtocolError,
    ModelTransientError,
)

REQUEST = ModelRequest(model="m", system="", tools=(), items=(UserMessage((Text("Go."),)),))


def body(message: str, **more: Any) -> bytes:
    return json.dumps({"error": {"message": message, **more}}).encode()


def fault(status: int, content: bytes, headers: dict[str, str] | None = None) -> ModelFault:
    return adapter("openai-chat").parse_error(status, headers or {}, content)


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_transient_statuses(status: int) -> None:
    assert fault(status, body("later")).kind is FaultKind.TRANSIENT


@pytest.mark.parametrize("status", [302, 400, 401, 402, 403, 404, 413, 422, 431])
def test_other_statuses_are_permanent(status: int) -> None:
    assert fault(status, body("no")).kind is FaultKind.PERMANENT


@pytest.mark.parametrize(
    "content",
    [
        body("too long", code="context_length_exceeded"),
        body("This model's maximum context length is 8192 tokens."),
        body("Your input exceeds the context window of this model."),
        body("prompt is too long: 250000 tokens > 200000 maximum"),
        b'{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 3 > 2"}}',
    ],
)
def test_a_context_that_is_too_long_has_its_own_kind(content: bytes) -> None:
    assert fault(400, content).kind is FaultKind.CONTEXT_LENGTH


@pytest.mark.parametrize(
    "content", [body("Tool choice is none, but model called a tool"), body("failed", code="tool_use_failed")]
)
def test_a_call_rejected_under_tool_choice_none_has_its_own_kind(content: bytes) -> None:
    assert fault(400, content).kind is FaultKind.CALL_REJECTED


@pytest.mark.parametrize(
    ("content", "message", "code"),
    [
        (body("no", code="c", type="t"), "no", "c"),
        (body("no", code=None, type="t"), "no", "t"),
        (body("no", code=404), "no", "404"),
        (
            b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
            "Overloaded",
            "overloaded_error",
        ),
        (b'{"error":"no"}', "no", None),
        (b'{"detail":"no"}', "no", None),
        (b'{"message":"no"}', "no", None),
        (b'[{"error":{"message":"no"}}]', "no", None),
        (b"<html>Bad gateway</html>", "HTTP 500 without a readable error message", None),
        (b"", "HTTP 500 without a readable error message", None),
        (b'{"error":{"message":7,"code":[]}}', "HTTP 500 without a readable error message", None),
        (b"[" * 9000, "HTTP 500 without a readable error message", None),
    ],
)
def test_a_message_is_found_in_every_known_wrapping(content: bytes, message: str, code: str | None) -> None:
    found = fault(500, content)
    assert (found.message, found.code, found.status) == (message, code, 500)


def test_a_message_is_redacted_and_short() -> None:
    found = fault(401, body("Incorrect API key provided: sk-proj-abcdefghijklmnop1234. " + "x" * 900))
    assert "sk-proj" not in found.message and len(found.message) == 300


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7.0),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Mon, 30 Nov 2026 10:00:30 GMT", "Date": "Mon, 30 Nov 2026 10:00:00 GMT"}, 30.0),
        ({"retry-after": "Mon, 30 Nov 2026 09:00:00 GMT", "date": "Mon, 30 Nov 2026 10:00:00 GMT"}, 0.0),
        ({"retry-after": "Sun, 06 Nov 1994 08:49:37 GMT"}, 0.0),
    ],
)
def test_retry_after_is_seconds(headers: dict[str, str], seconds: float | None) -> None:
    assert fault(429, body("later"), headers).retry_after == seconds


STREAMED = [
    ("anthropic-messages", {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}, "TRANSIENT"),
    ("anthropic-messages", {"type": "error", "error": {"type": "api_error", "message": "busy"}}, "TRANSIENT"),
    ("anthropic-messages", {"type": "error", "error": {"type": "invalid_request_error", "message": "no"}}, "PERMANENT"),
    ("openai-chat", {"error": {"type": "server_error", "message": "busy"}}, "TRANSIENT"),
    ("openai-chat", {"error": {"code": 502, "message": "busy"}, "choices": []}, "TRANSIENT"),
    ("openai-chat", {"error": {"code": 400, "message": "no"}}, "PERMANENT"),
    ("openai-chat", {"error": {"code": "tool_use_failed", "message": "no"}}, "CALL_REJECTED"),
    ("xml-fallback", {"error": {"code": "context_length_exceeded", "message": "no"}}, "CONTEXT_LENGTH"),
    (
        "openai-responses",
        {"type": "error", "code": "rate_limit_exceeded", "message": "busy", "param": None},
        "TRANSIENT",
    ),
    ("openai-responses", {"type": "error", "error": {"code": "server_error", "message": "busy"}}, "TRANSIENT"),
    ("openai-responses", {"type": "error", "code": "insufficient_quota", "message": "no"}, "PERMANENT"),
    (
        "openai-responses",
        {"type": "response.failed", "response": {"error": {"code": "server_error", "message": "busy"}}},
        "TRANSIENT",
    ),
    (
        "openai-responses",
        {"type": "response.failed", "response": {"error": {"code": "invalid_prompt", "message": "no"}}},
        "PERMANENT",
    ),
]


@pytest.mark.parametrize(("transport", "event", "kind"), STREAMED)
def test_an_error_inside_a_stream_ends_it(transport: str, event: dict[str, Any], kind: str) -> None:
    parser = adapter(transport).stream_parser(REQUEST)
    (failed,) = parser.feed(f"data: {json.dumps(event)}\n\n".encode())
    assert isinstance(failed, StreamFailed)
    assert failed.fault.kind is FaultKind[kind] and failed.fault.message in ("busy", "no")
    assert parser.feed(b"data: {}\n\n") == [] and parser.close() == []


def test_a_failed_response_keeps_its_usage() -> None:
    usage = {"input_tokens": 3, "output_tokens": 1}
    event = {"type": "response.failed", "response": {"error": None, "usage": usage}}
    (failed,) = adapter("openai-responses").stream_parser(REQUEST).feed(f"data: {json.dumps(event)}\n\n".encode())
    assert isinstance(failed, StreamFailed) and failed.fault.usage.input_tokens == 3


@pytest.mark.parametrize("transport", TRANSPORT_IDS)
def test_an_error_object_in_a_2xx_answer_is_a_fault(transport: str) -> None:
    with pytest.raises(ModelTransientError, match="busy"):
        adapter(transport).parse_response(body("busy", type="overloaded_error"), REQUEST)


@pytest.mark.parametrize("status", ["queued", "in_progress", "cancelled", "new"])
def test_a_response_that_is_not_finished_is_a_protocol_error(status: str) -> None:
    with pytest.raises(ModelProtocolError, match=status):
        adapter("openai-responses").parse_response(json.dumps({"status": status, "output": []}).encode(), REQUEST)


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        (FaultKind.TRANSIENT, ModelTransientError),
        (FaultKind.PERMANENT, ModelPermanentError),
        (FaultKind.CONTEXT_LENGTH, ModelPermanentError),
        (FaultKind.CALL_REJECTED, ModelPermanentError),
        (FaultKind.PROTOCOL, ModelProtocolError),
    ],
)
def test_each_kind_travels_as_its_exception(kind: FaultKind, error: type[ModelError]) -> None:
    raised = model_error(ModelFault(kind=kind, message="m"))
    assert type(raised) is error and raised.fault.kind is kind and str(raised) == "m"
