"""Scripted failures reach an SDK client as the real ones do: statuses, cuts, resets, silence, garbage."""

import json
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from harness.provider.replies import ConnectionReply, Cut, RawReply, StatusReply, TurnReply
from harness.vocabulary.content import AssistantMessage, AssistantPart, Text
from harness.vocabulary.trace import ReplySent
from harness.vocabulary.turn import FaultKind, ModelFault, ModelTurn, StopReason
from harness.vocabulary.usage import Usage

USAGE = Usage(input_tokens=100, cached_tokens=60, cache_write_tokens=10, output_tokens=20, reasoning_tokens=5)
HI: Any = [{"role": "user", "content": "hi"}]
DEPTHS = ("memory", "loopback")


def turn(*parts: AssistantPart, stop: StopReason = StopReason.END) -> ModelTurn:
    return ModelTurn(message=AssistantMessage(parts), stop=stop, usage=USAGE)


SAID = turn(Text("Hello, world."))


async def chat(client: openai.AsyncOpenAI) -> Any:
    return await client.chat.completions.create(model="m", messages=HI)


async def responses(client: openai.AsyncOpenAI) -> Any:
    return await client.responses.create(model="m", input=HI)


async def messages(client: anthropic.AsyncAnthropic) -> Any:
    return await client.messages.create(model="m", messages=HI, max_tokens=64)


WHOLE: dict[str, Any] = {"openai-chat": chat, "openai-responses": responses, "anthropic-messages": messages}


FAILURES = [
    ("openai-chat", 429, "rate_limit_exceeded", openai.RateLimitError, FaultKind.TRANSIENT),
    ("openai-responses", 503, "server_error", openai.InternalServerError, FaultKind.TRANSIENT),
    ("openai-responses", 400, "context_length_exceeded", openai.BadRequestError, FaultKind.CONTEXT_LENGTH),
    ("openai-chat", 400, "tool_use_failed", openai.BadRequestError, FaultKind.CALL_REJECTED),
    ("anthropic-messages", 529, None, anthropic.InternalServerError, FaultKind.TRANSIENT),
    ("anthropic-messages", 401, None, anthropic.AuthenticationError, FaultKind.PERMANENT),
]


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize(("transport", "status", "code", "expected", "kind"), FAILURES)
def test_an_error_status_reaches_the_sdk_with_its_headers(
    stand: Any, transport: str, status: int, code: str | None, expected: type[Exception], kind: FaultKind, depth: str
) -> None:
    reply = StatusReply(status=status, error_type="some_error", message="No luck.", code=code, retry_after="7")
    made = stand(transport, reply)

    async def use(client: Any) -> Any:
        with pytest.raises(expected) as caught:
            await WHOLE[transport](client)
        return caught.value

    error = made.ask(use, depth)
    assert (error.status_code, error.response.headers["retry-after"]) == (status, "7")
    assert "No luck." in str(error)
    (fault,) = made.replies
    assert isinstance(fault, ModelFault)
    assert (fault.kind, fault.status, fault.code, fault.retry_after) == (kind, status, code, 7.0)


async def raw_stream(client: Any, seen: list[bytes]) -> None:
    """Read a streamed answer's bytes."""
    path, body = "/v1/messages", {"model": "m", "max_tokens": 64, "messages": HI, "stream": True}
    if isinstance(client, openai.AsyncOpenAI):
        path, body = "/chat/completions", {"model": "m", "messages": HI, "stream": True}
    answer = await client.post(path, cast_to=httpx2.Response, body=body, stream=True)
    async for chunk in answer.aiter_bytes():
        seen.append(chunk)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("transport", ["openai-chat", "anthropic-messages"])
def test_a_cut_stream_ends_as_the_script_wants(stand: Any, transport: str, depth: str) -> None:
    whole = stand(transport, TurnReply(SAID))
    complete: list[bytes] = []
    whole.ask(lambda client: raw_stream(client, complete), depth)
    full = b"".join(complete)
    for cut in (Cut(after_events=2), Cut(after_bytes=150), Cut(after_bytes=150, how="reset")):
        made, seen = stand(transport, TurnReply(SAID, cut)), list[bytes]()

        async def use(client: Any, cut: Cut = cut, seen: list[bytes] = seen) -> None:
            if cut.how == "clean":
                return await raw_stream(client, seen)
            with pytest.raises(httpx2.TransportError):
                await raw_stream(client, seen)
            return None

        made.ask(use, depth)
        got = b"".join(seen)
        assert full.startswith(got) and len(got) < len(full)
        assert got.endswith(b"\n\n") if cut.after_events else len(got) == 150
        assert [record.cut for record in made.records if isinstance(record, ReplySent)] == [True]


def test_memory_keeps_chunk_borders_and_a_stall_is_a_timeout(stand: Any) -> None:
    made, seen = stand("anthropic-messages", TurnReply(SAID, Cut(after_events=3, how="stall"))), list[bytes]()

    async def use(client: Any) -> None:
        with pytest.raises(httpx2.ReadTimeout):
            await raw_stream(client, seen)

    made.ask(use)
    assert [chunk.split(b"\n")[0] for chunk in seen] == [
        b"event: message_start",
        b"event: content_block_start",
        b"event: ping",
    ]


def test_a_whole_answer_is_cut_in_its_middle(stand: Any) -> None:
    made = stand("openai-chat", TurnReply(SAID, Cut(after_events=1)))
    answer = made.provider.answer(
        "POST", "/v1/chat/completions", {}, json.dumps({"model": "m", "messages": HI}).encode()
    )
    assert answer.headers["content-type"] == "application/json"
    with pytest.raises(ValueError):
        json.loads(b"".join(answer.chunks))


CONNECTIONS = [("refused", "memory"), ("reset", "memory"), ("reset", "loopback")]


@pytest.mark.parametrize(("how", "depth"), CONNECTIONS)
def test_a_connection_without_an_answer_is_a_connection_error(stand: Any, how: Any, depth: str) -> None:
    made = stand("openai-chat", ConnectionReply(how))

    async def use(client: openai.AsyncOpenAI) -> None:
        with pytest.raises(openai.APIConnectionError):
            await chat(client)

    made.ask(use, depth)
    (fault,) = made.replies
    assert isinstance(fault, ModelFault) and (fault.kind, fault.status) == (FaultKind.TRANSIENT, None)


@pytest.mark.parametrize("depth", DEPTHS)
def test_silence_is_a_timeout(stand: Any, depth: str) -> None:
    made = stand("anthropic-messages", ConnectionReply("timeout"))

    async def use(client: anthropic.AsyncAnthropic) -> None:
        with pytest.raises(anthropic.APITimeoutError):
            await messages(client.with_options(timeout=0.05))

    made.ask(use, depth)


@pytest.mark.parametrize("depth", DEPTHS)
def test_raw_bytes_go_out_as_they_are(stand: Any, depth: str) -> None:
    reply = RawReply(headers={"content-type": "text/html"}, chunks=(b"<html>", b"busy</html>"))
    made, seen = stand("openai-chat", reply), list[bytes]()
    made.ask(lambda client: raw_stream(client, seen), depth)
    assert b"".join(seen) == b"<html>busy</html>"
    (fault,) = made.replies
    assert isinstance(fault, ModelFault) and fault.kind is FaultKind.PROTOCOL


@pytest.mark.parametrize("after", [{}, {"after_events": 1, "after_bytes": 1}, {"after_bytes": -1}])
def test_a_cut_has_exactly_one_place(after: Any) -> None:
    with pytest.raises(ValueError, match="cut"):
        Cut(**after)
