"""The simulated provider behind an httpx2 transport: no socket, chunk borders kept, breaks where the script wants them.

It is a transport of our own, since recorders of HTTP traffic patch the mock transport of the library.
"""

from collections.abc import AsyncIterator

import httpx2

from harness.provider.replies import Answer
from harness.provider.simulated import SimulatedProvider


class InMemoryTransport(httpx2.AsyncBaseTransport):
    """Give it to an SDK as `http_client=httpx2.AsyncClient(transport=…)`."""

    def __init__(self, provider: SimulatedProvider) -> None:
        self._provider = provider

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer one request. Raises the library's own errors where the script gives no answer."""
        body = await request.aread()
        path = request.url.raw_path.decode()
        answer = self._provider.answer(request.method, path, dict(request.headers), body)
        if answer.status == 0:
            raise _unanswered(answer, request)
        stream = _Body(answer, request)
        return httpx2.Response(answer.status, headers=dict(answer.headers), stream=stream, request=request)


class _Body(httpx2.AsyncByteStream):
    """The chunks, one at a time, then the end that the answer has."""

    def __init__(self, answer: Answer, request: httpx2.Request) -> None:
        self._answer = answer
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._answer.chunks:
            yield chunk
        if self._answer.end == "reset":
            raise httpx2.ReadError("connection reset by peer", request=self._request)
        if self._answer.end == "stall":
            raise httpx2.ReadTimeout("the provider went silent", request=self._request)


def _unanswered(answer: Answer, request: httpx2.Request) -> httpx2.TransportError:
    """The library's error for a connection that gives no answer."""
    if answer.end == "refused":
        return httpx2.ConnectError("connection refused", request=request)
    if answer.end == "timeout":
        return httpx2.ReadTimeout("no answer in time", request=request)
    return httpx2.ReadError("connection reset by peer", request=request)
