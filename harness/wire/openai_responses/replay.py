"""Responses rules of replay: items that were made together come back together, as they were.

They are judged against the answers that the provider gave (`Circumstances.issued`) and are silent where those are not
known. `encrypted_content` is not compared: recorded streams give it anew in every event, and each was taken back.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from harness.wire.openai_responses.view import View, is_assistant_side
from harness.wire.reading import objects, text_or
from harness.wire.rules import Hit, Rule


def _stripped(view: View) -> Iterator[Hit]:
    """A stored item is known by its id, and with it the reasoning that led to it; an unstored one is not."""
    if view.payload.get("store") is False or view.stateful:
        return
    needed = dict(pair for one in view.circumstances.issued for pair in _thought_of(one.answer.get("output")))
    before: set[str] = set()
    for i, item in view.items:
        thought = needed.get(item.get("id")) if isinstance(item.get("id"), str) else None
        if thought is not None and thought not in before:
            kind = item.get("type", "message")
            yield Hit(f"/input/{i}", {"id": item["id"], "kind": kind, "thought": thought})
        if item.get("type") == "reasoning":
            before.add(text_or(item.get("id")))


def _thought_of(output: Any) -> Iterator[tuple[Any, str]]:
    """Ids of an answer's items that directly follow a reasoning item, each with that item's id."""
    items = [item for _, item in objects(output)]
    for thought, item in pairwise(items):
        led = thought.get("type") == "reasoning" and item.get("type") != "reasoning" and is_assistant_side(item)
        if led and isinstance(thought.get("id"), str) and isinstance(item.get("id"), str):
            yield item["id"], thought["id"]


def _unphased(view: View) -> Iterator[Hit]:
    phases = {
        item.get("id"): item["phase"]
        for one in view.circumstances.issued
        for _, item in objects(one.answer.get("output"))
        if isinstance(item.get("id"), str) and item.get("phase") is not None
    }
    for i, item in view.items:
        item_id = item.get("id")
        if isinstance(item_id, str) and item_id in phases and item.get("phase") != phases[item_id]:
            yield Hit(f"/input/{i}/phase", {"i": i, "phase": phases[item_id]})


REPLAY_RULES: tuple[Rule[View], ...] = (
    Rule(
        id="wire.openai-responses.reasoning-kept",
        statement="A stored item comes back behind the reasoning that led to it.",
        message="Item '{id}' of type '{kind}' was provided without its required 'reasoning' item: '{thought}'.",
        param="input",
        source="github.com/cline/cline/issues/12242, github.com/mastra-ai/mastra/issues/8738",
        mend="replay the reasoning item in front of it, or send the item without its id",
        find=_stripped,
    ),
    Rule(
        id="wire.openai-responses.phase-kept",
        statement="An assistant message comes back with the phase that it had.",
        message="input[{i}].phase was '{phase}'.",
        source="docstrings of the openai SDK 3.57, phase",
        mend="replay `phase` unchanged",
        level="should",
        find=_unphased,
    ),
)
