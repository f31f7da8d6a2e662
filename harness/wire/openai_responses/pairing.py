"""Responses rules of items that belong together: calls and outputs, reasoning and what follows it.

Where part of the conversation is kept by the provider (`previous_response_id`, `conversation`, item references), what
is missing here may stand there: those rules then do not apply.
"""

from collections.abc import Iterator
from typing import Any

from harness.wire.openai_responses.view import View, is_assistant_side
from harness.wire.rules import Hit, Rule


def _unanswered(view: View) -> Iterator[Hit]:
    last = {output.call_id: output.place for output in view.outputs}
    for call in view.calls:
        if call.kind == "function_call" and last.get(call.call_id, -1) < call.place:
            yield Hit(f"/input/{call.place}", {"id": call.call_id})


def _orphans(view: View) -> Iterator[Hit]:
    if view.stateful:
        return
    first: dict[str, int] = {}
    for call in view.calls:
        first.setdefault(call.call_id, call.place)
    for output in view.outputs:
        place = first.get(output.call_id)
        if output.kind == "function_call_output" and (place is None or place > output.place):
            yield Hit(f"/input/{output.place}/call_id", {"id": output.call_id})


def _dangling(view: View) -> Iterator[Hit]:
    if view.stateful:
        return
    for place, (i, item) in enumerate(view.items):
        if item.get("type") == "reasoning" and isinstance(item.get("id"), str):
            following = _after_reasoning(view, place)
            if following is None or not is_assistant_side(following) or not _belongs(view, following):
                yield Hit(f"/input/{i}", {"id": item["id"]})


def _after_reasoning(view: View, place: int) -> dict[str, Any] | None:
    rest = (item for _, item in view.items[place + 1 :] if item.get("type") != "reasoning")
    return next(rest, None)


def _belongs(view: View, following: dict[str, Any]) -> bool:
    """A stored reasoning item is known by the id of what followed it; an unstored one is not."""
    return view.payload.get("store") is False or isinstance(following.get("id"), str)


def _unstored(view: View) -> Iterator[Hit]:
    if view.payload.get("store") is not False or view.stateful:
        return
    for i, item in view.items:
        if item.get("type") == "reasoning" and "id" in item and not item.get("encrypted_content"):
            yield Hit(f"/input/{i}", {"id": item["id"]})


PAIRING_RULES: tuple[Rule[View], ...] = (
    Rule(
        id="wire.openai-responses.reasoning-followed",
        statement="A reasoning item with an id is followed by the item that it led to; if it was stored, by that very "
        "item with its id.",
        message="Item '{id}' of type 'reasoning' was provided without its required following item.",
        param="input",
        source="recorded 400 answer of api.openai.com; github.com/continuedev/continue/issues/8933",
        mend="replay reasoning with the items after it, unchanged and in order, or drop both",
        find=_dangling,
    ),
    Rule(
        id="wire.openai-responses.reasoning-not-stored",
        statement="With store false, reasoning is replayed with its encrypted content.",
        message="Item with id '{id}' not found. Items are not persisted when `store` is set to false. Try again with "
        "`store` set to true, or remove this item from your input.",
        param="input",
        source="github.com/vercel/ai/issues/7543",
        mend="replay the item with encrypted_content (include reasoning.encrypted_content), or drop it",
        find=_unstored,
        status=404,
    ),
    Rule(
        id="wire.openai-responses.calls-answered",
        statement="Each function call is answered by an output after it.",
        message="No tool output found for function call {id}.",
        param="input",
        source="github.com/RooCodeInc/Roo-Code/issues/12248",
        mend="send one function_call_output for each function_call, after it",
        find=_unanswered,
    ),
    Rule(
        id="wire.openai-responses.output-answers-a-call",
        statement="Each function call output answers a call before it.",
        message="No tool call found for function call output with call_id {id}.",
        param="input",
        source="github.com/continuedev/continue/issues/10092",
        mend="send the call that the output answers, before it, or drop the output",
        find=_orphans,
    ),
)
