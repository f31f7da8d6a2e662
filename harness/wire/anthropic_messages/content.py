"""Messages rules of single messages and blocks: roles, empty content, which block stands where, ids."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from harness.wire.anthropic_messages.view import Block, View
from harness.wire.rules import Hit, Rule

ROLES = ("user", "assistant", "system")
_ID = re.compile(r"[a-zA-Z0-9_-]+")
_REPORTS = "public reports of this text"


def _empty_messages(view: View) -> Iterator[Hit]:
    if view.payload.get("messages") == []:
        yield Hit("/messages")


def _roles(view: View) -> Iterator[Hit]:
    for i, message in view.messages:
        role = message.get("role")
        if isinstance(role, str) and role not in ROLES:
            yield Hit(f"/messages/{i}/role", {"role": role})


def _empty_content(view: View) -> Iterator[Hit]:
    for place, (i, message) in enumerate(view.messages):
        spared = message.get("role") == "system"
        spared |= message.get("role") == "assistant" and place == len(view.messages) - 1
        if message.get("content") in ("", []) and not spared:
            yield Hit(f"/messages/{i}/content", {"i": i})


def _texts(wrong: Callable[[str], bool]) -> Callable[[View], Iterator[Hit]]:
    def find(view: View) -> Iterator[Hit]:
        for block in view.blocks:
            if block.kind == "text" and _speaks_wrong(block.body, wrong):
                yield Hit(block.pointer, {"where": "messages"})
        system = view.payload.get("system")
        for i, body in enumerate(system if isinstance(system, list) else ()):
            if isinstance(body, dict) and _speaks_wrong(body, wrong):
                yield Hit(f"/system/{i}", {"where": "system"})

    return find


def _speaks_wrong(body: dict[str, Any], wrong: Callable[[str], bool]) -> bool:
    """A marked block without a text is told by its mark (the rule cache-mark-on-text)."""
    text = body.get("text")
    return isinstance(text, str) and wrong(text) and not (body.get("cache_control") and not text)


def _misplaced(kind: str, role: str) -> Callable[[View], Iterator[Hit]]:
    def find(view: View) -> Iterator[Hit]:
        for place, turn in enumerate(view.turns):
            if turn.role != role:
                yield from (Hit(block.pointer, {"i": place}) for _, block in turn.of(kind))

    return find


def _documents(view: View) -> Iterator[Hit]:
    if view.since("2026-10-21"):
        for turn in view.turns:
            if turn.role == "assistant":
                yield from (Hit(block.pointer, _place(block)) for _, block in turn.of("document"))


def _bad_ids(view: View) -> Iterator[Hit]:
    for block in view.blocks:
        key = {"tool_use": "id", "tool_result": "tool_use_id"}.get(block.kind)
        value = block.body.get(key) if key else None
        if isinstance(value, str) and not _ID.fullmatch(value):
            yield Hit(f"{block.pointer}/{key}", _place(block) | {"kind": block.kind, "key": key})


def _place(block: Block) -> dict[str, Any]:
    return {"i": block.i, "j": block.j}


def _cited(view: View) -> Iterator[Hit]:
    if view.since("2026-10-21"):
        for turn in view.turns:
            for _, block in turn.of("text") if turn.role == "user" else ():
                if block.body.get("citations"):
                    yield Hit(f"{block.pointer}/citations", _place(block))


CONTENT_RULES: tuple[Rule[View], ...] = (
    Rule(
        id="wire.anthropic-messages.messages-not-empty",
        statement="There is at least one message.",
        message="messages: at least one message is required",
        source=_REPORTS,
        mend="send at least one message",
        find=_empty_messages,
    ),
    Rule(
        id="wire.anthropic-messages.roles",
        statement="A role is user, assistant or system.",
        message='messages: Unexpected role "{role}". Allowed roles are "user" or "assistant".',
        source=_REPORTS,
        mend="send tool results as tool_result blocks of a user message",
        find=_roles,
    ),
    Rule(
        id="wire.anthropic-messages.content-not-empty",
        statement="Only the last message, if it is the assistant's, has empty content.",
        message="messages.{i}: all messages must have non-empty content except for the optional final assistant "
        "message",
        source="recorded 400 answer of api.anthropic.com",
        recorded="400 for claude-haiku-4-5",
        mend="leave the message out, or say something in it",
        find=_empty_content,
    ),
    Rule(
        id="wire.anthropic-messages.text-not-empty",
        statement="Text blocks are not empty.",
        message="{where}: text content blocks must be non-empty",
        source=_REPORTS,
        mend="leave empty text blocks out",
        find=_texts(lambda text: not text),
    ),
    Rule(
        id="wire.anthropic-messages.text-not-blank",
        statement="Text blocks are more than white space.",
        message="{where}: text content blocks must contain non-whitespace text",
        source=_REPORTS,
        mend="leave blank text blocks out",
        find=_texts(lambda text: bool(text) and not text.strip()),
    ),
    Rule(
        id="wire.anthropic-messages.calls-from-assistant",
        statement="tool_use blocks stand in assistant messages.",
        message="messages.{i}: `tool_use` blocks can only be in `assistant` messages",
        source=_REPORTS,
        mend="replay the call in the assistant message that made it",
        find=_misplaced("tool_use", "assistant"),
    ),
    Rule(
        id="wire.anthropic-messages.results-from-user",
        statement="tool_result blocks stand in user messages.",
        message="messages.{i}: `tool_result` blocks can only be in `user` messages",
        source=_REPORTS,
        mend="send the result in the user message after the call",
        find=_misplaced("tool_result", "user"),
    ),
    Rule(
        id="wire.anthropic-messages.no-assistant-documents",
        statement="Since version 2026-10-21 assistant messages hold no document blocks.",
        message="messages.{i}.content.{j}: `document` blocks are not permitted in `assistant` messages",
        source="platform.claude.com/docs/en/api/migration-2026-10-21 (rule; wording ours)",
        mend="send documents in user messages",
        find=_documents,
    ),
    Rule(
        id="wire.anthropic-messages.no-user-citations",
        statement="Since version 2026-10-21 text blocks of the user carry no citations.",
        message="messages.{i}.content.{j}.text.citations: Extra inputs are not permitted",
        source="platform.claude.com/docs/en/api/migration-2026-10-21 (rule; wording ours)",
        mend="leave `citations` out, or null",
        find=_cited,
    ),
    Rule(
        id="wire.anthropic-messages.id-pattern",
        statement="Call ids are letters, digits, _ and -, at least one.",
        message="messages.{i}.content.{j}.{kind}.{key}: String should match pattern '^[a-zA-Z0-9_-]+$'",
        source="github.com/anomalyco/opencode/issues/1279",
        mend="give each call an id of letters, digits, _ and -",
        find=_bad_ids,
    ),
)
