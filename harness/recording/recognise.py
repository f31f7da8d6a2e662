"""Which wire an exchange speaks: told by its URL, by a name that the capture gives, or by the shape of its bodies.

The XML fallback shares URL and shape with Chat Completions; it is known by the tool section that this project writes,
or by a result message of the same format. None means: no wire that this project knows.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness.recording.exchange import Body
from harness.wire.registry import CODEC_IDS

CHAT, RESPONSES, ANTHROPIC, XML = "openai-chat", "openai-responses", "anthropic-messages", "xml-fallback"
_NAMES = {
    **{name: name for name in CODEC_IDS},
    "openai_chat": CHAT,
    "openai_responses": RESPONSES,
    "anthropic": ANTHROPIC,
    "anthropic_messages": ANTHROPIC,
    "xml_fallback": XML,
}
_PATHS = (
    (re.compile(r"/responses/?$"), RESPONSES),
    (re.compile(r"/chat/completions/?$"), CHAT),
    (re.compile(r"/messages/?$"), ANTHROPIC),
)
_CHAT_ROLES = frozenset({"system", "developer", "tool", "function"})
_ANTHROPIC_BLOCKS = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking", "document"})
_XML_MARKS = ("\n<tools>\n<tool name=", "<tool_results>\n<tool_result ", "<platform_instruction>\n")


def by_name(name: object) -> str | None:
    """The transport that a capture calls by this name."""
    return _NAMES.get(name) if isinstance(name, str) else None


def by_path(path: str) -> str | None:
    """The transport of a URL path (its query left out)."""
    bare = path.partition("?")[0]
    return next((transport for pattern, transport in _PATHS if pattern.search(bare)), None)


def by_request(request: Any) -> str | None:
    """The transport of a request body."""
    if not isinstance(request, Mapping):
        return None
    if "messages" in request:
        return ANTHROPIC if _is_anthropic(request) else CHAT
    return RESPONSES if "input" in request and "encoding_format" not in request else None


def _is_anthropic(request: Mapping[str, Any]) -> bool:
    messages = [one for one in _list(request["messages"]) if isinstance(one, Mapping)]
    if any(one.get("role") in _CHAT_ROLES - {"system"} or "tool_calls" in one for one in messages):
        return False
    signs = (
        "system" in request,
        "anthropic_version" in request,
        "stop_sequences" in request,
        str(request.get("model", "")).startswith(("claude", "anthropic.")),
        isinstance(request.get("tool_choice"), Mapping) and "function" not in request["tool_choice"],
        any(isinstance(tool, Mapping) and "input_schema" in tool for tool in _list(request.get("tools"))),
        any(block.get("type") in _ANTHROPIC_BLOCKS for one in messages for block in _blocks(one)),
    )
    return any(signs)


def _blocks(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [block for block in _list(message.get("content")) if isinstance(block, Mapping)]


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


_SHAPES: tuple[tuple[str, Callable[[Mapping[str, Any]], bool]], ...] = (
    (RESPONSES, lambda body: body.get("object") == "response" or str(body.get("type")).startswith("response.")),
    (CHAT, lambda body: str(body.get("object")).startswith("chat.completion")),
    (ANTHROPIC, lambda body: body.get("type") in ("message", "message_start", "error")),
    (CHAT, lambda body: "choices" in body or "error" in body),
)


def by_response(body: Body | None) -> str | None:
    """The transport of an answer, whole or streamed. An error body that does not say more counts as Chat's."""
    for document in _documents(body):
        if isinstance(document, Mapping):
            return next((transport for transport, fits in _SHAPES if fits(document)), None)
    return None


def _documents(body: Body | None) -> list[Any]:
    """The answer's JSON documents: one, or the first of a stream."""
    if body is None:
        return []
    try:
        return [first_event(body.data)] if body.kind == "sse" else [body.json]
    except ValueError:
        return []


def first_event(stream: bytes) -> Any:
    """The data of a stream's first event. Raises ValueError where that is not JSON."""
    for line in stream.splitlines():
        if line.startswith(b"data:"):
            return json.loads(line[len(b"data:") :])
    raise ValueError("no data in this stream")


def is_xml(request: Any) -> bool:
    """Whether a Chat request is one of the XML fallback: tools stand in its texts, none in its fields."""
    if not isinstance(request, Mapping) or request.get("tools"):
        return False
    texts = (one.get("content") for one in _list(request.get("messages")) if isinstance(one, Mapping))
    return any(mark in text for text in texts if isinstance(text, str) for mark in _XML_MARKS)


def recognised(*, name: object, path: str, request: Any, response: Body | None) -> str | None:
    """The transport of an exchange, by the first sign that tells."""
    found = by_name(name) or by_path(path) or by_request(request) or by_response(response)
    return XML if found == CHAT and is_xml(request) else found
