"""`harness serve`: the official clients, used as their documentation shows, play scenarios over a real socket."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import anthropic
import openai
import pytest

from harness.provider.loopback import LoopbackServer
from harness.scenario.load import parse_scenario
from harness.scenario.served import ServedScenarios

SCENARIO = """\
id: weather
title: One look, one answer
proves: [loop.tools.every-call-answered]
user: What is the weather in Graz?
tools:
  look:
    parameters: {type: object, properties: {city: {type: string}}, required: [city]}
    effect: read_only
    answers: [{text: sunny}]
script:
  - say: I look.
    calls: [{tool: look, arguments: {city: Graz}, id: call_1}]
  - say: It is sunny in Graz.
expect: {outcome: completed}
"""
LOOK = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
ASK = "What is the weather in Graz?"


@pytest.fixture
def served() -> ServedScenarios:
    return ServedScenarios({"weather": parse_scenario(SCENARIO, "weather.yaml")})


@pytest.fixture
def url(served: ServedScenarios) -> Iterator[str]:
    with LoopbackServer(served) as server:
        yield f"{server.url}/weather"


@pytest.fixture
def openai_client(url: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0, _strict_response_validation=True) as client:
        yield client


@pytest.fixture
def anthropic_client(url: str) -> Iterator[anthropic.Anthropic]:
    made = anthropic.Anthropic(base_url=url, api_key="k", max_retries=0, _strict_response_validation=True)
    with made as client:
        yield client


def kept(served: ServedScenarios) -> bool:
    (verdict,) = served.verdicts()
    assert served.faults == []
    assert verdict["kept"], verdict
    return bool(verdict["requests"] == 2)


CHAT_TOOLS: Any = [{"type": "function", "function": {"name": "look", "parameters": LOOK}}]


def test_the_tool_loop_of_chat_completions(openai_client: openai.OpenAI, served: ServedScenarios) -> None:
    messages: list[Any] = [{"role": "user", "content": ASK}]
    first = openai_client.chat.completions.create(model="gpt-5.2", messages=messages, tools=CHAT_TOOLS)
    message = first.choices[0].message
    assert message.tool_calls is not None
    messages += [message, {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "sunny"}]
    last = openai_client.chat.completions.create(model="gpt-5.2", messages=messages, tools=CHAT_TOOLS)
    assert last.choices[0].message.content == "It is sunny in Graz."
    assert kept(served)


def test_the_streaming_helper_of_chat_completions(openai_client: openai.OpenAI, served: ServedScenarios) -> None:
    messages: list[Any] = [{"role": "user", "content": ASK}]
    with openai_client.chat.completions.stream(model="gpt-5.2", messages=messages, tools=CHAT_TOOLS) as stream:
        events = [event.type for event in stream]
        message = stream.get_final_completion().choices[0].message
    assert "tool_calls.function.arguments.done" in events
    assert message.tool_calls is not None
    answer = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "sunny"}
    asked = {
        "role": "assistant",
        "content": message.content,
        "tool_calls": [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.function.name, "arguments": call.function.arguments},
            }
            for call in message.tool_calls
        ],
    }
    messages += [asked, answer]
    with openai_client.chat.completions.stream(model="gpt-5.2", messages=messages, tools=CHAT_TOOLS) as stream:
        text = "".join(event.delta for event in stream if event.type == "content.delta")
    assert text == "It is sunny in Graz."
    assert kept(served)


RESPONSES_TOOLS: Any = [{"type": "function", "name": "look", "parameters": LOOK, "strict": False}]


def test_the_tool_loop_of_responses(openai_client: openai.OpenAI, served: ServedScenarios) -> None:
    items: list[Any] = [{"role": "user", "content": ASK}]
    first = openai_client.responses.create(model="gpt-5.2", input=items, tools=RESPONSES_TOOLS, store=False)
    items += first.output
    call = next(one for one in first.output if one.type == "function_call")
    items.append({"type": "function_call_output", "call_id": call.call_id, "output": "sunny"})
    last = openai_client.responses.create(model="gpt-5.2", input=items, tools=RESPONSES_TOOLS, store=False)
    assert last.output_text == "It is sunny in Graz."
    assert kept(served)


def test_the_streaming_helper_of_responses(openai_client: openai.OpenAI) -> None:
    items: Any = [{"role": "user", "content": ASK}]
    with openai_client.responses.stream(model="gpt-5.2", input=items, tools=RESPONSES_TOOLS, store=False) as stream:
        events = [event.type for event in stream]
        final = stream.get_final_response()
    assert events[-1] == "response.completed"
    assert [one.type for one in final.output] == ["message", "function_call"]


MESSAGES_TOOLS: Any = [{"name": "look", "description": "Look.", "input_schema": LOOK}]


def test_the_tool_loop_of_messages(anthropic_client: anthropic.Anthropic, served: ServedScenarios) -> None:
    messages: list[Any] = [{"role": "user", "content": ASK}]
    ask: Any = {"model": "claude-opus-4-8", "max_tokens": 500, "tools": MESSAGES_TOOLS}
    first = anthropic_client.messages.create(messages=messages, **ask)
    assert first.stop_reason == "tool_use"
    call = next(one for one in first.content if one.type == "tool_use")
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "sunny"}
    messages += [{"role": "assistant", "content": first.content}, {"role": "user", "content": [result]}]
    last = anthropic_client.messages.create(messages=messages, **ask)
    assert [one.text for one in last.content if one.type == "text"] == ["It is sunny in Graz."]
    assert kept(served)


def test_the_streaming_helper_of_messages(anthropic_client: anthropic.Anthropic) -> None:
    messages: list[Any] = [{"role": "user", "content": ASK}]
    with anthropic_client.messages.stream(
        model="claude-opus-4-8", max_tokens=500, tools=MESSAGES_TOOLS, messages=messages
    ) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert text == "I look."
    assert [one.type for one in final.content] == ["text", "tool_use"]


def test_an_illegal_request_gets_the_providers_own_error_and_is_told(
    openai_client: openai.OpenAI, served: ServedScenarios
) -> None:
    messages: Any = [{"role": "user", "content": ASK}, {"role": "tool", "tool_call_id": "call_1", "content": "sunny"}]
    with pytest.raises(openai.BadRequestError, match="must be a response to a preceeding message with 'tool_calls'"):
        openai_client.chat.completions.create(model="gpt-5.2", messages=messages)
    (verdict,) = served.verdicts()
    assert [one["rule"] for one in verdict["breaches"]] == ["wire.openai-chat.result-answers-a-call"]
    assert not verdict["kept"]


def asked(url: str, *, method: str = "GET", body: bytes | None = None) -> tuple[int, Any]:
    try:
        with urlopen(Request(url, data=body, method=method)) as response:
            return response.status, json.loads(response.read())
    except HTTPError as error:
        return error.code, json.loads(error.read())


def test_runs_are_told_and_forgotten_by_their_paths(url: str, openai_client: openai.OpenAI) -> None:
    base = url.removesuffix("/weather")
    assert asked(base) == (200, {"scenarios": ["weather"], "runs": []})
    openai_client.chat.completions.create(model="m", messages=[{"role": "user", "content": ASK}], tools=CHAT_TOOLS)
    status, verdict = asked(url)
    assert (status, verdict["requests"], verdict["unplayed"]) == (200, 1, 1)
    assert asked(f"{url}/v1/responses", method="POST", body=b"{}")[0] == 409
    assert asked(url, method="DELETE")[0] == 200
    assert asked(url)[0] == 404


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/wether/v1/responses", "near matches: weather"),
        ("/weather/v2/x", "is no wire: the path after /weather is one of"),
    ],
)
def test_a_wrong_path_is_told_with_the_right_ones(url: str, path: str, says: str) -> None:
    status, body = asked(url.removesuffix("/weather") + path, method="POST", body=b"{}")
    assert (status, says in body["error"]) == (404, True)


def test_the_command_serves_until_it_is_stopped_and_says_its_verdict() -> None:
    command = [sys.executable, "-m", "harness", "serve", "batch-one-over-the-limit"]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().split()[2]
        body = json.dumps({"model": "m", "messages": [{"role": "tool", "tool_call_id": "x", "content": "y"}]}).encode()
        status, answer = asked(f"{url}/batch-one-over-the-limit/v1/chat/completions", method="POST", body=body)
        process.send_signal(signal.SIGINT)
        told = process.stdout.read()
    assert (status, process.returncode) == (400, 1)
    assert "error" in answer
    assert told.startswith("BROKEN  batch-one-over-the-limit  openai-chat  1 requests")
    assert "wire.openai-chat.result-answers-a-call" in told
