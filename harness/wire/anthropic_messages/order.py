"""Messages rules of order: where a system message may stand, how a conversation may end.

Turns are the provider's: consecutive messages of one role count as one. A first message of the assistant and
consecutive messages of one role are recorded as taken: there is no rule of alternation.
"""

from collections.abc import Iterator

from harness.wire.anthropic_messages import models
from harness.wire.anthropic_messages.view import Turn, View
from harness.wire.rules import Hit, Rule

TOOL_CHANGES = ("tool_addition", "tool_removal")
_ANYWHERE = "the directive-only form (content: [] with output_config) is accepted at any position"
_SYSTEM = "platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages; public reports of this text"


def _systems(view: View) -> Iterator[tuple[int, Turn]]:
    return ((place, turn) for place, turn in enumerate(view.turns) if turn.role == "system")


def _unsupported(view: View) -> Iterator[Hit]:
    for _, turn in _systems(view):
        changes_tools_only = turn.blocks and all(block.kind in TOOL_CHANGES for block in turn.blocks)
        if models.refuses_late_system(view.model, text=not changes_tools_only):
            yield Hit(f"/messages/{turn.first}/role")


def _first(view: View) -> Iterator[Hit]:
    yield from (Hit("/messages/0", {"i": turn.first}) for place, turn in _systems(view) if place == 0)


def _after(view: View) -> Iterator[Hit]:
    for place, turn in _systems(view):
        before = view.turns[place - 1] if place else None
        if before is not None and before.role == "assistant" and not _ends_with_server_result(before):
            yield Hit(f"/messages/{turn.first}", {"i": turn.first})


def _ends_with_server_result(turn: Turn) -> bool:
    last = turn.blocks[-1] if turn.blocks else None
    return last is not None and last.server_made and last.kind.endswith("_tool_result")


def _before(view: View) -> Iterator[Hit]:
    for place, turn in _systems(view):
        if place and place + 1 < len(view.turns) and view.turns[place + 1].role != "assistant":
            yield Hit(f"/messages/{turn.first}", {"i": turn.first})


def _final(view: View) -> Turn | None:
    """The last turn, if it is the assistant's own words: no call (that is a fault of pairing), no server tool at work,
    no paused turn that goes on."""
    last = view.turns[-1] if view.turns else None
    if last is None or last.role != "assistant" or view.circumstances.resuming:
        return None
    works = any(block.server_made or block.kind == "tool_use" for block in last.blocks)
    return None if works else last


def _prefill(view: View) -> Iterator[Hit]:
    final = _final(view)
    if final is not None and models.refuses_prefill(view.model):
        yield Hit(f"/messages/{final.first}")


def _blank_end(view: View) -> Iterator[Hit]:
    final = _final(view)
    if final is None or not final.blocks or models.refuses_prefill(view.model):
        return
    text = final.blocks[-1].body.get("text")
    if isinstance(text, str) and text != text.rstrip():
        yield Hit(final.blocks[-1].pointer)


ORDER_RULES: tuple[Rule[View], ...] = (
    Rule(
        id="wire.anthropic-messages.late-system-model",
        statement="Models before 5, and Sonnet 5, take no system message inside the conversation; 4.8 takes one that "
        "only adds or removes tools.",
        message="role 'system' is not supported on this model",
        source="recorded 400 answer of api.anthropic.com; github.com/anthropics/claude-code/issues/61412",
        recorded="the documents name Opus 4.8 as taking it; recorded for claude-opus-4-8: 400 to a text about "
        "2026-06-02, 200 to a tool_addition about 2026-07-31 (days reckoned from the request ids)",
        mend="send the text as the last block of the last user message",
        find=_unsupported,
    ),
    Rule(
        id="wire.anthropic-messages.late-system-not-first",
        statement="The first message is not a system message.",
        message="messages.{i}: use the top-level 'system' parameter for the initial system prompt; " + _ANYWHERE,
        source="github.com/LeenHawk/gproxy/issues/209",
        mend="send the system prompt as the system parameter",
        find=_first,
    ),
    Rule(
        id="wire.anthropic-messages.late-system-after-user",
        statement="A system message follows a user message, or an assistant message that ends in a server tool result.",
        message="messages.{i}: role 'system' must follow a 'user' message or an 'assistant' message ending in a server "
        "tool result; " + _ANYWHERE,
        source=_SYSTEM,
        mend="put the system message after the next user message",
        find=_after,
    ),
    Rule(
        id="wire.anthropic-messages.late-system-before-assistant",
        statement="A system message is the last, or stands before an assistant message.",
        message="messages.{i}: role 'system' must precede an 'assistant' message or end the array; " + _ANYWHERE,
        source=_SYSTEM,
        mend="move the system message after the user messages and tool results that follow it",
        find=_before,
    ),
    Rule(
        id="wire.anthropic-messages.no-prefill",
        statement="Since Claude 4.6 a conversation ends with an assistant message only if a paused turn goes on.",
        message="This model does not support assistant message prefill. The conversation must end with a user message.",
        source="recorded 400 answer of api.anthropic.com",
        recorded="400 for claude-sonnet-5; 200 for models before 4.6",
        mend="end with a user message",
        find=_prefill,
    ),
    Rule(
        id="wire.anthropic-messages.prefill-not-blank-at-end",
        statement="Where prefill is taken, it does not end with white space.",
        message="messages: final assistant content cannot end with trailing whitespace",
        source="public reports of this text",
        mend="strip the white space at the end",
        find=_blank_end,
    ),
)
