"""Messages rules of cache marks: how many, on which blocks, in which order of their times to live."""

from collections.abc import Iterator
from typing import Any

from harness.vocabulary.content import JsonValue
from harness.wire.anthropic_messages.view import THINKING, View
from harness.wire.reading import objects
from harness.wire.rules import Hit, Rule

_REPORTS = "public reports of this text"


def _marks(view: View) -> Iterator[Hit]:
    found = sum(_cached(view.payload.get(key)) for key in ("tools", "system", "messages"))
    if found > 4:
        yield Hit("", {"found": found})


def _cached(value: JsonValue) -> int:
    """Cache marks of blocks, those inside tool results included; a call's own arguments and schemas are data."""
    if isinstance(value, list):
        return sum(_cached(one) for one in value)
    if not isinstance(value, dict):
        return 0
    return (value.get("cache_control") is not None) + _cached(value.get("content"))


def _on_nothing(view: View) -> Iterator[Hit]:
    for i, body in objects(view.payload.get("system")):
        if body.get("cache_control") and body.get("text") == "":
            yield Hit(f"/system/{i}/cache_control", {"place": f"system.{i}"})
    for block in view.blocks:
        if block.kind == "text" and block.body.get("cache_control") and block.body.get("text") == "":
            yield Hit(f"{block.pointer}/cache_control", {"place": f"messages.{block.i}.content.{block.j}.text"})


def _on_thinking(view: View) -> Iterator[Hit]:
    for block in view.blocks:
        if block.kind in THINKING and "cache_control" in block.body:
            words = {"i": block.i, "j": block.j, "kind": block.kind}
            yield Hit(f"{block.pointer}/cache_control", words)


def _short_before_long(view: View) -> Iterator[Hit]:
    short = False
    for pointer, mark in _ordered(view):
        if short and mark.get("ttl") == "1h":
            yield Hit(pointer)
        short = short or mark.get("ttl", "5m") == "5m"


def _ordered(view: View) -> Iterator[tuple[str, dict[str, Any]]]:
    """The marks in the order in which they are looked at: tools, system, messages."""
    bodies = [(f"/{key}/{i}", body) for key in ("tools", "system") for i, body in objects(view.payload.get(key))]
    bodies += [(block.pointer, block.body) for block in view.blocks]
    for pointer, body in bodies:
        mark = body.get("cache_control")
        if isinstance(mark, dict):
            yield f"{pointer}/cache_control", mark


CACHE_RULES: tuple[Rule[View], ...] = (
    Rule(
        id="wire.anthropic-messages.four-cache-marks",
        statement="At most 4 blocks carry cache_control.",
        message="A maximum of 4 blocks with cache_control may be provided. Found {found}.",
        source=_REPORTS,
        mend="keep four marks: on the tools, the system prompt and the newest messages",
        find=_marks,
    ),
    Rule(
        id="wire.anthropic-messages.cache-mark-on-text",
        statement="No empty text carries cache_control.",
        message="{place}: cache_control cannot be set for empty text blocks",
        source=_REPORTS,
        mend="leave the empty block out, and mark the block before it",
        find=_on_nothing,
    ),
    Rule(
        id="wire.anthropic-messages.cache-mark-not-on-thinking",
        statement="No thinking block carries cache_control.",
        message="messages.{i}.content.{j}.{kind}.cache_control: Extra inputs are not permitted",
        source="documentation of prompt caching; " + _REPORTS,
        mend="mark the text, the call or the result instead",
        find=_on_thinking,
    ),
    Rule(
        id="wire.anthropic-messages.cache-marks-long-first",
        statement="Marks with a time of 1h stand before those of 5m, counted over tools, system and messages.",
        message="A `ttl='1h'` cache_control block must not come after a `ttl='5m'` cache_control block. Blocks are "
        "processed in the following order: `tools`, `system`, `messages`.",
        source=_REPORTS,
        mend="give the earlier marks the longer time",
        find=_short_before_long,
    ),
)
