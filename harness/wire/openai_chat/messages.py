"""Chat rules of single messages: roles, content, parts, ids."""

from collections.abc import Callable, Iterator

from harness.wire import openai_models as models
from harness.wire.openai_chat.view import View
from harness.wire.reading import text_or
from harness.wire.rules import Hit, Rule

ROLES = ("system", "assistant", "user", "function", "tool", "developer")
_REPORTS = "public reports of this text"
_RECORDED = "recorded 400 answers of api.openai.com"
_INSTEAD_OF_CONTENT = ("tool_calls", "function_call", "refusal", "audio")


def _empty_messages(view: View) -> Iterator[Hit]:
    if view.payload.get("messages") == []:
        yield Hit("/messages")


def _roles(view: View) -> Iterator[Hit]:
    for i, message in view.messages:
        role = message.get("role")
        if isinstance(role, str) and role not in ROLES:
            yield Hit(f"/messages/{i}/role", {"i": i, "role": role})


def _platform_roles(view: View) -> Iterator[Hit]:
    for i, message in view.messages:
        if message.get("role") in ("system", "developer") and models.refuses_platform_roles(view.model):
            yield Hit(f"/messages/{i}/role", {"i": i, "role": message["role"]})


def _no_content(view: View) -> Iterator[Hit]:
    for i, message in view.messages:
        others = _INSTEAD_OF_CONTENT if message.get("role") == "assistant" else ()
        absent = message.get("content") is None and ("content" in message or bool(others))
        if absent and all(message.get(key) is None for key in others):
            yield Hit(f"/messages/{i}/content", {"i": i})


def _empty_calls(view: View) -> Iterator[Hit]:
    for i, message in view.messages:
        if message.get("tool_calls") == []:
            yield Hit(f"/messages/{i}/tool_calls", {"i": i})


def _many_calls(view: View) -> Iterator[Hit]:
    for i, message in view.messages:
        calls = message.get("tool_calls")
        if isinstance(calls, list) and len(calls) > 128:
            yield Hit(f"/messages/{i}/tool_calls", {"i": i, "length": len(calls)})


def _images(view: View) -> Iterator[Hit]:
    for i, j, role, part in view.parts():
        if part.get("type") == "image_url" and role != "user":
            yield Hit(f"/messages/{i}/content/{j}", {"i": i, "role": role})


def _audio(view: View) -> Iterator[Hit]:
    for i, j, _, part in view.parts():
        if part.get("type") == "input_audio" and not models.hears(view.model):
            yield Hit(f"/messages/{i}/content/{j}", {"i": i})


def _file_data(view: View) -> Iterator[Hit]:
    for i, j, _, part in view.parts():
        file = part.get("file") if part.get("type") == "file" else None
        data = text_or(file.get("file_data"), "data:") if isinstance(file, dict) else "data:"
        if not data.startswith("data:"):
            yield Hit(f"/messages/{i}/content/{j}/file/file_data", {"i": i, "j": j})


def _ids(broken: Callable[[str], bool]) -> Callable[[View], Iterator[Hit]]:
    def find(view: View) -> Iterator[Hit]:
        for place, pointer, value in _all_ids(view):
            if isinstance(value, str) and broken(value):
                yield Hit(pointer, {"place": place, "length": len(value)})

    return find


def _all_ids(view: View) -> Iterator[tuple[str, str, object]]:
    for i, j, call in view.calls():
        yield f"messages[{i}].tool_calls[{j}].id", f"/messages/{i}/tool_calls/{j}/id", call.get("id")
    for i, message in view.messages:
        if message.get("role") == "tool":
            yield f"messages[{i}].tool_call_id", f"/messages/{i}/tool_call_id", message.get("tool_call_id")


MESSAGE_RULES: tuple[Rule[View], ...] = (
    Rule(
        id="wire.openai-chat.messages-not-empty",
        statement="There is at least one message.",
        message="Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array "
        "instead.",
        param="messages",
        code="empty_array",
        source=_REPORTS,
        mend="send at least one message",
        find=_empty_messages,
    ),
    Rule(
        id="wire.openai-chat.roles",
        statement="A role is one of system, assistant, user, function, tool, developer.",
        message="Invalid value: '{role}'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and "
        "'developer'.",
        param="messages[{i}].role",
        code="invalid_value",
        source=_REPORTS,
        mend="use a role of the API",
        find=_roles,
    ),
    Rule(
        id="wire.openai-chat.platform-roles",
        statement="o1-mini and o1-preview take neither system nor developer messages.",
        message="Unsupported value: 'messages[{i}].role' does not support '{role}' with this model.",
        param="messages[{i}].role",
        code="unsupported_value",
        source=_RECORDED,
        mend="send the text as a user message, or use another model",
        find=_platform_roles,
    ),
    Rule(
        id="wire.openai-chat.content-not-null",
        statement="Only an assistant message with calls, a refusal or audio has no content.",
        message="Invalid value for 'content': expected a string, got null.",
        param="messages.[{i}].content",
        source=_REPORTS,
        mend="send content as a string or parts",
        find=_no_content,
    ),
    Rule(
        id="wire.openai-chat.calls-not-empty",
        statement="`tool_calls` of a message holds at least one call where it is sent.",
        message="Invalid 'messages[{i}].tool_calls': empty array. Expected an array with minimum length 1, but got an "
        "empty array instead.",
        param="messages[{i}].tool_calls",
        code="empty_array",
        source=_REPORTS,
        mend="leave tool_calls out when there are none",
        find=_empty_calls,
    ),
    Rule(
        id="wire.openai-chat.at-most-128-calls",
        statement="A message has at most 128 calls.",
        message="Invalid 'messages[{i}].tool_calls': array too long. Expected an array with maximum length 128, but "
        "got an array with length {length} instead.",
        param="messages[{i}].tool_calls",
        code="array_above_max_length",
        source=_REPORTS,
        mend="shorten the batch and its results alike",
        find=_many_calls,
    ),
    Rule(
        id="wire.openai-chat.images-from-user",
        statement="Images stand in user messages only.",
        message="Invalid 'messages[{i}]'. Image URLs are only allowed for messages with role 'user', but this message "
        "with role '{role}' contains an image URL.",
        param="messages[{i}]",
        code="invalid_value",
        source=_REPORTS,
        mend="move the images of tool results into a user message after all tool messages of the batch",
        find=_images,
    ),
    Rule(
        id="wire.openai-chat.audio-model",
        statement="Audio parts are for audio models; text members of GPT-4o and GPT-5 refuse them.",
        message="Invalid 'messages[{i}]'. Content blocks are expected to be either text or image_url type.",
        param="messages[{i}]",
        code="invalid_value",
        source=_RECORDED,
        mend="leave audio out, or use an audio model",
        find=_audio,
    ),
    Rule(
        id="wire.openai-chat.file-data-url",
        statement="file_data is a data URL.",
        message="Invalid file data: 'messages[{i}].content[{j}].file.file_data'. Expected a base64-encoded data URL "
        "with an application/pdf MIME type (e.g. 'data:application/pdf;base64,SGVsbG8sIFdvcmxkIQ=='), but got a value "
        "without the 'data:' prefix.",
        param="messages[{i}].content[{j}].file.file_data",
        code="invalid_value",
        source=_RECORDED,
        mend="send the file as a base64 data URL",
        find=_file_data,
    ),
    Rule(
        id="wire.openai-chat.id-not-empty",
        statement="Call ids are not empty.",
        message="Invalid '{place}': empty string. Expected a string with minimum length 1, but got an empty string "
        "instead.",
        param="{place}",
        code="empty_string",
        source=_REPORTS,
        mend="give each call an id, and send it with the result",
        find=_ids(lambda value: not value),
    ),
    Rule(
        id="wire.openai-chat.id-length",
        statement="Call ids have at most 40 characters.",
        message="Invalid '{place}': string too long. Expected a string with maximum length 40, but got a string with "
        "length {length} instead.",
        param="{place}",
        code="string_above_max_length",
        source=_REPORTS,
        mend="use ids of at most 40 characters",
        find=_ids(lambda value: len(value) > 40),
    ),
)
