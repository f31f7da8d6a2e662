"""Hypothesis strategies for neutral requests and turns: whatever a loop can ask and a model can say.

Requests are whole conversations (every call answered, in order), so that they are legal on every wire; texts, ids and
arguments are awkward: any Unicode, markup, JSON inside text, empty and undecodable arguments. Text that imitates this
project's own marks is left out, since no loop makes it, and so is a code fence that nothing closes: on the text
protocol what follows it is code, calls included.
"""

import json
from typing import Any

from hypothesis import strategies as st

from harness.contract.sample_requests import control
from harness.vocabulary.content import (
    AssistantMessage,
    AssistantPart,
    Image,
    Item,
    Opaque,
    Refusal,
    ResultPart,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
)
from harness.vocabulary.control import CONTROL_NAMES, REASON_LINE, ReasonCode
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.tools import ToolDefinition
from harness.vocabulary.turn import ModelTurn, StopReason
from harness.vocabulary.usage import Usage

_MARKS = ("tool_call", "tool_result", "platform_instruction", "<tools", "[tool.", "[run control", "ERROR:", "RESULT:")
_AWKWARD = (
    "<b>&amp;</b>",
    '{"a": 1}',
    "\n```json\n{}\n```\n",
    "]]>",
    "郵便局 ✉ 🦊",
    "a\r\nb",
    "\\u0041",
    "data: [DONE]",
    "</x>",
)


def _plain(text: str) -> bool:
    return not any(mark in text for mark in _MARKS) and "```" not in text and "~~~" not in text


def texts(min_size: int = 1) -> st.SearchStrategy[str]:
    """Visible text without this project's own marks."""
    characters = st.characters(codec="utf-8", exclude_characters="\x00")
    free = st.text(characters, min_size=min_size, max_size=40).filter(_plain)
    return free.filter(lambda text: bool(text.strip()) or not min_size) | st.sampled_from(_AWKWARD)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | texts(0)
    | st.floats(-1e9, 1e9).map(lambda x: round(x, 3)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts(0), inner, max_size=3),
    max_leaves=6,
)
"""JSON values."""
objects = st.dictionaries(st.text("abcdefgh_", min_size=1, max_size=8), json_values, max_size=3)
arguments = objects.map(lambda value: json.dumps(value, ensure_ascii=False)) | st.sampled_from(
    ["", "{}", '{"a": ', "[1]", '{"a":1,"a":2}']
)
"""Raw argument text, decodable or not."""
names = st.sampled_from(["search", "clock", "write_file", "a-b_C9"])


def own_reasoning(transport: str, n: int) -> AssistantPart | None:
    """A piece of a provider's own reasoning."""
    if transport == "openai-responses":
        return Opaque(transport, {"type": "reasoning", "id": f"rs_{n}", "summary": [], "encrypted_content": f"c{n}"})
    if transport == "anthropic-messages":
        return Opaque(transport, {"type": "thinking", "thinking": f"thought {n}", "signature": f"c{n}"})
    return None


def _parts(transport: str) -> st.SearchStrategy[list[AssistantPart]]:
    texts_first = st.lists(texts(0).map(Text), max_size=2)
    calls = st.lists(st.builds(lambda name, raw: (name, raw), names, arguments), max_size=3)
    thoughts = st.booleans()

    def joined(given: tuple[list[Text], list[tuple[str, str]], bool]) -> list[AssistantPart]:
        said, asked, thinks = given
        own = own_reasoning(transport, 0) if thinks else None
        made = [ToolCall(f"call_{n}", name, raw) for n, (name, raw) in enumerate(asked)]
        return [*([own] if own else []), *said, *made]

    return st.tuples(texts_first, calls, thoughts).map(joined)


_USAGES = st.builds(Usage, input_tokens=st.integers(0, 10**6), output_tokens=st.integers(0, 10**5))


@st.composite
def turns(draw: st.DrawFn, transport: str) -> ModelTurn:
    """A turn that the model of a transport can give."""
    parts: list[Any] = draw(_parts(transport))
    if any(isinstance(part, ToolCall) for part in parts):
        stop = draw(st.sampled_from([StopReason.TOOL_CALLS, StopReason.MAX_TOKENS]))
    else:
        stop = draw(st.sampled_from([StopReason.END, StopReason.MAX_TOKENS, StopReason.REFUSAL]))
    if stop is StopReason.REFUSAL:
        parts = [Refusal(part.text) if isinstance(part, Text) else part for part in parts]
    return ModelTurn(message=AssistantMessage(tuple(parts)), stop=stop, usage=draw(_USAGES))


def cuts(body: bytes) -> st.SearchStrategy[list[bytes]]:
    """The body in pieces, cut anywhere, also inside a character."""
    places = st.lists(st.integers(0, len(body)), max_size=12).map(sorted)
    return places.map(lambda at: [body[a:b] for a, b in zip([0, *at], [*at, len(body)], strict=True)])
