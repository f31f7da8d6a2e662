"""What the contract knows of each wire, as data: where the conversation stands, how calls are forbidden, what a status
means, and a piece of reasoning as the provider would give it.

Source: wire-facts sections 2 to 6; loop.md sections 4 and 6.
"""

import hashlib
from typing import Any

from harness.vocabulary.turn import FaultKind

CONVERSATION = {
    "openai-responses": "input",
    "openai-chat": "messages",
    "anthropic-messages": "messages",
    "xml-fallback": "messages",
}
"""Payload key of the messages."""
NONE_CHOICE: dict[str, Any] = {
    "openai-responses": "none",
    "openai-chat": "none",
    "anthropic-messages": {"type": "none"},
    "xml-fallback": None,
}
"""`tool_choice` of a synthesis request; None: the wire has none, and shows no tools instead."""
REASONING: dict[str, Any] = {
    "openai-responses": {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [],
        "encrypted_content": "opaque-7c1e-gAAAA",
    },
    "anthropic-messages": {"type": "thinking", "thinking": "opaque-7c1e", "signature": "EqQBCkYIARgC"},
}
"""Opaque reasoning by the transport that gave it."""
OTHER_PROVIDER = {
    "openai-responses": "anthropic-messages",
    "openai-chat": "anthropic-messages",
    "anthropic-messages": "openai-responses",
    "xml-fallback": "openai-responses",
}
STATUS_KINDS = {
    400: FaultKind.PERMANENT,
    401: FaultKind.PERMANENT,
    403: FaultKind.PERMANENT,
    404: FaultKind.PERMANENT,
    408: FaultKind.TRANSIENT,
    409: FaultKind.TRANSIENT,
    413: FaultKind.PERMANENT,
    422: FaultKind.PERMANENT,
    429: FaultKind.TRANSIENT,
    500: FaultKind.TRANSIENT,
    502: FaultKind.TRANSIENT,
    503: FaultKind.TRANSIENT,
    504: FaultKind.TRANSIENT,
    529: FaultKind.TRANSIENT,
}
"""What a status means where the body says nothing more."""
TOO_LONG: dict[str, tuple[str, str | None]] = {
    "openai-responses": ("Your input exceeds the context window of this model.", "context_length_exceeded"),
    "openai-chat": ("This model's maximum context length is 8192 tokens.", "context_length_exceeded"),
    "anthropic-messages": ("prompt is too long: 210000 tokens > 200000 maximum", None),
    "xml-fallback": ("This model's maximum context length is 8192 tokens.", "context_length_exceeded"),
}
"""Message and code of an input that is too long."""
OVERLOADED = {
    "openai-responses": "server_error",
    "openai-chat": "server_error",
    "anthropic-messages": "overloaded_error",
    "xml-fallback": "server_error",
}
"""Type of an error that passes by itself."""


def own_secret() -> str:
    """A text in the shape of a provider's key that is nobody's. Made here, so that no file holds one."""
    return "sk-" + hashlib.sha256(b"no key of anybody").hexdigest()
