"""Text at the border: well formed, measured in UTF-8 bytes, cut only between code points."""

import re

from harness.vocabulary.content import AssistantMessage, Image, Item, Opaque, Refusal, Text, ToolCall, ToolResult

_SURROGATE_ESCAPES = re.compile(
    r"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<lone>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
"""An escaped backslash, a pair, or a lone surrogate, whichever stands first."""


def well_formed(text: str) -> str:
    """`text` with each lone surrogate as U+FFFD (loop.context.well-formed-text)."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def well_formed_json(text: str) -> str:
    """JSON text in which no string holds a lone surrogate, neither as itself nor escaped."""
    text = well_formed(text)
    return _SURROGATE_ESCAPES.sub(_mended_escape, text) if "\\u" in text else text


def _mended_escape(match: re.Match[str]) -> str:
    return "\\ufffd" if match["lone"] else match[0]


def byte_length(text: str) -> int:
    """Length in UTF-8 bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def head(text: str, limit: int) -> str:
    """The longest beginning of `text` that has at most `limit` bytes."""
    return text.encode("utf-8")[: max(limit, 0)].decode("utf-8", "ignore")


def tail(text: str, limit: int) -> str:
    """The longest end of `text` that has at most `limit` bytes."""
    raw = text.encode("utf-8")
    return raw[max(len(raw) - limit, 0) :].decode("utf-8", "ignore") if limit > 0 else ""


def part_bytes(part: object) -> int:
    """Size of one part of a message in UTF-8 bytes."""
    match part:
        case Text(text) | Refusal(text):
            return byte_length(text)
        case ToolCall(call_id=_, name=name, arguments=arguments):
            return byte_length(name) + byte_length(arguments)
        case Image(data=data):
            return len(data)
        case Opaque(payload=payload):
            return byte_length(str(payload))
    return 0


def item_bytes(item: Item) -> int:
    """Size of one conversation item in UTF-8 bytes, as the context estimate counts it."""
    if isinstance(item, (AssistantMessage, ToolResult)) or hasattr(item, "content"):
        return sum(map(part_bytes, item.content))
    return byte_length(item.text)


def clean_part(part: object) -> object:
    """A part whose texts are well formed; the same object where nothing had to change."""
    match part:
        case Text(text):
            clean = well_formed(text)
            return part if clean is text else Text(clean)
        case Refusal(text):
            clean = well_formed(text)
            return part if clean is text else Refusal(clean)
        case ToolCall(call_id, name, arguments):
            pair = well_formed(name), well_formed_json(arguments)
            return part if pair == (name, arguments) else ToolCall(call_id, *pair)
    return part
