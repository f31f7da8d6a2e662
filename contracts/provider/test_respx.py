"""Errors and retries at the level of HTTP, through the real SDK clients, with respx between client and network.

The SDKs speak through httpx2 and httpcore2, which respx does not know: a mocker of our own is aimed there. Its answers
are respx's own `httpx.Response`s; exceptions must be httpcore2's, which is what a socket would give. A mock that
nothing passes through proves nothing, so that every test asserts the calls of its route.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import httpcore2
import httpx
import httpx2
import pytest
import respx
from respx.mocks import HTTPCoreMocker

from harness.contract.sample_requests import ORDINARY
from harness.contract.sample_turns import TURNS
from harness.contract.wire_facts import STATUS_KINDS, own_secret
from harness.loop.drive import run
from harness.loop.memory_store import MemoryStore
from harness.loop.ports import AsyncPorts, Ports
from harness.loop.task import Task
from harness.transports.client import ModelClient
from harness.transports.registry import TRANSPORT_IDS
from harness.vocabulary.content import ToolCall
from harness.vocabulary.outcome import ErrorClass, Reason, RunOutcome, Status
from harness.vocabulary.settings import RunLimits, RunSettings
from harness.vocabulary.stream import StreamEvent, StreamFailed, TurnEnded
from harness.vocabulary.tools import OutcomeClass, ToolOutcome
from harness.vocabulary.turn import FaultKind
from harness.wire.registry import codec

HOST = "https://provider.test"
BASES = {"anthropic-messages": HOST}
SSE = {"content-type": "text/event-stream"}
JSON = {"content-type": "application/json"}
TYPES = {429: "rate_limit_error", 529: "overloaded_error", 500: "server_error", 400: "invalid_request_error"}


class _HttpCore2Mocker(HTTPCoreMocker):
    """respx, one layer below httpx2."""

    name = "run-loop-harness-httpcore2"
    targets: ClassVar[list[str]] = [target.replace("httpcore.", "httpcore2.") for target in HTTPCoreMocker.targets]


@pytest.fixture
def router() -> Iterator[respx.MockRouter]:
    """A router that sees every request of the SDKs and lets none through."""
    with respx.mock(using=_HttpCore2Mocker.name, assert_all_called=False) as made:
        yield made


@pytest.fixture(params=TRANSPORT_IDS)
def transport(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[True, False], ids=["stream", "plain"])
def streaming(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def endpoint(router: respx.MockRouter, transport: str) -> respx.Route:
    return router.post(HOST + codec(transport).path)


def client(transport: str, streaming: bool) -> ModelClient:
    return ModelClient(
        transport, base_url=BASES.get(transport, HOST + "/v1"), api_key=own_secret(), stream=streaming, timeout=5.0
    )


def end_of(transport: str, streaming: bool) -> StreamEvent:
    """The terminal event of one attempt."""

    async def attempt() -> StreamEvent:
        model = client(transport, streaming)
        try:
            events = [event async for event in model.attempt(ORDINARY)]
        finally:
            await model.aclose()
        return events[-1]

    return asyncio.run(attempt())


def answer(transport: str, streaming: bool, turn: str = "text") -> httpx.Response:
    wire = codec(transport)
    if streaming:
        body = b"".join(wire.stream(TURNS[turn], model="sim-model", n=1))
        return httpx.Response(200, headers=SSE, content=body)
    return httpx.Response(200, headers=JSON, content=wire.response(TURNS[turn], model="sim-model", n=1))


def refusal(transport: str, status: int, **headers: str) -> httpx.Response:
    body = codec(transport).error(status, error_type=TYPES.get(status, "api_error"), message="It did not work.")
    return httpx.Response(status, headers=JSON | headers, content=body)


class _Body(httpx.AsyncByteStream):
    """A body in chunks that ends with an exception."""

    def __init__(self, chunks: list[bytes], error: Exception) -> None:
        self._chunks, self._error = chunks, error

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk
        raise self._error


def test_an_answer_comes_through_the_mock(router: respx.MockRouter, transport: str, streaming: bool) -> None:
    route = endpoint(router, transport).mock(return_value=answer(transport, streaming))
    end = end_of(transport, streaming)
    assert route.call_count == 1
    assert isinstance(end, TurnEnded)
    sent = json.loads(route.calls.last.request.content)
    assert sent["model"] == "sim-model"
    assert sent.get("stream", False) is streaming


@pytest.mark.parametrize(("status", "kind"), STATUS_KINDS.items())
def test_a_status_has_its_kind_and_is_asked_once(
    router: respx.MockRouter, transport: str, streaming: bool, status: int, kind: FaultKind
) -> None:
    """The SDK's own retries are off: one attempt is one request, whatever the status."""
    route = endpoint(router, transport).mock(return_value=refusal(transport, status))
    end = end_of(transport, streaming)
    assert route.call_count == 1
    assert isinstance(end, StreamFailed)
    assert (end.fault.kind, end.fault.status) == (kind, status)
    assert "It did not work." in end.fault.message


DATES = {"date": "Wed, 02 Dec 2026 09:00:00 GMT", "retry-after": "Wed, 02 Dec 2026 09:00:20 GMT"}
WAITS: tuple[tuple[dict[str, str], float | None], ...] = (
    ({"retry-after": "7"}, 7.0),
    ({"retry-after-ms": "1500"}, 1.5),
    ({"retry-after-ms": "1500", "retry-after": "7"}, 1.5),
    (DATES, 20.0),
    ({"retry-after": "soon"}, None),
    ({}, None),
)


@pytest.mark.parametrize(("headers", "seconds"), WAITS)
def test_the_wait_that_was_asked_for_arrives(
    router: respx.MockRouter, transport: str, headers: dict[str, str], seconds: float | None
) -> None:
    route = endpoint(router, transport).mock(return_value=refusal(transport, 429, **headers))
    end = end_of(transport, True)
    assert route.call_count == 1
    assert isinstance(end, StreamFailed)
    assert end.fault.retry_after == seconds


BROKEN = (httpcore2.ConnectError("refused"), httpcore2.ConnectTimeout("slow"), httpcore2.ReadTimeout("silent"))


@pytest.mark.parametrize("error", BROKEN, ids=lambda error: type(error).__name__)
def test_no_answer_is_transient(router: respx.MockRouter, transport: str, streaming: bool, error: Exception) -> None:
    route = endpoint(router, transport).mock(side_effect=error)
    end = end_of(transport, streaming)
    assert route.call_count == 1
    assert isinstance(end, StreamFailed)
    assert (end.fault.kind, end.fault.status) == (FaultKind.TRANSIENT, None)
    assert not end.fault.stream_had_output


def test_a_connection_lost_in_a_stream_is_transient_and_says_what_was_seen(
    router: respx.MockRouter, transport: str
) -> None:
    chunks = codec(transport).stream(TURNS["text"], model="sim-model", n=1)
    for kept, seen in ((1, False), (len(chunks) - 3, True)):
        body = _Body(chunks[:kept], httpx2.RemoteProtocolError("peer closed connection"))
        route = endpoint(router, transport).mock(return_value=httpx.Response(200, headers=SSE, stream=body))
        before = route.call_count
        end = end_of(transport, True)
        assert route.call_count == before + 1
        assert isinstance(end, StreamFailed)
        assert (end.fault.kind, end.fault.stream_had_output) == (FaultKind.TRANSIENT, seen)


def test_a_connection_lost_in_a_plain_answer_is_transient(router: respx.MockRouter, transport: str) -> None:
    whole = codec(transport).response(TURNS["text"], model="sim-model", n=1)
    body = _Body([whole[:20]], httpx2.RemoteProtocolError("peer closed connection"))
    route = endpoint(router, transport).mock(return_value=httpx.Response(200, headers=JSON, stream=body))
    end = end_of(transport, False)
    assert route.call_count == 1
    assert isinstance(end, StreamFailed)
    assert (end.fault.kind, end.fault.stream_had_output) == (FaultKind.TRANSIENT, False)


def test_a_stream_that_ends_early_and_clean_is_a_protocol_error(router: respx.MockRouter, transport: str) -> None:
    chunks = codec(transport).stream(TURNS["text"], model="sim-model", n=1)
    short = httpx.Response(200, headers=SSE, content=b"".join(chunks[:-3]))
    route = endpoint(router, transport).mock(return_value=short)
    end = end_of(transport, True)
    assert route.call_count == 1
    assert isinstance(end, StreamFailed)
    assert end.fault.kind is FaultKind.PROTOCOL


def test_the_key_is_sent_and_never_told(router: respx.MockRouter, transport: str, streaming: bool) -> None:
    echo = codec(transport).error(401, error_type="authentication_error", message=f"Bad key {own_secret()}.")
    route = endpoint(router, transport).mock(return_value=httpx.Response(401, headers=JSON, content=echo))
    end = end_of(transport, streaming)
    assert route.call_count == 1
    assert own_secret() in str(dict(route.calls.last.request.headers))
    assert isinstance(end, StreamFailed)
    assert "Bad key" in end.fault.message
    assert own_secret() not in end.fault.message


# The loop owns retries


@dataclass
class _NoTools:
    async def run(self, call: ToolCall, key: str) -> ToolOutcome:
        return ToolOutcome(outcome=OutcomeClass.EMPTY)


@dataclass
class _Driven:
    """A run of the reference loop over the SDK client. Waits are noted, not waited for."""

    transport: str
    streaming: bool
    waits: list[float] = field(default_factory=list)

    def outcome(self, limits: RunLimits | None = None) -> RunOutcome:
        task = Task(
            run_id="r",
            system="Be exact.",
            user="Go.",
            tools=(),
            limits=limits or RunLimits(max_steps=4, max_model_calls=6, max_tool_calls=2),
            settings=RunSettings(),
        )
        return asyncio.run(self._run(task))

    async def _run(self, task: Task) -> RunOutcome:
        model = client(self.transport, self.streaming)
        ports: AsyncPorts = Ports(
            model=model,
            tools=_NoTools(),
            store=MemoryStore(),
            now=lambda: 0.0,
            wait=self._waited,
            observe=lambda record: None,
        )
        try:
            return await run(task, ports)
        finally:
            await model.aclose()

    def _waited(self, seconds: float) -> Coroutine[Any, Any, None]:
        self.waits.append(seconds)
        return _at_once()


async def _at_once() -> None:
    return None


Made = Callable[[str, bool], list[Any]]
RECOVERED: dict[str, tuple[Made, int]] = {
    "rate-limit": (lambda transport, streaming: [refusal(transport, 429)], 1),
    "overloaded-twice": (lambda transport, streaming: [refusal(transport, 529)] * 2, 2),
    "no-connection": (lambda transport, streaming: [httpcore2.ConnectError("refused")], 1),
    "server-error": (lambda transport, streaming: [refusal(transport, 500)], 1),
}


@pytest.mark.parametrize("case", RECOVERED)
def test_a_transient_failure_is_retried_by_the_loop(
    router: respx.MockRouter, transport: str, streaming: bool, case: str
) -> None:
    made, failures = RECOVERED[case]
    route = endpoint(router, transport).mock(side_effect=[*made(transport, streaming), answer(transport, streaming)])
    driven = _Driven(transport, streaming)
    outcome = driven.outcome()
    assert outcome.status is Status.COMPLETED
    assert route.call_count == failures + 1 == outcome.counters.model_calls
    assert len(driven.waits) == failures
    bodies = {call.request.content for call in route.calls}
    assert len(bodies) == 1, "a retry sends the same bytes"


def test_the_loop_waits_as_long_as_it_was_asked(router: respx.MockRouter, transport: str) -> None:
    route = endpoint(router, transport).mock(
        side_effect=[refusal(transport, 429, **{"retry-after": "11"}), answer(transport, True)]
    )
    driven = _Driven(transport, True)
    assert driven.outcome().status is Status.COMPLETED
    assert route.call_count == 2
    assert driven.waits == [11.0]


def test_three_attempts_are_all(router: respx.MockRouter, transport: str, streaming: bool) -> None:
    route = endpoint(router, transport).mock(return_value=refusal(transport, 503))
    outcome = _Driven(transport, streaming).outcome()
    assert route.call_count == 3
    assert (outcome.status, outcome.reason) == (Status.FAILED, Reason.MAX_ATTEMPTS_EXCEEDED)
    assert outcome.error_class == ErrorClass.MODEL_TRANSIENT_ERROR


def test_a_permanent_failure_is_not_retried(router: respx.MockRouter, transport: str, streaming: bool) -> None:
    route = endpoint(router, transport).mock(return_value=refusal(transport, 400))
    outcome = _Driven(transport, streaming).outcome()
    assert route.call_count == 1
    assert (outcome.status, outcome.error_class) == (Status.FAILED, ErrorClass.MODEL_PERMANENT_ERROR)


def test_a_failure_after_visible_text_is_not_retried(router: respx.MockRouter, transport: str) -> None:
    chunks = codec(transport).stream(TURNS["text"], model="sim-model", n=1)
    body = _Body(chunks[:-3], httpx2.ReadError("reset"))
    route = endpoint(router, transport).mock(return_value=httpx.Response(200, headers=SSE, stream=body))
    outcome = _Driven(transport, True).outcome()
    assert route.call_count == 1
    assert outcome.status is Status.FAILED
    assert outcome.details["stream_had_output"] is True
