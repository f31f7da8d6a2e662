"""The legality oracle of the XML fallback: the rules of Chat, and those of the text protocol.

The text protocol is this project's own, so its message texts are ours; the status is the one with which a Chat server
answers a request that it cannot use.
"""

from collections.abc import Iterator
from typing import Any

from harness.vocabulary.content import JsonObject, Text, ToolResult, UserMessage
from harness.vocabulary.trace import Violation
from harness.wire import rules
from harness.wire.openai_chat import oracle as chat
from harness.wire.openai_chat.view import View as ChatView
from harness.wire.reading import text_or
from harness.wire.rules import Hit, Rule
from harness.wire.xml_fallback.decode import RESULTS, results_of, split_system
from harness.wire.xml_fallback.frames import Frame, read

_TOOL_KEYS = ("tools", "tool_choice", "parallel_tool_calls", "functions", "function_call")
_PROTOCOL = "the documented text protocol of the XML fallback"


class View(ChatView):
    """A Chat request, its texts read as the protocol."""

    def __init__(self, payload: JsonObject) -> None:
        super().__init__(payload)
        self.frames = {i: self._frames(message) for i, message in self.messages if message.get("role") == "assistant"}
        self.results = {i: self._results(message) for i, message in self.messages if message.get("role") == "user"}

    @staticmethod
    def _frames(message: JsonObject) -> list[Frame]:
        return [piece for piece in read(text_or(message.get("content"))) if isinstance(piece, Frame)]

    @staticmethod
    def _results(message: JsonObject) -> list[ToolResult]:
        return results_of(UserMessage((Text(text_or(message.get("content"))),))) or []

    def batches(self) -> Iterator[tuple[int, list[str], int, list[str]]]:
        """Each pair of neighbours: place and call ids of the first, place and result ids of the second."""
        places = [i for i, _ in self.messages]
        for i, following in zip([-1, *places], [*places, len(places)], strict=True):
            asked = [frame.call_id for frame in self.frames.get(i, [])]
            given = [result.call_id for result in self.results.get(following, [])]
            yield i, asked, following, given


def _native(view: View) -> Iterator[Hit]:
    yield from (Hit(f"/{key}", {"key": key}) for key in _TOOL_KEYS if key in view.payload)
    for i, message in view.messages:
        if message.get("role") in ("tool", "function"):
            yield Hit(f"/messages/{i}/role", {"key": f"messages[{i}].role"})
        if "tool_calls" in message:
            yield Hit(f"/messages/{i}/tool_calls", {"key": f"messages[{i}].tool_calls"})


def _without_id(view: View) -> Iterator[Hit]:
    for i, frames in view.frames.items():
        if any(not frame.call_id for frame in frames):
            yield Hit(f"/messages/{i}/content", {"i": i})


def _twice(view: View) -> Iterator[Hit]:
    seen: set[str] = set()
    for i, frames in view.frames.items():
        for call_id in [frame.call_id for frame in frames if frame.call_id]:
            if call_id in seen:
                yield Hit(f"/messages/{i}/content", {"i": i, "id": call_id})
            seen.add(call_id)


def _unanswered(view: View) -> Iterator[Hit]:
    for i, asked, _, given in view.batches():
        missing = [call_id for call_id in asked if call_id not in given]
        if missing:
            yield Hit(f"/messages/{i}/content", {"i": i, "ids": ", ".join(missing)})


def _orphans(view: View) -> Iterator[Hit]:
    for _, asked, i, given in view.batches():
        strangers = [call_id for call_id in given if call_id not in asked]
        if strangers:
            yield Hit(f"/messages/{i}/content", {"i": i, "ids": ", ".join(strangers)})


def _disordered(view: View) -> Iterator[Hit]:
    for _, asked, i, given in view.batches():
        if given != asked and sorted(set(given)) == sorted(asked):
            yield Hit(f"/messages/{i}/content", {"i": i})


def _broken_results(view: View) -> Iterator[Hit]:
    for i, message in view.messages:
        text, found = text_or(message.get("content")), view.results.get(i)
        if found is None or not text.startswith("<tool_results>"):
            continue
        match = RESULTS.fullmatch(text)
        if match is None or not found or match[1].count("</tool_result>") != len(found):
            yield Hit(f"/messages/{i}/content", {"i": i})


def _broken_section(view: View) -> Iterator[Hit]:
    for i, message in view.messages:
        text = text_or(message.get("content"))
        if message.get("role") == "system" and "\n<tools>\n" in text and i == 0:
            tools = split_system(text)[1]
            if text.count("<tool name=") != len(tools) or len({tool.name for tool in tools}) != len(tools):
                yield Hit("/messages/0/content")


PROTOCOL_RULES: tuple[Rule[View], ...] = (
    Rule(
        id="wire.xml-fallback.no-native-tools",
        statement="The request has no native tools, calls or results: everything about tools is text.",
        message="'{key}' is not part of this text protocol.",
        param="{key}",
        source=_PROTOCOL,
        mend="write tools, calls and results as text",
        find=_native,
    ),
    Rule(
        id="wire.xml-fallback.tool-section",
        statement="The tool section holds one well formed line for each tool, each name once.",
        message="The <tools> section of the system message cannot be read.",
        source=_PROTOCOL,
        mend="write one escaped <tool> line for each tool",
        find=_broken_section,
    ),
    Rule(
        id="wire.xml-fallback.calls-have-ids",
        statement="A replayed call carries its id.",
        message="messages[{i}]: a <tool_call> has no id.",
        source=_PROTOCOL,
        mend="replay calls with the ids that they were given",
        find=_without_id,
    ),
    Rule(
        id="wire.xml-fallback.call-ids-unique",
        statement="No two calls of a conversation have one id.",
        message="messages[{i}]: the <tool_call> id {id} stands twice.",
        source=_PROTOCOL,
        mend="count the calls of the whole conversation",
        find=_twice,
    ),
    Rule(
        id="wire.xml-fallback.results-message",
        statement="A results message is nothing but results, each whole.",
        message="messages[{i}]: a <tool_results> message cannot be read.",
        source=_PROTOCOL,
        mend="write the results of a batch as one user message of escaped <tool_result> elements",
        find=_broken_results,
    ),
    Rule(
        id="wire.xml-fallback.calls-answered",
        statement="The calls of an assistant message are answered in the next message.",
        message="messages[{i}]: no result in the next message for {ids}.",
        source=_PROTOCOL,
        mend="answer every call in one results message directly after the assistant message",
        find=_unanswered,
    ),
    Rule(
        id="wire.xml-fallback.result-answers-a-call",
        statement="Each result answers a call of the message before it.",
        message="messages[{i}]: no call in the message before for {ids}.",
        source=_PROTOCOL,
        mend="replay the call in the assistant message before the result",
        find=_orphans,
    ),
    Rule(
        id="wire.xml-fallback.results-in-order",
        statement="Results stand in the order of their calls, each once.",
        message="messages[{i}]: results are repeated, or not in the order of their calls.",
        source=_PROTOCOL,
        mend="send one result for each call, in the order of the calls",
        find=_disordered,
    ),
)


RULES: tuple[Rule[Any], ...] = (*PROTOCOL_RULES, *chat.RULES)
NATIVE = rules.native(RULES)


def judge(payload: JsonObject) -> list[Violation]:
    """All breaches: the protocol's, then Chat's."""
    return rules.judge(NATIVE, View(payload))
