"""The client over an own transport: rendered bytes on the wire, every failure an event, nothing of the surroundings."""

import asyncio
import json
import os
import ssl
from collections.abc import AsyncIterator, Sequence
from typing import Any

import httpx2
import pytest

from harness.transports.client import ModelClient
from harness.transports.registry import TRANSPORT_IDS, adapter
from harness.vocabulary.content import Text, UserMessage
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.stream import StreamEvent, StreamFailed, TextDelta, TurnEnded
from harness.vocabulary.turn import FaultKind, ModelFault

REQUEST = ModelRequest(model="m", system="Be exact.", tools=(), items=(UserMessage((Text("Go é."),)),))
URLS = {"anthropic-messages": "https://provider.test"}
PATHS = {
    "openai-responses": "/v1/responses",
    "openai-chat": "/v1/chat/completions",
    "anthropic-messages": "/v1/messages",
    "xml-fallback": "/v1/chat/completions",
}
CHAT = [{"choices": [{"delta": {"content": "Hi"}}]}, {"choices": [{"delta": {}, "finish_reason": "stop"}]}]
STREAMS: dict[str, list[Any]] = {
    "openai-chat": CHAT,
    "xml-fallback": CHAT,
    "anthropic-messages": [
        {"type": "message_start", "message": {}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    ],
    "openai-responses": [
        {"type": "response.output_text.delta", "output_index": 0, "delta": "Hi"},
        {"type": "response.completed", "response": {"output": []}},
    ],
}
CHOICE = {"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}
PLAIN: dict[str, Any] = {
    "openai-chat": CHOICE,
    "xml-fallback": CHOICE,
    "anthropic-messages": {"content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn"},
    "openai-responses": {"output": [{"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}]},
}


def framed(transport: str) -> bytes:
    return b"".join(f"data: {json.dumps(event)}\n\n".encode() for event in STREAMS[transport]) + b"data: [DONE]\n\n"


class Chunks(httpx2.AsyncByteStream):
    """A body in given chunks, broken off by an exception where one is given."""

    def __init__(self, chunks: Sequence[bytes], error: Exception | None = None) -> None:
        self.chunks, self.error = chunks, error
        self.given, self.closed = 0, False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self.chunks:
            self.given += 1
            yield chunk
        if self.error is not None:
            raise self.error

    async def aclose(self) -> None:
        self.closed = True


class Provider(httpx2.AsyncBaseTransport):
    """Answers every request alike and keeps what it was asked."""

    def __init__(self, answer: httpx2.Response | Exception) -> None:
        self.answer = answer
        self.requests: list[httpx2.Request] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await request.aread()
        self.requests.append(request)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def answered(body: Chunks, *, status: int = 200, kind: str | None = "text/event-stream") -> Provider:
    return Provider(httpx2.Response(status, headers={} if kind is None else {"content-type": kind}, stream=body))


def attempt(transport: str, provider: Provider, *, stream: bool, **settings: Any) -> list[StreamEvent]:
    async def events() -> list[StreamEvent]:
        base_url = URLS.get(transport, "https://provider.test/v1")
        client = ModelClient(transport, base_url=base_url, stream=stream, http_transport=provider, **settings)
        try:
            return [event async for event in client.attempt(REQUEST)]
        finally:
            await client.aclose()

    return asyncio.run(events())


def fault(events: list[StreamEvent]) -> ModelFault:
    last = events[-1]
    assert isinstance(last, StreamFailed)
    assert [event.sequence for event in events] == list(range(len(events)))
    return last.fault


@pytest.mark.parametrize("transport", TRANSPORT_IDS)
def test_the_rendered_bytes_are_the_bytes_on_the_wire(transport: str) -> None:
    for stream in (False, True):
        provider = answered(Chunks([framed(transport) if stream else json.dumps(PLAIN[transport]).encode()]))
        attempt(transport, provider, stream=stream, api_key="a-key")
        (request,) = provider.requests
        assert request.content == adapter(transport).render(REQUEST, stream=stream)
        assert (request.method, request.url.path) == ("POST", PATHS[transport])
        assert request.headers["authorization"] == "Bearer a-key"
        assert request.headers["content-type"] == "application/json"


@pytest.mark.parametrize("transport", TRANSPORT_IDS)
def test_a_plain_answer_is_one_terminal_event(transport: str) -> None:
    provider = answered(Chunks([json.dumps(PLAIN[transport]).encode()]), kind="application/json")
    (ended,) = attempt(transport, provider, stream=False)
    assert isinstance(ended, TurnEnded) and ended.sequence == 0
    assert ended.turn.message.content == (Text("Hi"),)


@pytest.mark.parametrize("transport", TRANSPORT_IDS)
def test_a_stream_is_read_to_its_end_and_closed(transport: str) -> None:
    body = Chunks([*(bytes([byte]) for byte in framed(transport)), b": bye\n\n"])
    events = attempt(transport, answered(body), stream=True)
    assert [type(event) for event in events] == [TextDelta, TurnEnded]
    assert body.given == len(body.chunks) and body.closed


def test_events_come_as_their_chunks_do_and_closing_early_closes_the_connection() -> None:
    whole = framed("openai-chat")
    cut = whole.index(b"\n\n") + 2
    body = Chunks([whole[:cut], whole[cut:]])

    async def one() -> int:
        client = ModelClient("openai-chat", base_url="https://p.test", stream=True, http_transport=answered(body))
        events = client.attempt(REQUEST)
        assert isinstance(await anext(events), TextDelta)
        given = body.given
        await events.aclose()  # type: ignore[attr-defined]
        assert body.closed
        await client.aclose()
        return given

    assert asyncio.run(one()) == 1
    assert body.given == 1


FAILURES = [
    (httpx2.ConnectError("refused"), FaultKind.TRANSIENT, "ConnectError: refused"),
    (httpx2.ConnectTimeout("slow"), FaultKind.TRANSIENT, "ConnectTimeout: slow"),
    (httpx2.ReadTimeout("slow"), FaultKind.TRANSIENT, "ReadTimeout: slow"),
    (httpx2.ReadError(""), FaultKind.TRANSIENT, "ReadError"),
    (httpx2.RemoteProtocolError("closed"), FaultKind.TRANSIENT, "RemoteProtocolError: closed"),
    (ConnectionRefusedError("denied"), FaultKind.TRANSIENT, "ConnectionRefusedError: denied"),
    (httpx2.UnsupportedProtocol("ftp"), FaultKind.PERMANENT, "UnsupportedProtocol: ftp"),
    (ssl.SSLCertVerificationError("bad"), FaultKind.PERMANENT, "SSLCertVerificationError"),
]
BREAKS = [httpx2.ReadError("reset"), httpx2.ReadTimeout("stall"), httpx2.RemoteProtocolError("cut")]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("transport", TRANSPORT_IDS)
@pytest.mark.parametrize(("error", "kind", "words"), FAILURES)
def test_a_connection_that_fails_before_the_headers_is_a_fault(
    transport: str, stream: bool, error: Exception, kind: FaultKind, words: str
) -> None:
    provider = Provider(error)
    found = fault(attempt(transport, provider, stream=stream))
    assert found.kind is kind and words in found.message and found.status is None
    assert len(provider.requests) == 1


@pytest.mark.parametrize("transport", TRANSPORT_IDS)
@pytest.mark.parametrize("error", BREAKS)
def test_a_body_that_breaks_off_is_transient_and_says_whether_output_was_seen(transport: str, error: Exception) -> None:
    body = framed(transport)
    begun = body[: body.index(b"\n\n", body.index(b"Hi")) + 2]
    early = fault(attempt(transport, answered(Chunks([b": hi\n\n"], error)), stream=True))
    late = fault(attempt(transport, answered(Chunks([begun], error)), stream=True))
    assert early.kind is late.kind is FaultKind.TRANSIENT
    assert (early.stream_had_output, late.stream_had_output) == (False, True)
    plain = fault(attempt(transport, answered(Chunks([b'{"'], error), kind="application/json"), stream=False))
    assert plain.kind is FaultKind.TRANSIENT


@pytest.mark.parametrize("transport", TRANSPORT_IDS)
def test_a_body_that_ends_early_and_cleanly_is_a_protocol_error(transport: str) -> None:
    assert fault(attempt(transport, answered(Chunks([framed(transport)[:60]])), stream=True)).kind is FaultKind.PROTOCOL


@pytest.mark.parametrize("transport", TRANSPORT_IDS)
def test_a_wrong_content_type_is_a_protocol_error_and_a_missing_one_is_borne(transport: str) -> None:
    html = fault(attempt(transport, answered(Chunks([b"<html>"]), kind="text/html; charset=utf-8"), stream=True))
    assert html.kind is FaultKind.PROTOCOL and "text/html" in html.message
    bare = attempt(transport, answered(Chunks([framed(transport)]), kind=None), stream=True)
    assert isinstance(bare[-1], TurnEnded)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("transport", TRANSPORT_IDS)
@pytest.mark.parametrize("status", [307, 400, 408, 413, 429, 500, 529])
def test_an_error_status_is_one_request_and_one_fault(transport: str, stream: bool, status: int) -> None:
    body = Chunks([b'{"error":{"message":"said a-secret-key","type":"t"}}'])
    provider = answered(body, status=status, kind="application/json")
    provider.answer.headers["retry-after"] = "3"  # type: ignore[union-attr]
    found = fault(attempt(transport, provider, stream=stream, api_key="a-secret-key"))
    assert found.message == "said [redacted]"
    assert (found.status, found.code, found.retry_after) == (status, "t", 3.0)
    assert found.kind is (FaultKind.TRANSIENT if status in (408, 429, 500, 529) else FaultKind.PERMANENT)
    assert len(provider.requests) == 1


@pytest.mark.parametrize("transport", TRANSPORT_IDS)
def test_a_defect_of_a_transport_is_no_fault_of_the_provider(transport: str) -> None:
    with pytest.raises(Exception) as caught:
        attempt(transport, Provider(AssertionError("defect")), stream=False)
    assert isinstance(caught.value, AssertionError) or isinstance(caught.value.__cause__, AssertionError)


@pytest.mark.parametrize("transport", TRANSPORT_IDS)
def test_nothing_of_the_surroundings_reaches_the_wire(transport: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for company in ("OPENAI", "ANTHROPIC"):
        for name in ("BASE_URL", "API_KEY", "AUTH_TOKEN", "ORG_ID", "PROJECT_ID", "PROFILE"):
            monkeypatch.setenv(f"{company}_{name}", "https://ambient.test")
        monkeypatch.setenv(f"{company}_CUSTOM_HEADERS", "x-ambient: ambient")
    monkeypatch.setenv("HTTPS_PROXY", "http://ambient.test:1")
    provider = answered(Chunks([framed(transport)]))
    assert isinstance(attempt(transport, provider, stream=True)[-1], TurnEnded)
    (request,) = provider.requests
    assert request.url.host == "provider.test"
    assert "ambient" not in repr(list(request.headers.raw))
    assert os.environ["OPENAI_BASE_URL"] == os.environ["ANTHROPIC_BASE_URL"] == "https://ambient.test"
