"""The stand on which the simulated provider is tried: its script, its records, and SDK clients that reach it in memory
or on a socket. Clients validate answers strictly: an answer that the SDK's own types do not take fails a test.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from harness.provider.loopback import LoopbackServer
from harness.provider.memory import InMemoryTransport
from harness.provider.replies import Reply
from harness.provider.simulated import SimulatedProvider
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.trace import Record, ReplySent, RequestSent
from harness.vocabulary.turn import ModelFault, ModelTurn

Use = Callable[[Any], Awaitable[Any]]


class Script:
    """Answers in order."""

    def __init__(self, *replies: Reply) -> None:
        self.left = list(replies)
        self.asked: list[ModelRequest] = []

    def reply(self, n: int, request: ModelRequest) -> Reply:
        self.asked.append(request)
        return self.left.pop(0)


class Stand:
    """A provider with its script and its records."""

    def __init__(self, transport: str, *replies: Reply) -> None:
        self.script = Script(*replies)
        self.records: list[Record] = []
        self.provider = SimulatedProvider(transport, self.script, self.records.append, lambda: 12.5)

    @property
    def sent(self) -> list[RequestSent]:
        return [record for record in self.records if isinstance(record, RequestSent)]

    @property
    def replies(self) -> list[ModelTurn | ModelFault]:
        return [record.reply for record in self.records if isinstance(record, ReplySent)]

    def ask(self, use: Use, depth: str = "memory") -> Any:
        """What `use` makes, with an SDK client, of the provider's answer."""

        async def run() -> Any:
            async with http(self, depth) as (url, client):
                options: dict[str, Any] = {"http_client": client, "max_retries": 0, "_strict_response_validation": True}
                if self.provider.codec.id == "anthropic-messages":
                    return await use(anthropic.AsyncAnthropic(base_url=url, api_key="test-key", **options))
                return await use(openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="test-key", **options))

        return asyncio.run(run())


@asynccontextmanager
async def http(stand: Stand, depth: str) -> AsyncIterator[tuple[str, httpx2.AsyncClient]]:
    """A base address and a client for it."""
    if depth == "memory":
        async with httpx2.AsyncClient(transport=InMemoryTransport(stand.provider)) as client:
            yield "http://sim.invalid", client
        return
    with LoopbackServer(stand.provider) as server:
        async with httpx2.AsyncClient(trust_env=False) as client:
            yield server.url, client


@pytest.fixture
def stand() -> type[Stand]:
    """`stand(transport, *replies)` sets one up."""
    return Stand
