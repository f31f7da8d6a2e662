"""The simulated provider convinces the official SDKs, in memory and on a socket, and records what it was asked."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import anthropic
import openai
import pytest

from harness.provider.replies import StatusReply, TurnReply
from harness.vocabulary.content import AssistantMessage, AssistantPart, Opaque, Refusal, Text, ToolCall
from harness.vocabulary.turn import FaultKind, ModelFault, ModelTurn, StopReason
from harness.vocabulary.usage import Usage

USAGE = Usage(input_tokens=100, cached_tokens=60, cache_write_tokens=10, output_tokens=20, reasoning_tokens=5)
HI: Any = [{"role": "user", "content": "hi"}]
ARGUMENTS = '{"city":"São Paulo"}'
REASONING = {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]}
THINKING = {"type": "thinking", "thinking": "Hm.", "signature": "EqQB"}
NATIVE = ("openai-chat", "openai-responses", "anthropic-messages")
DEPTHS = ("memory", "loopback")
Use = Callable[[Any], Awaitable[Any]]


def turn(*parts: AssistantPart, stop: StopReason = StopReason.END) -> ModelTurn:
    return ModelTurn(message=AssistantMessage(parts), stop=stop, usage=USAGE)


SAID = turn(Text("Hello, world."))
CALLED = turn(
    Opaque("openai-responses", REASONING),
    Opaque("anthropic-messages", THINKING),
    Text("Looking it up."),
    ToolCall("toolu_a", "weather", ARGUMENTS),
    ToolCall("toolu_b", "clock", "{}"),
    stop=StopReason.TOOL_CALLS,
)


async def chat(client: openai.AsyncOpenAI) -> Any:
    return await client.chat.completions.create(model="m", messages=HI)


async def chat_stream(client: openai.AsyncOpenAI) -> Any:
    async with client.chat.completions.stream(model="m", messages=HI, stream_options={"include_usage": True}) as events:
        return await events.get_final_completion()


async def responses(client: openai.AsyncOpenAI) -> Any:
    return await client.responses.create(model="m", input=HI)


async def responses_stream(client: openai.AsyncOpenAI) -> Any:
    async with client.responses.stream(model="m", input=HI) as events:
        return await events.get_final_response()


async def messages(client: anthropic.AsyncAnthropic) -> Any:
    return await client.messages.create(model="m", messages=HI, max_tokens=64)


async def messages_stream(client: anthropic.AsyncAnthropic) -> Any:
    async with client.messages.stream(model="m", messages=HI, max_tokens=64) as events:
        return await events.get_final_message()


WHOLE: dict[str, Use] = {"openai-chat": chat, "openai-responses": responses, "anthropic-messages": messages}
STREAMED: dict[str, Use] = {
    "openai-chat": chat_stream,
    "openai-responses": responses_stream,
    "anthropic-messages": messages_stream,
}
MODES = [
    pytest.param(wire, use[wire], id=f"{wire}-{mode}")
    for mode, use in (("plain", WHOLE), ("stream", STREAMED))
    for wire in NATIVE
]


def text_of(answer: Any) -> str:
    if hasattr(answer, "output_text"):
        return str(answer.output_text)
    if hasattr(answer, "choices"):
        return str(answer.choices[0].message.content)
    return "".join(block.text for block in answer.content if block.type == "text")


def calls_of(answer: Any) -> list[tuple[str, str, Any]]:
    """Id, name and decoded arguments of each call."""
    if hasattr(answer, "output_text"):
        items = [item for item in answer.output if item.type == "function_call"]
        return [(item.call_id, item.name, json.loads(item.arguments)) for item in items]
    if hasattr(answer, "choices"):
        calls = answer.choices[0].message.tool_calls
        return [(call.id, call.function.name, json.loads(call.function.arguments)) for call in calls]
    return [(block.id, block.name, block.input) for block in answer.content if block.type == "tool_use"]


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize(("transport", "use"), MODES)
def test_an_sdk_reads_text_calls_and_usage(stand: Any, transport: str, use: Use, depth: str) -> None:
    made = stand(transport, TurnReply(CALLED))
    answer = made.ask(use, depth)
    assert text_of(answer) == "Looking it up."
    assert calls_of(answer) == [("toolu_a", "weather", {"city": "São Paulo"}), ("toolu_b", "clock", {})]
    spent = answer.usage.model_dump()
    assert (spent.get("output_tokens") or spent["completion_tokens"]) == 20
    assert made.provider.faults == []
    assert made.replies == [CALLED]


def test_an_sdk_reads_reasoning_as_the_provider_wrote_it(stand: Any) -> None:
    answer = stand("openai-responses", TurnReply(CALLED)).ask(responses_stream)
    assert answer.output[0].model_dump(exclude_unset=True) == REASONING
    message = stand("anthropic-messages", TurnReply(CALLED)).ask(messages_stream)
    assert message.content[0].model_dump(exclude_unset=True) == THINKING


@pytest.mark.parametrize(("transport", "use"), MODES)
def test_an_sdk_reads_a_refusal(stand: Any, transport: str, use: Use) -> None:
    answer = stand(transport, TurnReply(turn(Refusal("I will not."), stop=StopReason.REFUSAL))).ask(use)
    assert "I will not." in answer.model_dump_json()


@pytest.mark.parametrize("transport", NATIVE)
def test_a_request_is_recorded_as_it_was_read_and_judged(stand: Any, transport: str) -> None:
    made = stand(transport, TurnReply(SAID))
    made.ask(WHOLE[transport])
    (sent,) = made.sent
    assert (sent.n, sent.at, sent.violations) == (1, 12.5, ())
    assert sent.request == made.script.asked[0]
    assert json.loads(sent.payload or b"")["model"] == "m"
    (exchange,) = made.provider.exchanges
    assert (exchange.n, exchange.method, exchange.path, exchange.status) == (1, "POST", made.provider.codec.path, 200)


@pytest.mark.parametrize("depth", DEPTHS)
def test_an_illegal_request_is_refused_in_the_providers_words_and_uses_no_script_up(stand: Any, depth: str) -> None:
    async def two(client: anthropic.AsyncAnthropic) -> Any:
        with pytest.raises(anthropic.BadRequestError) as caught:
            await client.messages.create(model="m", max_tokens=64, messages=HI, extra_body={"temperature": 1})
        return caught.value, await messages(client)

    made = stand("anthropic-messages", TurnReply(SAID))
    error, answer = made.ask(two, depth)
    assert error.body["error"]["message"] == "temperature: Extra inputs are not permitted"
    assert error.response.headers["request-id"] == error.body["request_id"]
    assert text_of(answer) == "Hello, world."
    assert [one.rule for one in made.sent[0].violations] == ["wire.anthropic-messages.no-sampling"]
    assert [one.n for one in made.sent] == [1, 2]
    fault = made.replies[0]
    assert isinstance(fault, ModelFault) and (fault.kind, fault.status) == (FaultKind.PERMANENT, 400)


def test_an_unreadable_body_is_refused_and_recorded(stand: Any) -> None:
    made = stand("openai-chat")
    answer = made.provider.answer("POST", "/v1/chat/completions", {}, b'{"model":"m","messages":"hi"}')
    assert answer.status == 400
    assert json.loads(answer.chunks[0])["error"]["param"] == "messages"
    assert made.sent[0].violations[0].rule == "wire.openai-chat.shape"
    assert made.sent[0].request.items == ()


def test_a_paused_turn_is_resumed_legally_also_after_a_failed_try(stand: Any) -> None:
    async def resume(client: anthropic.AsyncAnthropic) -> Any:
        paused = await messages(client)
        history = [*HI, {"role": "assistant", "content": [block.to_dict() for block in paused.content]}]
        with pytest.raises(anthropic.InternalServerError):
            await client.messages.create(model="m", messages=history, max_tokens=64)
        return await client.messages.create(model="m", messages=history, max_tokens=64)

    busy = StatusReply(status=529, error_type="overloaded_error", message="Overloaded")
    pause = turn(Text("Searching."), stop=StopReason.PAUSE)
    made = stand("anthropic-messages", TurnReply(pause), busy, TurnReply(SAID))
    assert text_of(made.ask(resume)) == "Hello, world."
    assert all(one.violations == () for one in made.sent)


def test_a_fault_of_the_script_is_kept_and_answered_500(stand: Any) -> None:
    for replies in ((), (TurnReply(turn(Text("x"), stop=StopReason.PAUSE)),)):
        made = stand("openai-chat", *replies)
        body = json.dumps({"model": "m", "messages": HI}).encode()
        answer = made.provider.answer("POST", "/v1/chat/completions", {}, body)
        assert answer.status == 500
        assert len(made.provider.faults) == 1
        assert made.provider.exchanges[-1].status == 500


def test_another_path_is_not_found_and_not_counted(stand: Any) -> None:
    made = stand("openai-chat", TurnReply(SAID))
    assert made.provider.answer("GET", "/v1/models", {}, b"").status == 404
    assert (
        made.provider.answer(
            "POST", "/run-7/v1/chat/completions?x=1", {}, json.dumps({"model": "m", "messages": HI}).encode()
        ).status
        == 200
    )
    assert [one.n for one in made.provider.exchanges] == [0, 1]
    assert [one.n for one in made.sent] == [1]
