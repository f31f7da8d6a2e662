"""The XML fallback format: frames in text, in any chunking, and back into text."""

from functools import cache
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.transports.xml_fallback_parse import FrameReader
from harness.transports.xml_frames import OPEN

Piece = tuple[str, ...]


def read(*chunks: str) -> list[Piece]:
    """Texts as `("text",)` pairs joined, calls as name and raw arguments, in order."""
    pieces: list[Piece] = []

    def on_text(text: str) -> None:
        if pieces and len(pieces[-1]) == 1:
            pieces[-1] = (pieces[-1][0] + text,)
        elif text:
            pieces.append((text,))

    reader = FrameReader(on_text, lambda name, arguments: pieces.append((name, arguments)))
    for chunk in chunks:
        reader.feed(chunk)
    reader.close()
    return pieces


def frame(body: str, name: str = "f") -> str:
    return f'<tool_call name="{name}">{body}</tool_call>'


ONE = frame('{"a":1}')
CALL = ("f", '{"a":1}')

DOCUMENTS: dict[str, tuple[str, list[Piece]]] = {
    "text alone": ("Hello, world.\n", [("Hello, world.\n",)]),
    "a call alone": (ONE, [CALL]),
    "text around a call, in order": (f"Before.\n{ONE}\nAfter.", [("Before.",), CALL, ("After.",)]),
    "exactly one line end on each side belongs to the frame": (f"a\n\n{ONE}\n\nb", [("a\n",), CALL, ("\nb",)]),
    "a call inside a line": (f"a {ONE} b", [("a ",), CALL, (" b",)]),
    "white space between frames is dropped": (f"{ONE}\n \n\t{ONE}", [CALL, CALL]),
    "white space after the last frame stays": (f"{ONE}\n\n", [CALL, ("\n",)]),
    "text between frames keeps its white space": (f"{ONE}\n  x\n\n{ONE}", [CALL, ("  x\n",), CALL]),
    "entities are decoded once": (
        frame("{&quot;a&quot;:&quot;&amp;lt;&lt;&gt;&apos;&quot;}"),
        [("f", '{"a":"&lt;<>\'"}')],
    ),
    "an unknown entity stays": (frame('{"a":"&nbsp;&#39;&"}'), [("f", '{"a":"&nbsp;&#39;&"}')]),
    "cdata is verbatim": (frame('<![CDATA[{"a":"&lt;</tool_call>]]"}]]>'), [("f", '{"a":"&lt;</tool_call>]]"}')]),
    "cdata in pieces": (frame('<![CDATA[{"a":"]]]]><![CDATA[>"}]]>'), [("f", '{"a":"]]>"}')]),
    "cdata inside a string is content": (frame('{"a":"<![CDATA[x]]>"}'), [("f", '{"a":"<![CDATA[x]]>"}')]),
    "a closing tag inside a string is content": (frame('{"a":"</tool_call>"}'), [("f", '{"a":"</tool_call>"}')]),
    "an escaped quote does not end a string": (frame(r'{"a":"\"</tool_call>"}'), [("f", r'{"a":"\"</tool_call>"}')]),
    "an escaped backslash does": (frame(r'{"a":"\\"}'), [("f", r'{"a":"\\"}')]),
    "a quote written as an entity counts": (
        frame("{&quot;a&quot;:&quot;</tool_call>&quot;}"),
        [("f", '{"a":"</tool_call>"}')],
    ),
    "markup inside a string is content": (frame('{"html":"<b>x</b>"}'), [("f", '{"html":"<b>x</b>"}')]),
    "a string that never closes ends at the last closing tag": (
        f"{frame(chr(123) + chr(34) + 'a}')} then {ONE}, done",
        [("f", '{"a}</tool_call> then <tool_call name="f">{"a":1}'), (", done",)],
    ),
    "cdata that never closes ends at the last closing tag": (
        frame('<![CDATA[{"a":1}') + "x",
        [("f", '{"a":1}'), ("x",)],
    ),
    "a stream that ends in a body keeps the call": ('x\n<tool_call name="f">{"a":"b', [("x",), ("f", '{"a":"b')]),
    "a stream that ends in a closing tag keeps the call": ('<tool_call name="f">{"a":1}</tool', [CALL]),
    "a stream that ends in an entity keeps it": ('<tool_call name="f">{"a":"&l', [("f", '{"a":"&l')]),
    "a stream that ends in an opening tag is text": ('x\n<tool_call name="f', [('x\n<tool_call name="f',)]),
    "other attributes are passed over": ('<tool_call id="x9" name="f" kind=\'k\'>{}</tool_call>', [("f", "{}")]),
    "an attribute may stand on its own line": ("<tool_call\n  name = 'f'\n>{}</tool_call>", [("f", "{}")]),
    "a name is decoded": (frame("{}", "a&amp;b"), [("a&b", "{}")]),
    "no name is text": ('<tool_call>{"name":"f"}</tool_call>', [('<tool_call>{"name":"f"}</tool_call>',)]),
    "an empty name is text": ('<tool_call name="">{}</tool_call>', [('<tool_call name="">{}</tool_call>',)]),
    "two names are text": (
        '<tool_call name="a" name="b">{}</tool_call>',
        [('<tool_call name="a" name="b">{}</tool_call>',)],
    ),
    "a longer element name is text": ('<tool_calls name="f">', [('<tool_calls name="f">',)]),
    "an empty element is text": ('<tool_call name="f"/>', [('<tool_call name="f"/>',)]),
    "unknown markup makes the frame text": (frame("<arg>1</arg>") + f"\n{ONE}", [(frame("<arg>1</arg>"),), CALL]),
    "a frame inside a broken frame is a call": (f'<tool_call name="g">\n{ONE}', [('<tool_call name="g">',), CALL]),
    "an empty body is empty arguments": (frame("\n "), [("f", "")]),
    "a frame inside a code fence is text": (f"a\n```xml\n{ONE}\n```\nb", [(f"a\n```xml\n{ONE}\n```\nb",)]),
    "a fence may be indented by three spaces": (f"   ```\n{ONE}\n```\n", [(f"   ```\n{ONE}\n```\n",)]),
    "four spaces open no fence": (f"    ```\n{ONE}", [("    ```",), CALL]),
    "a closed fence hides nothing": (f"```\nx\n```\n{ONE}", [("```\nx\n```",), CALL]),
    "backticks inside a line open no fence": (f"a ```\n{ONE}", [("a ```",), CALL]),
    "backticks behind a frame on its line open no fence": (f"{ONE}```\n{ONE}", [CALL, ("```",), CALL]),
    "a fence right after a frame hides the next": (f"{ONE}\n```\n{ONE}\n```", [CALL, (f"```\n{ONE}\n```",)]),
    "a bare frame, its name in the body, is text": (
        f'<tool_call>{{"name":"f","arguments":{{}}}}</tool_call>\n{ONE}',
        [('<tool_call>{"name":"f","arguments":{}}</tool_call>',), CALL],
    ),
    "identical calls are all kept": (f"{ONE}{ONE}\n{ONE}", [CALL, CALL, CALL]),
    "texts and calls keep their order": (
        f"a{ONE}b{frame('{}', 'g')}c{ONE}",
        [("a",), CALL, ("b",), ("g", "{}"), ("c",), CALL],
    ),
    "a malformed frame spoils neither sibling": (
        f"{ONE}\n{frame('<a/>')}\n<tool_call nam='f'>{{}}</tool_call>\n{ONE}",
        [CALL, (f"{frame('<a/>')}\n<tool_call nam='f'>{{}}</tool_call>",), CALL],
    ),
    "a closing tag alone is text": (f"</tool_call>\n{ONE}</tool_call>", [("</tool_call>",), CALL, ("</tool_call>",)]),
    "a frame inside a string is content": (
        frame('{"a":"<tool_call name=\\"g\\">{}</tool_call>"}'),
        [("f", '{"a":"<tool_call name=\\"g\\">{}</tool_call>"}')],
    ),
    "a frame in cdata is content": (frame(f"<![CDATA[{ONE}]]>"), [("f", ONE)]),
    "a fence inside a body is content": (frame('{"a":"\n```\n"}') + f"\n{ONE}", [("f", '{"a":"\n```\n"}'), CALL]),
    "a frame that a fence swallowed stays text to the end": (f"```\n{ONE}", [(f"```\n{ONE}",)]),
    "comparisons and tags of prose": (f"if a <b && c<tool: <i>x</i> {ONE}", [("if a <b && c<tool: <i>x</i> ",), CALL]),
    "an angle bracket alone": ("1 < 2\n<tool", [("1 < 2\n<tool",)]),
    "two angle brackets": (f"<<tool_call{ONE}", [("<<tool_call",), CALL]),
    "surrogate-free wide text": (
        f"\u00e9\U0001f600\n{frame(chr(123) + chr(125))}",
        [("\u00e9\U0001f600",), ("f", "{}")],
    ),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_reads_as_its_rule_says(name: str) -> None:
    document, expected = DOCUMENTS[name]
    assert read(document) == expected


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_split_reads_like_the_whole(name: str) -> None:
    document, expected = DOCUMENTS[name]
    for at in range(1, len(document)):
        assert read(document[:at], document[at:]) == expected, f"split at {at}: {document[at - 5 : at]!r}"
    assert read(*document) == expected


FRAGMENTS = st.sampled_from(
    [
        *("<tool_call", ' name="f"', ' id="x1"', ">", "</tool_call>", "</tool", "<![CDATA[", "]]>", "]]", "<", "&"),
        *("&quot;", "&lt;", "&am", "{", "}", '"', "\\", "\n", "\n\n", " ", "```", "`", "text", ONE, "\u00e9"),
    ]
)


@given(fragments=st.lists(FRAGMENTS, max_size=14), cuts=st.lists(st.integers(0, 150), max_size=5))
def test_any_chunking_of_any_text_reads_like_the_whole(fragments: list[str], cuts: list[int]) -> None:
    document = "".join(fragments)
    places = sorted({0, len(document), *(cut for cut in cuts if cut < len(document))})
    whole = read(document)
    assert read(*(document[a:b] for a, b in pairwise(places))) == whole
    assert read(*document) == whole


ENDS_OF_BODIES = ("", '"', '""', "]]>", '"]]>', "{}", ";", *("![CDATA[]]>"[n:] for n in range(9)), "]>", ">")
ENDS_OF_TAGS = (
    "",
    '"',
    "'",
    ' name="f"',
    '" name="f"',
    "' name='f'",
    '="x"',
    '="f" name="f"',
    "x='y'",
    "x='y' name='f'",
)
REST_OF_NAME = tuple(f"{'name'[n:]}='f'" for n in range(1, 5))
REST_OF_VALUE = ("'f'", "'x' name='f'", "f'", 'f"')
TAILS = (
    *(end + "</tool_call>"[n:] for end in ENDS_OF_BODIES for n in range(12)),
    *(
        OPEN[n:] + end + ">{}</tool_call>"
        for end in (*ENDS_OF_TAGS, *REST_OF_NAME, *REST_OF_VALUE)
        for n in (len(OPEN), *range(len(OPEN)))
    ),
)
"""What may follow a frame that was begun, so that it is whole."""


@cache
def may_become_a_call(held: str) -> bool:
    return any(len(piece) == 2 for tail in TAILS for piece in read(held + tail)[:1])


IN_TAGS = (' name="f"', " name=''", " id='1'", " na", 'me="g"', "=", '"', "'", "x", " ", "/")
IN_BODIES = ("{", '"', "\\", "&quot;", "&am", "<", "</tool", "<![CDATA[", "<![", "]]", "]]>", "<a>", "x")


def holds_back_no_longer_than_needed(document: str) -> bool:
    reader = FrameReader(lambda text: None, lambda name, arguments: None)
    for character in document:
        reader.feed(character)
        held = reader.held.lstrip(" \n")
        if held and not may_become_a_call(held):
            return False
    return True


@given(st.lists(FRAGMENTS, max_size=14).map("".join))
def test_text_is_held_back_only_while_it_may_still_become_a_call(document: str) -> None:
    """However the text goes on: some end of it makes what is held a frame from its first character."""
    assert holds_back_no_longer_than_needed(document)


def test_no_beginning_of_a_tag_is_held_back_longer_than_needed() -> None:
    for parts in product(IN_TAGS, repeat=3):
        assert holds_back_no_longer_than_needed(OPEN + "".join(parts)), parts


def test_no_beginning_of_a_body_is_held_back_longer_than_needed() -> None:
    for parts in product(IN_BODIES, repeat=3):
        assert holds_back_no_longer_than_needed(f'{OPEN} name="f">' + "".join(parts)), parts


@pytest.mark.parametrize("tag", ['<tool_call name=""', '<tool_call name="a" name=', "<tool_call name='a' id='1' name "])
def test_an_opening_tag_that_can_name_no_call_is_let_go_at_once(tag: str) -> None:
    reader = FrameReader(lambda text: None, lambda name, arguments: None)
    reader.feed(tag[:-1])
    assert reader.held == tag[:-1]
    reader.feed(tag[-1])
    assert reader.held == ""


def test_ordinary_text_is_passed_on_at_once() -> None:
    seen: list[str] = []
    reader = FrameReader(seen.append, lambda name, arguments: None)
    for text in ("Hel", "lo <b", ">x</b>", " 1 <", " 2", "\n", "```\n<tool_call", "\n"):
        reader.feed(text)
        assert reader.held in ("", "<", "\n")
    assert "".join(seen) == "Hello <b>x</b> 1 < 2\n```\n<tool_call\n"
    assert reader.held == ""


def test_an_opening_tag_without_end_is_let_go() -> None:
    reader = FrameReader(lambda text: None, lambda name, arguments: None)
    reader.feed('<tool_call name="' + "x" * 600)
    assert reader.held == ""
    reader.feed('\n<tool_call name="a\nb')
    assert reader.held == ""
