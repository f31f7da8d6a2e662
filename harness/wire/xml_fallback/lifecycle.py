"""The life of a stream of the XML fallback: a Chat stream without calls of the wire's own.

Source: the lifecycle of Chat Completions; the project's wire conventions (tools as text).
"""

from typing import Any

from harness.wire.openai_chat.lifecycle import TABLE, ChatLifecycle
from harness.wire.stream_rules import Row, rows

ID = "xml-fallback"
_NO_CALLS = Row(
    "no-calls",
    "An answer to a request without tools holds no tool call of the wire's own.",
    "API reference: a model calls only tools that the request defines",
)
RULES = rows(ID, (*(row for row in TABLE if not row.slug.startswith("call-")), _NO_CALLS))


class XmlLifecycle(ChatLifecycle):
    """One stream of the text protocol."""

    def call(self, choice: int, call: dict[str, Any], pointer: str) -> None:
        """See ChatLifecycle."""
        self.breach("no-calls", pointer, "the request defines no tool")
