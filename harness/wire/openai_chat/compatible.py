"""Rules of servers that speak Chat but are stricter than it. None of them is native: a dialect adds them.

Sources are public reports and recorded answers of those servers; where many servers share a behaviour the row has the
words of one of them.
"""

import re
from collections.abc import Callable, Iterator
from itertools import pairwise

from harness.wire.openai_chat.view import View
from harness.wire.reading import objects, text_or
from harness.wire.rules import Hit, Rule

_NINE = re.compile(r"[a-zA-Z0-9]{9}")
_WITHOUT_THINKING = ("deepseek-chat",)
_REPORTS = "public reports of this text"
_MISTRAL = "public reports of this text (Mistral, code 3230)"


def _turned_away(view: View) -> Iterator[Hit]:
    for (_, before), (i, message) in pairwise(view.messages):
        if before.get("role") == "tool" and message.get("role") not in ("tool", "assistant"):
            yield Hit(f"/messages/{i}/role", {"role": message.get("role")})


def _miscounted(view: View) -> Iterator[Hit]:
    for place, (i, message) in enumerate(view.messages):
        calls = len(list(objects(message.get("tool_calls"))))
        answers = 0
        for _, following in view.messages[place + 1 :]:
            if following.get("role") != "tool":
                break
            answers += 1
        if calls and calls != answers:
            yield Hit(f"/messages/{i}/tool_calls")


def _ends_on_assistant(view: View) -> Iterator[Hit]:
    last = view.messages[-1] if view.messages else None
    if last is not None and last[1].get("role") == "assistant" and last[1].get("prefix") is not True:
        yield Hit(f"/messages/{last[0]}/role")


def _not_nine(view: View) -> Iterator[Hit]:
    for i, j, call in view.calls():
        if isinstance(call.get("id"), str) and not _NINE.fullmatch(call["id"]):
            yield Hit(f"/messages/{i}/tool_calls/{j}/id", {"id": call["id"]})


def _uneven(view: View) -> Iterator[Hit]:
    """Tool messages count as the assistant's turn going on; system messages stand in front."""
    said = [(i, text_or(message.get("role"))) for i, message in view.messages]
    turns = [(i, role) for i, role in said if role in ("user", "assistant")]
    expected = "user"
    for i, role in turns:
        before = view.messages[i - 1][1].get("role") if i else None
        if role != expected and not (role == "assistant" and before == "tool"):
            yield Hit(f"/messages/{i}/role")
            return
        expected = "assistant" if role == "user" else "user"


def _late_system(view: View) -> Iterator[Hit]:
    for place, (i, message) in enumerate(view.messages):
        if place and message.get("role") in ("system", "developer"):
            yield Hit(f"/messages/{i}/role")


def _developer(view: View) -> Iterator[Hit]:
    for i, message in view.messages:
        if message.get("role") == "developer":
            yield Hit(f"/messages/{i}/role", {"i": i})


def _choice(refused: Callable[[object], bool]) -> Callable[[View], Iterator[Hit]]:
    def find(view: View) -> Iterator[Hit]:
        choice = view.payload.get("tool_choice")
        if choice is not None and refused(choice):
            yield Hit("/tool_choice", {"choice": choice if isinstance(choice, str) else "function"})

    return find


def _several(view: View) -> Iterator[Hit]:
    for i, message in view.messages:
        if len(list(objects(message.get("tool_calls")))) > 1:
            yield Hit(f"/messages/{i}/tool_calls")


def _unthought(view: View) -> Iterator[Hit]:
    thinking = view.payload.get("thinking")
    disabled = isinstance(thinking, dict) and thinking.get("type") == "disabled"
    if disabled or view.model in _WITHOUT_THINKING:
        return
    for i, message in view.messages:
        if message.get("tool_calls") and "reasoning_content" not in message:
            yield Hit(f"/messages/{i}/reasoning_content")


def _other_parts(view: View) -> Iterator[Hit]:
    for i, j, _, part in view.parts():
        if part.get("type") != "text":
            yield Hit(f"/messages/{i}/content/{j}/type", {"i": i, "kind": part.get("type")})


def _given(key: str) -> Callable[[View], Iterator[Hit]]:
    def find(view: View) -> Iterator[Hit]:
        if view.payload.get(key) not in (None, False):
            yield Hit(f"/{key}", {"model": view.model})

    return find


COMPATIBLE_RULES: tuple[Rule[View], ...] = (
    Rule(
        id="wire.openai-chat.assistant-after-tool",
        statement="After tool messages the assistant speaks: no user or system message follows them.",
        message="Unexpected role '{role}' after role 'tool'",
        type="invalid_request_message_order",
        code="3230",
        source=_MISTRAL,
        mend="put the text into the last tool message, or wait for the assistant's next message",
        native=False,
        find=_turned_away,
    ),
    Rule(
        id="wire.openai-chat.as-many-results",
        statement="As many tool messages follow an assistant message as it has calls.",
        message="Not the same number of function calls and responses",
        type="invalid_request_message_order",
        code="3230",
        source=_MISTRAL,
        mend="send one tool message for each call, directly after it",
        native=False,
        find=_miscounted,
    ),
    Rule(
        id="wire.openai-chat.last-not-assistant",
        statement="The last message is the user's or a tool's, unless it is marked as a prefix.",
        message="Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant",
        type="invalid_request_message_order",
        code="3230",
        source=_MISTRAL,
        mend="end with a user or tool message",
        native=False,
        find=_ends_on_assistant,
    ),
    Rule(
        id="wire.openai-chat.ids-of-nine",
        statement="Call ids are 9 letters and digits.",
        message="Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9.",
        type="invalid_function_call",
        code="3280",
        source="public reports of this text (Mistral, code 3280); mistral-common's validator",
        mend="send the ids that the server gave",
        native=False,
        find=_not_nine,
    ),
    Rule(
        id="wire.openai-chat.roles-alternate",
        statement="User and assistant alternate, the user first; tool messages belong to the assistant's turn.",
        message="Conversation roles must alternate user/assistant/user/assistant/...",
        type="BadRequestError",
        source="chat templates of open models; " + _REPORTS,
        mend="merge neighbouring messages of one role",
        native=False,
        find=_uneven,
    ),
    Rule(
        id="wire.openai-chat.system-first",
        statement="Only the first message is a system message.",
        message="System message must be at the beginning.",
        type="BadRequestError",
        source="chat templates of open models; " + _REPORTS,
        mend="put the text into the first system message or into a user message",
        native=False,
        find=_late_system,
    ),
    Rule(
        id="wire.openai-chat.no-developer",
        statement="There is no developer role.",
        message="messages[{i}].role: unknown variant `developer`, expected one of `system`, `user`, `assistant`, "
        "`tool`",
        source="public reports of this text (DeepSeek)",
        mend="send a system message",
        native=False,
        find=_developer,
    ),
    Rule(
        id="wire.openai-chat.tool-choice-not-none",
        statement="tool_choice none is not known: tools are left out instead.",
        message="tool_choice 'none' is not supported",
        param="tool_choice",
        source="servers that know auto only (rule; wording ours)",
        mend="leave the tools out of this request, or send no tool_choice",
        native=False,
        find=_choice(lambda choice: choice == "none"),
    ),
    Rule(
        id="wire.openai-chat.tool-choice-auto-only",
        statement="tool_choice forces nothing.",
        message="tool_choice '{choice}' is not supported",
        param="tool_choice",
        source="servers that know auto and none only (rule; wording ours)",
        mend="send auto, and ask for the tool in words",
        native=False,
        find=_choice(lambda choice: choice not in ("auto", "none")),
    ),
    Rule(
        id="wire.openai-chat.one-call-at-a-time",
        statement="An assistant message has one call.",
        message="This model only supports single tool-calls at once!",
        type="BadRequestError",
        source="chat templates of open models; " + _REPORTS,
        mend="replay each call in a message of its own, with its result directly after it",
        native=False,
        find=_several,
    ),
    Rule(
        id="wire.openai-chat.reasoning-content-kept",
        statement="In thinking mode, assistant messages with calls carry their reasoning_content.",
        message="The `reasoning_content` in the thinking mode must be passed back to the API.",
        code="invalid_request_error",
        source="public reports of this text (DeepSeek)",
        recorded="200 without it for deepseek-chat, which does not think, 2025-09-13",
        mend="replay reasoning_content with the calls, or disable thinking",
        native=False,
        find=_unthought,
    ),
    Rule(
        id="wire.openai-chat.text-parts-only",
        statement="Content parts are texts.",
        message="Failed to deserialize the JSON body into the target type: messages[{i}]: unknown variant `{kind}`, "
        "expected `text`",
        code="invalid_request_error",
        source="recorded 400 answers of api.deepseek.com (which add line and column)",
        mend="leave images, audio and files out, or describe them",
        native=False,
        find=_other_parts,
    ),
    Rule(
        id="wire.openai-chat.no-logprobs",
        statement="No logprobs are asked for.",
        message="Logprobs are not enabled for this model",
        source="recorded 400 answers of api.mistral.ai",
        mend="leave logprobs out",
        native=False,
        find=_given("logprobs"),
    ),
    Rule(
        id="wire.openai-chat.no-effort",
        statement="No reasoning effort is asked for.",
        message="Model {model} does not support parameter reasoningEffort.",
        source="recorded 400 answer of api.x.ai",
        mend="leave reasoning_effort out",
        native=False,
        find=_given("reasoning_effort"),
    ),
)
