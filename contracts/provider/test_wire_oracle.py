"""What holds for the rules of every wire: rows are complete, and the oracle judges whatever it is given."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.wire.anthropic_messages.oracle import RULES as ANTHROPIC
from harness.wire.codec import UNKNOWN, Circumstances
from harness.wire.openai_chat.oracle import RULES as CHAT
from harness.wire.openai_responses.oracle import RULES as RESPONSES
from harness.wire.registry import CODEC_IDS, codec
from harness.wire.xml_fallback.oracle import PROTOCOL_RULES as XML

NEWEST = Circumstances(version="2026-10-21")
USER = {"role": "user", "content": "hi"}
TABLES: dict[str, tuple[Any, ...]] = {
    "openai-chat": CHAT,
    "openai-responses": RESPONSES,
    "anthropic-messages": ANTHROPIC,
    "xml-fallback": XML,
}
RULES = [(transport, rule) for transport, rules in TABLES.items() for rule in rules]
PLAIN: dict[str, dict[str, Any]] = {
    "openai-chat": {"model": "sim-model", "messages": [USER]},
    "openai-responses": {"model": "sim-model", "input": "hi"},
    "anthropic-messages": {"model": "sim-model", "max_tokens": 4096, "messages": [USER]},
    "xml-fallback": {"model": "sim-model", "messages": [USER]},
}
CLAUDE = PLAIN["anthropic-messages"]


def test_every_row_says_what_it_demands_where_from_and_how_to_mend() -> None:
    for transport, rule in RULES:
        assert re.fullmatch(rf"wire\.{transport}\.[a-z0-9-]+", rule.id)
        assert rule.statement.endswith(".") and rule.source and rule.mend and rule.message
    assert len({rule.id for _, rule in RULES}) == len(RULES)


@pytest.mark.parametrize("transport", CODEC_IDS)
def test_the_plainest_request_is_legal(transport: str) -> None:
    assert codec(transport).judge(PLAIN[transport]) == []


@pytest.mark.parametrize("transport", CODEC_IDS)
def test_a_key_that_the_client_chose_is_escaped_in_its_pointer(transport: str) -> None:
    assert [one.pointer for one in codec(transport).judge(PLAIN[transport] | {"a/b{~": 1})] == ["/a~1b{~0"]


def test_a_later_version_does_not_reach_back() -> None:
    judge = codec("anthropic-messages").judge
    payload = CLAUDE | {"temperature": 1}
    assert judge(payload) == []
    assert judge(payload, Circumstances(version="2023-06-01")) == []
    assert [one.message for one in judge(payload, NEWEST)] == ["temperature: Extra inputs are not permitted"]


def test_a_paused_turn_may_end_the_conversation_that_resumes_it() -> None:
    judge = codec("anthropic-messages").judge
    control = {"role": "system", "content": "s"}
    payload = CLAUDE | {"messages": [USER, control, {"role": "assistant", "content": "Searching."}]}
    assert [one.rule for one in judge(payload)] == ["wire.anthropic-messages.no-prefill"]
    assert judge(payload, Circumstances(resuming=True)) == []


def test_places_in_anthropic_messages_count_merged_turns() -> None:
    block = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}
    (only,) = codec("anthropic-messages").judge(CLAUDE | {"messages": [USER, {"role": "user", "content": [block]}]})
    assert only.message.startswith("messages.0.content.1: unexpected `tool_use_id` found")
    assert only.pointer == "/messages/1/content/0"


KEYS = (
    "type role content text tool_calls id function name arguments tool_call_id tool_use_id call_id input output "
    "thinking cache_control parameters input_schema strict format json_schema"
)
TOP = (
    "model messages input tools tool_choice system thinking max_tokens temperature text response_format stop store "
    "max_output_tokens functions stream"
)
WORDS = ["", "x", "tool", "user", "assistant", "function", "tool_use", "tool_result", "function_call", "<tool_call "]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS.split()), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize("transport", CODEC_IDS)
@settings(deadline=None)
@given(payload=st.dictionaries(st.sampled_from(TOP.split()), JSON))
def test_the_oracle_never_raises(transport: str, payload: dict[str, Any]) -> None:
    for circumstances in (UNKNOWN, NEWEST):
        assert isinstance(codec(transport).judge(payload, circumstances), list)
