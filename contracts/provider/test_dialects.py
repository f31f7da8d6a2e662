"""A dialect changes what is judged and how it is answered, by data alone; a wrong file is told with line and mend."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.provider.replies import TurnReply
from harness.provider.simulated import SimulatedProvider
from harness.vocabulary.content import AssistantMessage, Text, ToolCall
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.turn import ModelTurn, StopReason
from harness.wire.codec import UnencodableTurn
from harness.wire.dialects import DialectError, codec_of, load, names, of_host, read
from harness.wire.registry import codec

USER = {"role": "user", "content": "hi"}
CALL = {"type": "function", "function": {"name": "f", "arguments": "{}"}}
HEAD = 'title = "T"\nsource = "S"\n'


def chat(name: str) -> Any:
    return codec_of(load(name), "openai-chat")


def asked(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [USER, *messages], **more}


def slugs(name: str, payload: dict[str, Any]) -> list[str]:
    return [one.rule.rpartition(".")[2] for one in chat(name).judge(payload)]


def turn(*calls: ToolCall, text: str = "") -> ModelTurn:
    content = (*([Text(text)] if text else []), *calls)
    stop = StopReason.TOOL_CALLS if calls else StopReason.END
    return ModelTurn(message=AssistantMessage(content), stop=stop)


TWO = (ToolCall("call_a", "f", '{"a": 1}'), ToolCall("call_b", "g", '{"b": 2}'))
STREAMED = {"stream": True, "stream_options": {"include_usage": True}}


def chunks(name: str, said: ModelTurn) -> list[dict[str, Any]]:
    events = chat(name).stream(said, model="m", n=1, payload=STREAMED)
    return [json.loads(one[6:]) for one in events if b"[DONE]" not in one]


def test_every_dialect_that_is_shipped_is_read_and_can_judge() -> None:
    assert {"openai", "anthropic", "azure", "deepseek", "mistral", "lenient", "strict-template"} <= set(names())
    plain = {
        "openai-responses": {"model": "m", "input": "hi"},
        "openai-chat": asked(),
        "xml-fallback": asked(),
        "anthropic-messages": asked(max_tokens=9),
    }
    for name in names():
        for transport in load(name).speeches:
            assert codec_of(load(name), transport).judge(plain[transport]) == []


@pytest.mark.parametrize("transport", ["openai-responses", "openai-chat", "xml-fallback"])
def test_the_originals_are_the_providers_own_codecs(transport: str) -> None:
    assert codec_of(load("openai"), transport) is codec(transport)


def test_a_dialect_adds_rules() -> None:
    looped = asked(
        {"role": "assistant", "content": "", "tool_calls": [CALL | {"id": "abcDEF123"}]},
        {"role": "tool", "tool_call_id": "abcDEF123", "content": "ok"},
        USER,
    )
    assert codec("openai-chat").judge(looped) == []
    assert slugs("mistral", looped) == ["assistant-after-tool"]


def test_a_dialect_takes_arguments_that_the_provider_refuses_and_no_others() -> None:
    assert slugs("openai", asked(thinking={"type": "disabled"})) == ["known-arguments"]
    assert slugs("deepseek", asked(thinking={"type": "disabled"})) == []
    assert slugs("deepseek", asked(thinkin={})) == ["known-arguments"]


def test_a_lenient_server_pairs_results_without_ids_in_the_order_of_the_calls() -> None:
    results = [{"role": "tool", "content": "1"}, {"role": "tool", "content": "2"}]
    payload = asked({"role": "assistant", "content": "", "tool_calls": [CALL, CALL]}, *results)
    wire = chat("lenient")
    assert wire.judge(payload) == []
    decoded = wire.decode(json.dumps(payload).encode())
    assert [item.call_id for item in decoded.request.items[-2:]] == ["call_1_0", "call_1_1"]
    assert decoded.payload == payload


def test_what_may_be_left_out_is_filled_in() -> None:
    body = json.dumps({"messages": [USER]}).encode()
    assert chat("azure").decode(body).request.model == "deployment"


def test_a_whole_answer_has_the_servers_ways() -> None:
    body = json.loads(chat("lenient").response(turn(*TWO), model="m", n=1))
    message = body["choices"][0]["message"]
    assert "usage" not in body
    assert message["content"] == "" and message["reasoning_content"]
    assert [call["id"] for call in message["tool_calls"]] == ["", ""]


def test_a_stream_without_counted_indices_gives_each_call_whole() -> None:
    found = [choice["delta"] for chunk in chunks("lenient", turn(*TWO)) for choice in chunk["choices"]]
    calls = [call for delta in found for call in delta.get("tool_calls", ())]
    assert [(call["index"], call["id"], call["function"]["arguments"]) for call in calls] == [
        (0, "", '{"a": 1}'),
        (0, "", '{"b": 2}'),
    ]


def test_a_stream_may_lack_usage_and_its_end_mark() -> None:
    events = chat("lenient").stream(turn(text="hi"), model="m", n=1, payload=STREAMED)
    assert not any(b"[DONE]" in one or b'"usage"' in one for one in events)
    native = codec("openai-chat").stream(turn(text="hi"), model="m", n=1, payload=STREAMED)
    assert native[-1] == b"data: [DONE]\n\n" and b'"usage"' in native[-2]


def test_a_server_of_one_call_at_a_time_gives_no_batch() -> None:
    body = json.loads(chat("strict-template").response(turn(TWO[0]), model="m", n=1))
    assert body["choices"][0]["finish_reason"] == "stop"
    with pytest.raises(UnencodableTurn, match="at most 1 calls at once"):
        chat("strict-template").response(turn(*TWO), model="m", n=1)


def test_flat_errors_have_their_keys_at_the_top() -> None:
    body = json.loads(chat("mistral").error(400, error_type="t", message="m", code="3230"))
    assert body == {"object": "error", "message": "m", "type": "t", "param": None, "code": "3230"}


class Says:
    def reply(self, n: int, request: ModelRequest) -> TurnReply:
        return TurnReply(turn(text="hi"))


def test_the_simulated_provider_refuses_and_answers_in_its_dialect() -> None:
    provider = SimulatedProvider("openai-chat", Says(), lambda record: None, lambda: 0.0, "mistral")
    body = json.dumps(asked({"role": "assistant", "content": "x"})).encode()
    refused = provider.answer("POST", "/v1/chat/completions", {}, body)
    assert refused.status == 400
    assert json.loads(refused.chunks[0])["type"] == "invalid_request_message_order"
    assert provider.answer("POST", "/v1/chat/completions", {}, json.dumps(asked()).encode()).status == 200


def test_a_host_is_known_by_its_dialect() -> None:
    found = {host: getattr(of_host(host), "name", None) for host in ("api.x.ai", "a.openai.azure.com", "example.org")}
    assert found == {"api.x.ai": "xai", "a.openai.azure.com": "azure", "example.org": None}


def test_no_host_is_claimed_twice() -> None:
    hosts = [host for name in names() for host in load(name).hosts]
    assert len(hosts) == len(set(hosts))


MISTAKES: tuple[tuple[str, int, str], ...] = (
    ("title = ", 0, "not TOML"),
    ('source = "S"\n[openai-chat]\n', 1, "`title` is missing"),
    (HEAD, 1, "speaks on no transport"),
    (HEAD + "[openai-chat]\nof = []\n", 4, "unknown key 'of'; use one of .* did you mean off"),
    (HEAD + '[openai-chat]\noff = ["call-answered"]\n', 4, "no rule is called 'call-answered'.* calls-answered"),
    (HEAD + '[openai-chat]\noff = ["ids-of-nine"]\n', 4, "is no rule of the provider itself"),
    (HEAD + '[openai-chat]\n\nadd = ["roles"]\n', 5, "is a rule of the provider itself"),
    (HEAD + '[openai-chat]\nfills_ids = "yes"\n', 4, "give true or false"),
    (HEAD + '[openai-chat.answers]\nusage = "some"\n', 4, "one of given, absent"),
    (HEAD + "[openai-chat.answers]\ncalls_at_once = 0\n", 4, "a number of 1 or more"),
    (HEAD + '[anthropic-messages.answers]\nusage = "absent"\n', 3, "only Chat answers can differ"),
    (HEAD + "[openai-caht]\n", 3, "unknown key 'openai-caht'.* did you mean openai-chat"),
)


@pytest.mark.parametrize(("text", "line", "message"), MISTAKES, ids=lambda one: str(one)[-30:])
def test_a_mistake_in_a_file_is_told_with_line_and_mend(text: str, line: int, message: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DialectError, match=message) as caught:
        read(path)
    where = f"{path}:{line}: " if line else f"{path}: "
    assert str(caught.value).startswith(where) and "; " in str(caught.value)


def test_an_unknown_dialect_and_a_transport_that_it_does_not_speak_are_told_with_what_there_is() -> None:
    with pytest.raises(DialectError, match=r"no dialect is called 'mistrl'.* did you mean mistral"):
        load("mistrl")
    with pytest.raises(ValueError, match="does not speak openai-responses: it speaks openai-chat"):
        codec_of(load("deepseek"), "openai-responses")
