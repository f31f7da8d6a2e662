"""Messages rules of replay: what the provider said comes back as it was, behind the conversation that it was said to.

They are judged against the answers that the provider gave (`Circumstances.issued`) and are silent where those are not
known. Leaving out all thinking of a turn is allowed; a part of it, or a changed block, is not.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from harness.vocabulary.content import JsonObject, JsonValue
from harness.wire.anthropic_messages import models
from harness.wire.anthropic_messages.view import THINKING, Turn, View
from harness.wire.codec import UNKNOWN, Issued
from harness.wire.reading import objects, text_or
from harness.wire.rules import Hit, Rule

_KEYS = ("type", "thinking", "signature", "data")


def _said(answer: JsonObject, *kinds: str) -> list[dict[str, Any]]:
    return [block for _, block in objects(answer.get("content")) if block.get("type") in kinds]


def _core(block: JsonObject) -> tuple[Any, ...]:
    return tuple(json.dumps(block.get(key)) for key in _KEYS)


def _changed(view: View) -> Iterator[Hit]:
    latest = next((turn for turn in reversed(view.turns) if turn.role == "assistant"), None)
    replayed = [] if latest is None else [block for block in latest.blocks if block.kind in THINKING]
    if latest is None or not replayed:
        return
    given = [_core(block) for one in _answers_in(latest, view.circumstances.issued) for block in _said(one, *THINKING)]
    place = next((i for i, block in enumerate(replayed) if _at(given, i) != _core(block.body)), len(replayed))
    if given and (place < len(replayed) or len(given) > len(replayed)):
        block = replayed[min(place, len(replayed) - 1)]
        yield Hit(block.pointer, {"i": block.i, "j": block.j})


def _at(cores: list[tuple[Any, ...]], i: int) -> tuple[Any, ...] | None:
    return cores[i] if i < len(cores) else None


def _answers_in(turn: Turn, issued: Sequence[Issued]) -> list[JsonObject]:
    """The answers that a turn replays, known by the ids of their calls; [] if the turn holds calls of others too."""
    asked = set(turn.ids("tool_use", "id"))
    found: list[JsonObject] = []
    ids: set[str] = set()
    for one in issued:
        calls = {text_or(block.get("id")) for block in _said(one.answer, "tool_use")}
        if calls & asked:
            found.append(one.answer)
            ids |= calls
    return found if asked and asked <= ids else []


def _moved(view: View) -> Iterator[Hit]:
    if not models.binds_prefix(view.model) or not view.circumstances.issued or _drops(view):
        return
    made: dict[tuple[Any, ...], list[View]] = {}
    for one in view.circumstances.issued:
        for thought in _said(one.answer, *THINKING):
            made.setdefault(_core(thought), []).append(View(one.payload, UNKNOWN))
    for place, turn in enumerate(view.turns):
        for block in turn.blocks if turn.role == "assistant" else ():
            what = [_difference(then, view, place) for then in made.get(_core(block.body), ())]
            if what and None not in what:
                yield Hit(block.pointer, {"i": block.i, "j": block.j, "kind": block.kind, "what": what[-1]})


def _drops(view: View) -> bool:
    binding = view.thinking.get("block_binding")
    return isinstance(binding, dict) and binding.get("prefix_mismatch_behavior") == "drop_block"


def _difference(then: View, now: View, place: int) -> str | None:
    """What of the conversation before turn `place` is not what it was, in the provider's words; None if nothing is."""
    if _system(then) != _system(now):
        return "The `system` prompt differs"
    if _unmarked(then.payload.get("tools") or []) != _unmarked(now.payload.get("tools") or []):
        return "The `tools` differ"
    paused = bool(then.turns) and then.turns[-1].role == "assistant"
    earlier = then.turns[:-1] if paused else then.turns
    return None if _spoken(earlier) == _spoken(now.turns[:place]) else "The messages differ"


def _system(view: View) -> JsonValue:
    system = view.payload.get("system") or []
    return _unmarked([{"type": "text", "text": system}] if isinstance(system, str) else system)


def _spoken(turns: list[Turn]) -> list[tuple[str, list[JsonValue]]]:
    return [(turn.role, [_unmarked(block.body) for block in turn.blocks]) for turn in turns]


def _unmarked(value: JsonValue) -> JsonValue:
    """A value without its cache marks, which are not compared."""
    if isinstance(value, list):
        return [_unmarked(one) for one in value]
    if isinstance(value, dict):
        return {key: _unmarked(one) for key, one in value.items() if key != "cache_control"}
    return value


REPLAY_RULES: tuple[Rule[View], ...] = (
    Rule(
        id="wire.anthropic-messages.thinking-unchanged",
        statement="The thinking of the latest assistant message comes back whole, unchanged and in order.",
        message="messages.{i}.content.{j}: `thinking` or `redacted_thinking` blocks in the latest assistant message "
        "cannot be modified. These blocks must remain as they were in the original response.",
        source="documentation of errors",
        mend="replay every thinking block of the turn as it was received, empty ones too",
        find=_changed,
    ),
    Rule(
        id="wire.anthropic-messages.thinking-prefix",
        statement="On models that bind thinking to its conversation (Fable and Mythos since 5.1, others since 5.5), "
        "system, tools and messages in front of a thinking block are what they were when it was made.",
        message="messages.{i}.content.{j}: Invalid `signature` in `{kind}` block. The block is bound to a different "
        'conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block". '
        "That setting requires the `thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header. {what} "
        "from the one this block was created with.",
        source="github.com/anomalyco/opencode/issues/48637; documentation of preserved thinking (the last sentence is "
        "published for the system prompt only)",
        mend="leave system, tools and earlier messages as they are and say what is new in a message at the end; or "
        "drop the thinking block",
        find=_moved,
    ),
)
