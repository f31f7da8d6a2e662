"""Hypothesis strategies for model turns and what they are made of: whatever a model can say.

Texts, ids and arguments are awkward: any Unicode, markup, JSON inside text, empty and undecodable arguments. A model's
text holds no mark of this project's own protocols: on a wire whose calls are text it would be a call. For the same
reason it opens no code fence that nothing closes, since what follows one is code, calls included. Requests are in
`strategies_requests`.
"""

import json
from typing import Any

from hypothesis import strategies as st

from harness.contract.carried_turns import stops_of
from harness.vocabulary.content import AssistantMessage, AssistantPart, Opaque, Refusal, Text, ToolCall
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
    "a\u2028b",
)


def _plain(text: str) -> bool:
    return not any(mark in text for mark in (*_MARKS, "`", "~~~"))


def texts(min_size: int = 1) -> st.SearchStrategy[str]:
    """Text without this project's own marks; not blank unless `min_size` is 0."""
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
    [
        "",
        "{}",
        '{"a": ',
        '{"a":"\\ud800"}',
        "[1]",
        '{"a":1,"a":2}',
        '{"a":NaN}',
        '{"a":1e999}',
        '{"a":"<>&\\"]]>"}',
        ' {"a" : 1} ',
        "null",
    ]
)
"""Raw argument text, decodable or not."""
names = st.sampled_from(["search", "clock", "write_file", "a-b_C9"])


def own_reasoning(transport: str, n: int) -> AssistantPart | None:
    """A piece of a provider's own reasoning, the `n`th; None where the wire has none."""
    if transport == "openai-responses":
        return Opaque(transport, {"type": "reasoning", "id": f"rs_{n}", "summary": [], "encrypted_content": f"c{n}"})
    if transport == "anthropic-messages":
        return Opaque(transport, {"type": "thinking", "thinking": f"thought {n}", "signature": f"c{n}"})
    return None


@st.composite
def _parts(draw: st.DrawFn, transport: str) -> list[AssistantPart]:
    """Thoughts first, then words and calls in any order, as often as not words before calls."""
    own = own_reasoning(transport, 0) if draw(st.booleans()) else None
    said: list[AssistantPart] = list(map(Text, draw(st.lists(texts(0), max_size=2))))
    asked = draw(st.lists(st.tuples(names, arguments), max_size=3))
    said += [ToolCall(f"call_{n}", name, raw) for n, (name, raw) in enumerate(asked)]
    spoken = draw(st.permutations(said)) if draw(st.booleans()) else said
    return [*([own] if own else []), *spoken]


def _some(most: int) -> st.SearchStrategy[int | None]:
    return st.none() | st.integers(0, most)


usages = st.builds(Usage, input_tokens=_some(10**6), output_tokens=_some(10**5)) | st.builds(
    lambda plain, cached, said, thought: Usage(
        input_tokens=plain + cached, cached_tokens=cached, output_tokens=said + thought, reasoning_tokens=thought
    ),
    *(st.integers(0, 10**5),) * 4,
)
"""Usage, in part or in full."""
_WITH_CALLS = frozenset({StopReason.TOOL_CALLS, StopReason.MAX_TOKENS, StopReason.CONTEXT_FULL})
_WITHOUT_CALLS = frozenset(StopReason) - {StopReason.TOOL_CALLS}


@st.composite
def turns(draw: st.DrawFn, transport: str) -> ModelTurn:
    """A turn that the model of a transport can give."""
    parts: list[Any] = draw(_parts(transport))
    fitting = _WITH_CALLS if any(isinstance(part, ToolCall) for part in parts) else _WITHOUT_CALLS
    stop = draw(st.sampled_from([one for one in StopReason if one in fitting & stops_of(transport)]))
    if stop is StopReason.REFUSAL:
        parts = [Refusal(part.text) if isinstance(part, Text) else part for part in parts]
    response_id = draw(st.sampled_from(["", "given-by-the-provider"]))
    return ModelTurn(message=AssistantMessage(tuple(parts)), stop=stop, usage=draw(usages), response_id=response_id)


def cuts(body: bytes) -> st.SearchStrategy[list[bytes]]:
    """The body in pieces, cut anywhere, also inside a character."""
    places = st.lists(st.integers(0, len(body)), max_size=12).map(sorted)
    return places.map(lambda at: [body[a:b] for a, b in zip([0, *at], [*at, len(body)], strict=True)])
