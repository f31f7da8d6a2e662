"""Carries one rendered request to a provider by its official SDK and gives back neutral events.

The SDK's low-level verb sends ready bytes, so the payload on the wire is the payload rendered; its retries are off, as
the loop owns them (loop.model.one-owner). It knows no wire: rendering, parsing and error bodies are the adapter's.
Source: build facts (the SDK verb); wire facts 3 and 4 for what breaks, and how.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from harness.redaction.scrub import message as redacted
from harness.transports.adapter import StreamParser
from harness.transports.errors import protocol_fault
from harness.transports.registry import adapter
from harness.transports.sdk_clients import http_client, sdk_client
from harness.transports.sdk_faults import fault_of_exception
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.stream import StreamEvent, StreamFailed, TurnEnded
from harness.vocabulary.turn import ModelError, ModelFault

if TYPE_CHECKING:
    import httpx2

_HEADERS = {"headers": {"content-type": "application/json"}}
_DRAIN_SECONDS = 0.25
"""How long the end of a body is waited for after its terminal event, so that the connection can be used again."""


class ModelClient:
    """One provider endpoint over one transport. Make it once and use it for any number of attempts.

    `base_url` is what the SDK takes: with `/v1` for OpenAI, without it for Anthropic. `http_transport` None opens real
    sockets. `timeout` is in seconds, for each connect, write, read and wait for a connection.
    """

    def __init__(
        self,
        transport: str,
        *,
        base_url: str,
        api_key: str = "test-key",
        stream: bool,
        http_transport: "httpx2.AsyncBaseTransport | None" = None,
        timeout: float = 60.0,
    ) -> None:
        self._adapter = adapter(transport)
        self._stream = stream
        self._api_key = api_key
        self._http = http_client(http_transport, timeout)
        self._sdk = sdk_client(transport, base_url=base_url, api_key=api_key, timeout=timeout, http=self._http)

    async def attempt(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        """One attempt. A fault of the provider or of the way there is a `StreamFailed`, never an exception; a plain
        answer is the one terminal event, sequence 0. Closing the iterator early closes the connection."""
        body = self._adapter.render(request, stream=self._stream)
        if not self._stream:
            yield await self._plain(request, body)
            return
        async with aclosing(self._streamed(request, body)) as events:
            async for event in events:
                yield event

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def _plain(self, request: ModelRequest, body: bytes) -> StreamEvent:
        try:
            response = await self._post(body, stream=False)
            return TurnEnded(0, self._adapter.parse_response(response.content, request))
        except ModelError as error:
            return StreamFailed(0, self._clean(error.fault))
        except Exception as error:
            return StreamFailed(0, self._fault(error))

    async def _streamed(self, request: ModelRequest, body: bytes) -> AsyncGenerator[StreamEvent, None]:
        try:
            response = await self._post(body, stream=True)
        except Exception as error:
            yield StreamFailed(0, self._fault(error))
            return
        try:
            async for event in self._events(self._adapter.stream_parser(request), response):
                yield event
        finally:
            await response.aclose()

    async def _events(self, parser: StreamParser, response: "httpx2.Response") -> AsyncIterator[StreamEvent]:
        chunks = response.aiter_bytes()
        ended = False
        while not ended:
            for event in await self._next(parser, response, chunks):
                ended = ended or isinstance(event, TurnEnded | StreamFailed)
                yield self._clean_event(event)
        await _drain(chunks)

    async def _next(
        self, parser: StreamParser, response: "httpx2.Response", chunks: AsyncIterator[bytes]
    ) -> list[StreamEvent]:
        """The events of the next chunk, or of the body's end, clean or not."""
        wrong = _wrong_content_type(response)
        if wrong is not None:
            return parser.broken(wrong)
        try:
            return parser.feed(await anext(chunks))
        except StopAsyncIteration:
            return parser.close()
        except Exception as error:
            return parser.broken(self._fault(error))

    async def _post(self, body: bytes, *, stream: bool) -> "httpx2.Response":
        import httpx2

        extra: dict[str, Any] = {"stream": True} if stream else {}
        response: httpx2.Response = await self._sdk.post(
            self._adapter.path, cast_to=httpx2.Response, content=body, options=_HEADERS, **extra
        )
        return response

    def _fault(self, error: Exception) -> ModelFault:
        """The fault that an exception stands for; one that is no provider's doing goes on."""
        fault = fault_of_exception(error, self._adapter)
        if fault is None:
            raise error
        return self._clean(fault)

    def _clean(self, fault: ModelFault) -> ModelFault:
        """The fault without this client's own key, whatever its shape."""
        return replace(fault, message=redacted(fault.message, known=(self._api_key,)))

    def _clean_event(self, event: StreamEvent) -> StreamEvent:
        return replace(event, fault=self._clean(event.fault)) if isinstance(event, StreamFailed) else event


def _wrong_content_type(response: "httpx2.Response") -> ModelFault | None:
    """A fault where a stream was asked for and something else is announced; an answer that announces nothing passes."""
    announced = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if announced in ("", "text/event-stream"):
        return None
    return protocol_fault(f"the answer to a streaming request is {announced}, not text/event-stream")


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    """Read what is left of a body whose turn has ended; nothing that happens there matters any more."""
    with suppress(Exception):
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for _ in chunks:
                pass
