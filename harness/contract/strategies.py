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
invented = names | st.sampled_from(
    ["bank.transfer!", "weird name/✓", "", "n" * 65, "n" * 129, "a\nb", '<&">', "é", "a "]
)
"""Names of called tools as a model can write them, declared or not."""
TOOLS = tuple(
    ToolDefinition(name=name, description=f"Does {name}.", parameters={"type": "object", "properties": {}})
    for name in ("search", "clock", "write_file", "a-b_C9")
)
_IMAGE = Image("image/png", "aVZCT1J3MEtHZ28=")


def _opaque(transport: str, n: int) -> AssistantPart | None:
    """A piece of a provider's own reasoning."""
    if transport == "openai-responses":
        return Opaque(transport, {"type": "reasoning", "id": f"rs_{n}", "summary": [], "encrypted_content": f"c{n}"})
    if transport == "anthropic-messages":
        return Opaque(transport, {"type": "thinking", "thinking": f"thought {n}", "signature": f"c{n}"})
    return None


@st.composite
def _results(draw: st.DrawFn, calls: tuple[ToolCall, ...]) -> list[Item]:
    made: list[Item] = []
    for call in calls:
        failed = draw(st.booleans())
        code = draw(st.sampled_from(list(ReasonCode))).value if failed else None
        text = draw(texts(0))
        said = Text(f"{REASON_LINE.format(code=code)}\n{text}" if code else text)
        content: tuple[ResultPart, ...] = (said, _IMAGE) if draw(st.integers(0, 5)) == 0 else (said,)
        made.append(
            ToolResult(call_id=call.call_id, tool=call.name, content=content, is_error=failed, reason_code=code)
        )
    return made


@st.composite
def requests(draw: st.DrawFn, transport: str) -> ModelRequest:
    """A legal request of any loop, for one transport (whose own reasoning it may replay)."""
    items: list[Item] = [UserMessage((Text(draw(texts())),))]
    number = 0
    for step in range(draw(st.integers(0, 3))):
        calls = []
        for _ in range(draw(st.integers(1, 3))):
            number += 1
            calls.append(ToolCall(f"x{number}", draw(invented), draw(arguments)))
        thought = _opaque(transport, step) if draw(st.booleans()) else None
        said = [Text(draw(texts()))] if draw(st.booleans()) else []
        parts: list[AssistantPart] = [*([thought] if thought else []), *said, *calls]
        items.append(AssistantMessage(tuple(parts)))
        items += draw(_results(tuple(calls)))
    synthesis = draw(st.sampled_from([None, *CONTROL_NAMES]))
    return ModelRequest(
        model="sim-model",
        system=draw(texts()),
        tools=TOOLS,
        items=tuple(items),
        control=control(synthesis) if synthesis else None,
        tool_choice="none" if synthesis else None,
        max_output_tokens=draw(st.none() | st.integers(64, 9000)),
    )


def _parts(transport: str) -> st.SearchStrategy[list[AssistantPart]]:
    texts_first = st.lists(texts(0).map(Text), max_size=2)
    calls = st.lists(st.builds(lambda name, raw: (name, raw), names, arguments), max_size=3)
    thoughts = st.booleans()

    def joined(given: tuple[list[Text], list[tuple[str, str]], bool]) -> list[AssistantPart]:
        said, asked, thinks = given
        own = _opaque(transport, 0) if thinks else None
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
