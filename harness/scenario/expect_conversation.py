"""Expectations of the conversation that an outcome carries (`expect.conversation`)."""

from collections.abc import Mapping, Sequence

from harness.scenario.expect_run import Judged, Look, same, shown, texts
from harness.scenario.format_expect import ConversationExpect, Expect, TextExpect
from harness.scenario.reading import item_texts
from harness.scenario.seen import Seen
from harness.vocabulary.content import AssistantMessage, Item, ToolResult, UserMessage

_KINDS: Mapping[type, str] = {UserMessage: "user", AssistantMessage: "assistant", ToolResult: "result"}


def conversation(expect: Expect, seen: Seen) -> Look:
    """One finding for each thing that is said of the conversation."""
    wanted = expect.conversation
    assert wanted is not None
    items = list(seen.outcome.conversation)
    if wanted.items is not None:
        yield from same("conversation.items", wanted.items, len(items))
    if wanted.answered:
        yield _answered(items)
    yield from _last(wanted, items)
    if wanted.contains or wanted.not_contains:
        whole = "\n".join(text for item in items for text in item_texts(item))
        held = TextExpect(contains=wanted.contains, not_contains=wanted.not_contains)
        yield from texts("conversation", held, whole)


def _last(wanted: ConversationExpect, items: Sequence[Item]) -> Look:
    if wanted.last is None and wanted.last_text is None:
        return
    if not items:
        yield Judged(False, "conversation.last", wanted.last or "an item", "the conversation is empty")
        return
    if wanted.last is not None:
        yield from same("conversation.last", wanted.last, _KINDS.get(type(items[-1]), "another item"))
    if wanted.last_text is not None:
        yield from texts("conversation.last_text", wanted.last_text, "".join(item_texts(items[-1])))


def _answered(items: Sequence[Item]) -> Judged:
    """The first turn whose calls are not answered one by one."""
    expected = "one result for each call, in request order, directly behind its turn"
    for place, item in enumerate(items):
        calls = [call.call_id for call in item.calls] if isinstance(item, AssistantMessage) else []
        results: list[str] = []
        for other in items[place + 1 :] if calls else ():
            if not isinstance(other, ToolResult):
                break
            results.append(other.call_id)
        if calls != results:
            told = f"item {place} has the calls {', '.join(calls)}; behind it: {', '.join(results) or 'no result'}"
            return Judged(False, "conversation.answered", expected, shown(told))
    return Judged(True, "conversation.answered", expected, f"{len(items)} items, every call answered")
