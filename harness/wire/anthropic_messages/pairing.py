"""Messages rules of calls and results: every call is answered at the start of the next user turn, each result answers
a call of the turn before it, once.

Places in these messages count merged turns, as recorded answers do; pointers are those of the payload.
"""

from collections.abc import Iterator

from harness.wire.anthropic_messages.view import Turn, View
from harness.wire.reading import text_or
from harness.wire.rules import Hit, Rule


def _unanswered(view: View) -> Iterator[Hit]:
    for place, turn in enumerate(view.turns):
        calls = turn.ids("tool_use", "id") if turn.role == "assistant" else []
        if calls:
            answered = _leading_results(view.turns[place + 1]) if place + 1 < len(view.turns) else set()
            missing = [call_id for call_id in calls if call_id not in answered]
            if missing:
                first = next(block for _, block in turn.of("tool_use") if block.body.get("id") == missing[0])
                yield Hit(first.pointer, {"i": place, "ids": ", ".join(missing)})


def _leading_results(turn: Turn) -> set[str]:
    """Ids of the results that stand before any other content of a user turn."""
    leading: set[str] = set()
    for block in turn.blocks:
        if block.kind != "tool_result":
            break
        leading.add(text_or(block.body.get("tool_use_id")))
    return leading


def _orphans(view: View) -> Iterator[Hit]:
    for place, turn in enumerate(view.turns):
        before = view.turns[place - 1] if place else None
        asked = set(before.ids("tool_use", "id")) if before is not None and before.role == "assistant" else set()
        for inside, block in turn.of("tool_result"):
            call_id = text_or(block.body.get("tool_use_id"))
            if turn.role == "user" and call_id not in asked:
                yield Hit(block.pointer, {"i": place, "j": inside, "id": call_id})


def _twice_answered(view: View) -> Iterator[Hit]:
    for place, turn in enumerate(view.turns):
        seen: set[str] = set()
        for inside, block in turn.of("tool_result"):
            call_id = text_or(block.body.get("tool_use_id"))
            if call_id in seen:
                yield Hit(block.pointer, {"i": place, "j": inside, "id": call_id})
            seen.add(call_id)


def _twice_asked(view: View) -> Iterator[Hit]:
    seen: set[str] = set()
    for place, turn in enumerate(view.turns):
        for inside, block in turn.of("tool_use"):
            call_id = text_or(block.body.get("id"))
            if call_id in seen:
                yield Hit(f"{block.pointer}/id", {"i": place, "j": inside})
            seen.add(call_id)


def _unfinished(view: View) -> Iterator[Hit]:
    """A server's tool may be at work while the client answers its own calls; other words of the user end the turn."""
    given = {text_or(block.body.get("tool_use_id")) for block in view.blocks if block.server_made}
    for place, turn in enumerate(view.turns):
        over = any(
            block.kind != "tool_result"
            for later in view.turns[place + 1 :]
            if later.role == "user"
            for block in later.blocks
        )
        for _, block in turn.of("server_tool_use") if over else ():
            if text_or(block.body.get("id")) not in given:
                words = {"i": place, "name": block.body.get("name"), "id": block.body.get("id")}
                yield Hit(block.pointer, words)


PAIRING_RULES: tuple[Rule[View], ...] = (
    Rule(
        id="wire.anthropic-messages.call-ids-unique",
        statement="No two calls of a conversation have one id.",
        message="messages.{i}.content.{j}: `tool_use` ids must be unique",
        source="github.com/anomalyco/opencode/issues/1279, github.com/anthropics/claude-code/issues/20901",
        mend="give each call an id of its own",
        find=_twice_asked,
    ),
    Rule(
        id="wire.anthropic-messages.calls-answered",
        statement="Each tool_use is answered by a tool_result at the start of the next message, before other content.",
        message="messages.{i}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}. Each "
        "`tool_use` block must have a corresponding `tool_result` block in the next message.",
        source="github.com/anthropics/claude-code/issues/5989; documentation of tool calls",
        mend="start the next user message with one tool_result for each call, in front of any text",
        find=_unanswered,
    ),
    Rule(
        id="wire.anthropic-messages.result-answers-a-call",
        statement="Each tool_result answers a tool_use of the message before it.",
        message="messages.{i}.content.{j}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each "
        "`tool_result` block must have a corresponding `tool_use` block in the previous message.",
        source="recorded 400 answer of api.anthropic.com; github.com/anthropics/claude-code/issues/13460",
        mend="send the call in the assistant message before it, or drop the result",
        find=_orphans,
    ),
    Rule(
        id="wire.anthropic-messages.one-result-a-call",
        statement="No call is answered twice.",
        message="messages.{i}.content.{j}: each tool_use must have a single result. Found multiple `tool_result` "
        "blocks with id: {id}",
        source="public reports of this text",
        mend="keep one tool_result for each call",
        find=_twice_answered,
    ),
    Rule(
        id="wire.anthropic-messages.server-tools-finished",
        statement="A server tool's use comes back with its result once the user says more than results.",
        message="messages.{i}: `{name}` tool use with id `{id}` was found without a corresponding `{name}_tool_result` "
        "block",
        source="documentation of stop reasons (pause_turn); public reports of this text",
        mend="replay the turn whole, the server's result included",
        find=_unfinished,
    ),
)
