"""Responses rules of single input items: roles, content parts, ids, files."""

from collections.abc import Callable, Iterator

from harness.wire.openai_responses.view import View
from harness.wire.rules import Hit, Rule

ROLES = ("assistant", "system", "developer", "user")
_REPORTS = "public reports of this text"
_RECORDED = "recorded 400 answers of api.openai.com"
_PREFIXES = {"function_call": "fc", "message": "msg", "reasoning": "rs", "custom_tool_call": "ctc"}
_LONGEST_OUTPUT = 10_485_760
_UNHEARD = (".mp3", ".wav", ".m4a", ".mp4", ".mov")


def _roles(view: View) -> Iterator[Hit]:
    for i, item in view.items:
        role = item.get("role")
        if isinstance(role, str) and role not in ROLES:
            yield Hit(f"/input/{i}/role", {"i": i, "role": role})


def _assistant_parts(view: View) -> Iterator[Hit]:
    for i, j, part in view.parts("assistant"):
        if part.get("type") in ("input_text", "text"):
            yield Hit(f"/input/{i}/content/{j}/type", {"i": i, "j": j, "kind": part["type"]})


def _user_parts(view: View) -> Iterator[Hit]:
    for i, j, part in view.parts("user"):
        if part.get("type") in ("text", "image_url"):
            yield Hit(f"/input/{i}/content/{j}/type", {"i": i, "j": j, "kind": part["type"]})


def _ids(broken: Callable[[str], bool]) -> Callable[[View], Iterator[Hit]]:
    def find(view: View) -> Iterator[Hit]:
        for one in (*view.calls, *view.outputs):
            if broken(one.call_id):
                yield Hit(f"/input/{one.place}/call_id", {"i": one.place, "length": len(one.call_id)})

    return find


def _foreign_ids(view: View) -> Iterator[Hit]:
    for i, item in view.items:
        prefix = _PREFIXES.get(str(item.get("type", "message")))
        item_id = item.get("id")
        if prefix is not None and isinstance(item_id, str) and not item_id.startswith(prefix):
            yield Hit(f"/input/{i}/id", {"i": i, "id": item_id, "prefix": prefix})


def _long_outputs(view: View) -> Iterator[Hit]:
    for i, item in view.items:
        value = item.get("output")
        if item.get("type") == "function_call_output" and isinstance(value, str) and len(value) > _LONGEST_OUTPUT:
            yield Hit(f"/input/{i}/output", {"i": i, "length": len(value), "most": _LONGEST_OUTPUT})


def _duplicates(view: View) -> Iterator[Hit]:
    seen: set[str] = set()
    for i, item in view.items:
        item_id = item.get("id")
        if isinstance(item_id, str):
            if item_id in seen:
                yield Hit(f"/input/{i}/id", {"id": item_id})
            seen.add(item_id)


def _heard_files(view: View) -> Iterator[Hit]:
    for place, data in view.files():
        kind = data.partition(";")[0].removeprefix("data:")
        if kind.startswith(("audio/", "video/")):
            pointer = "/" + place.replace("[", "/").replace("]", "").replace(".", "/")
            yield Hit(pointer, {"place": place, "kind": kind})


def _heard_urls(view: View) -> Iterator[Hit]:
    for i, item in view.items:
        for key in ("content", "output"):
            parts = item.get(key)
            for j, part in enumerate(parts if isinstance(parts, list) else ()):
                url = part.get("file_url") if isinstance(part, dict) else None
                if isinstance(url, str) and url.lower().endswith(_UNHEARD):
                    yield Hit(f"/input/{i}/{key}/{j}/file_url")


INPUT_RULES: tuple[Rule[View], ...] = (
    Rule(
        id="wire.openai-responses.roles",
        statement="A role is one of assistant, system, developer, user.",
        message="Invalid value: '{role}'. Supported values are: 'assistant', 'system', 'developer', and 'user'.",
        param="input[{i}]",
        code="invalid_value",
        source=_REPORTS,
        mend="send tool results as function_call_output items",
        find=_roles,
    ),
    Rule(
        id="wire.openai-responses.assistant-parts",
        statement="Parts of an assistant message are output_text or refusal.",
        message="Invalid value: '{kind}'. Supported values are: 'output_text' and 'refusal'.",
        param="input[{i}].content[{j}]",
        code="invalid_value",
        source=_REPORTS,
        mend="replay assistant text as output_text",
        find=_assistant_parts,
    ),
    Rule(
        id="wire.openai-responses.user-parts",
        statement="Parts of a user message have this wire's names, not those of Chat.",
        message="Invalid value: '{kind}'. Supported values are: 'input_text', 'input_image', 'output_text', 'refusal', "
        "'input_file', 'computer_screenshot', and 'summary_text'.",
        param="input[{i}].content[{j}].type",
        code="invalid_value",
        source=_REPORTS,
        mend="send input_text and input_image",
        find=_user_parts,
    ),
    Rule(
        id="wire.openai-responses.id-not-empty",
        statement="Call ids are not empty.",
        message="Invalid 'input[{i}].call_id': empty string. Expected a string with minimum length 1, but got an empty "
        "string instead.",
        param="input[{i}].call_id",
        code="empty_string",
        source="published OpenAPI document (call_id: 1 to 64)",
        mend="give each call an id, and send it with the output",
        find=_ids(lambda value: not value),
    ),
    Rule(
        id="wire.openai-responses.id-length",
        statement="Call ids have at most 64 characters.",
        message="Invalid 'input[{i}].call_id': string too long. Expected a string with maximum length 64, but got a "
        "string with length {length} instead.",
        param="input[{i}].call_id",
        code="string_above_max_length",
        source="published OpenAPI document (call_id: 1 to 64)",
        mend="use ids of at most 64 characters",
        find=_ids(lambda value: len(value) > 64),
    ),
    Rule(
        id="wire.openai-responses.item-id-prefix",
        statement="The id of an item begins as the provider's do (fc, msg, rs, ctc); a call id is not one.",
        message="Invalid 'input[{i}].id': '{id}'. Expected an ID that begins with '{prefix}'.",
        param="input[{i}].id",
        code="invalid_value",
        source=_REPORTS,
        mend="replay the id that the provider gave the item, or leave it out",
        find=_foreign_ids,
    ),
    Rule(
        id="wire.openai-responses.output-length",
        statement="The text of an output has at most 10,485,760 characters.",
        message="Invalid 'input[{i}].output': string too long. Expected a string with maximum length {most}, but got a "
        "string with length {length} instead.",
        param="input[{i}].output",
        code="string_above_max_length",
        source="published OpenAPI document, function_call_output",
        mend="shorten the result, and say that it was cut",
        find=_long_outputs,
    ),
    Rule(
        id="wire.openai-responses.item-once",
        statement="No item id stands twice in the input.",
        message="Duplicate item found with id {id}. Remove duplicate items from your input and try again.",
        param="input",
        source="github.com/vercel/ai/issues/13307",
        mend="send each item once",
        find=_duplicates,
    ),
    Rule(
        id="wire.openai-responses.file-kind",
        statement="An inline file is neither audio nor video.",
        message="Invalid file data: '{place}'. Expected a base64-encoded data URL with a valid file MIME type (e.g. "
        "'data:text/plain;base64,SGVsbG8sIFdvcmxkIQ=='), but got unsupported MIME type '{kind}'. Please see "
        "https://platform.openai.com/docs/assistants/tools/file-search#supported-files for supported file types.",
        param="{place}",
        code="invalid_value",
        source=_RECORDED,
        mend="leave the file out, or send its text",
        find=_heard_files,
    ),
    Rule(
        id="wire.openai-responses.file-address",
        statement="A file given by its address is neither audio nor video.",
        message="The file type you uploaded is not supported. Please try again with a pdf",
        param="input",
        code="unsupported_file",
        source=_RECORDED,
        mend="leave the file out, or send its text",
        find=_heard_urls,
    ),
)
