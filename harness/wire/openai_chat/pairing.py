"""Chat rules of calls and results: every call is answered at once, every tool message answers a call, once."""

from collections.abc import Iterator

from harness.wire.openai_chat.view import View
from harness.wire.rules import Hit, Rule


def _unanswered(view: View) -> Iterator[Hit]:
    for asked, after, missing in view.pairing.unanswered:
        yield Hit(f"/messages/{asked}/tool_calls", {"ids": ", ".join(missing), "after": after})


def _orphans(view: View) -> Iterator[Hit]:
    return (Hit(f"/messages/{one.place}", {"i": one.place}) for one in view.pairing.orphans)


def _strangers(view: View) -> Iterator[Hit]:
    for one in view.pairing.strangers:
        yield Hit(f"/messages/{one.place}/tool_call_id", {"i": one.place, "id": one.call_id})


def _duplicates(view: View) -> Iterator[Hit]:
    for one in view.pairing.duplicates:
        words = {"i": one.place, "id": one.call_id, "first": one.other}
        yield Hit(f"/messages/{one.place}/tool_call_id", words)


PAIRING_RULES: tuple[Rule[View], ...] = (
    Rule(
        id="wire.openai-chat.calls-answered",
        statement="Each call of an assistant message is answered by a tool message directly after it.",
        message="An assistant message with 'tool_calls' must be followed by tool messages responding to each "
        "'tool_call_id'. The following tool_call_ids did not have response messages: {ids}",
        param="messages.[{after}].role",
        source="github.com/microsoft/promptflow/issues/3130",
        mend="put one tool message for each call directly after the assistant message, before anything else",
        find=_unanswered,
    ),
    Rule(
        id="wire.openai-chat.result-answers-a-call",
        statement="A tool message stands after an assistant message with calls, or after its other tool messages.",
        message="Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
        "'tool_calls'.",
        param="messages.[{i}].role",
        source="github.com/miurla/morphic/issues/136",
        mend="drop the tool message, or send it directly after the assistant message that asked for it",
        find=_orphans,
    ),
    Rule(
        id="wire.openai-chat.result-of-this-batch",
        statement="A tool message names a call of the assistant message before it.",
        message="Invalid parameter: 'tool_call_id' of '{id}' not found in 'tool_calls' of previous message.",
        param="messages.[{i}].tool_call_id",
        source="public reports of this text (wire-facts: message texts)",
        mend="send the result with the id of the call that it answers",
        find=_strangers,
    ),
    Rule(
        id="wire.openai-chat.one-result-a-call",
        statement="No call of a batch is answered twice.",
        message="Invalid parameter: Duplicate value for 'tool_call_id' of '{id}', in messages[{first}] and "
        "messages[{i}].",
        param="messages.[{i}].tool_call_id",
        source="github.com/agno-agi/agno/issues/5116",
        mend="keep one tool message for each call",
        find=_duplicates,
    ),
)
