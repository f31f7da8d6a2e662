"""The life of a Chat Completions stream: chunks of each choice, its finish reason, the usage chunk, `[DONE]`.

Two tables: one for the stream, one for each choice. Unknown members are passed over. Source: API reference, chat
completion chunks; recorded streams of 2024 to 2026.
"""

from typing import Any

from harness.wire.openai_chat.decode import ID
from harness.wire.reading import objects
from harness.wire.stream_rules import Breach, Lifecycle, Row, Table, counts, object_or, rows

_DOCUMENT = "API reference, the chat completion chunk object"
STREAM: Table = {
    "new": {
        "chunk": "saying",
        "filter": "new",
        "usage": Breach("usage-last", "counted"),
        "error": "failed",
        "done": Breach("finished", "ended"),
    },
    "saying": {"chunk": "saying", "filter": "saying", "usage": "counted", "error": "failed", "done": "ended"},
    "counted": {
        "chunk": Breach("usage-last", "counted"),
        "filter": Breach("usage-last", "counted"),
        "usage": Breach("usage-last", "counted"),
        "error": "failed",
        "done": "ended",
    },
    "failed": {
        "chunk": Breach("after-error", "failed"),
        "filter": Breach("after-error", "failed"),
        "usage": Breach("after-error", "failed"),
        "error": Breach("after-error", "failed"),
        "done": "ended",
    },
    "ended": {
        "chunk": Breach("after-done", "ended"),
        "filter": Breach("after-done", "ended"),
        "usage": Breach("after-done", "ended"),
        "error": Breach("after-done", "ended"),
        "done": Breach("after-done", "ended"),
    },
}
CHOICE: Table = {
    "silent": {
        "role": "speaking",
        "delta": Breach("role-first", "speaking"),
        "finish": Breach("role-first", "finished"),
    },
    "speaking": {"role": Breach("role-first", "speaking"), "delta": "speaking", "finish": "finished"},
    "finished": {
        "role": Breach("after-finish", "finished"),
        "delta": Breach("after-finish", "finished"),
        "finish": Breach("finish-once", "finished"),
    },
}
TABLE: tuple[Row, ...] = (
    Row(
        "name",
        "Events have no SSE name.",
        _DOCUMENT,
        native=True,
        recorded="a compatible server names its error event (d7bd4a95-4631e6d7-00, 2025-11)",
    ),
    Row(
        "object",
        "Each chunk is a `chat.completion.chunk`.",
        _DOCUMENT,
        native=True,
        recorded="compatible servers leave it out or empty (7a647ee9-f31a5e6d-00, in 2026)",
    ),
    Row(
        "identity",
        "`id`, `created` and `model` are the same in all chunks.",
        _DOCUMENT,
        native=True,
        recorded="a server that filters prompts sends a first chunk without id (7a647ee9-f31a5e6d-00, in 2026)",
    ),
    Row(
        "role-first",
        "A choice begins with its role, and does not say it again.",
        _DOCUMENT,
        native=True,
        recorded="compatible servers repeat it in every chunk or leave it out (e4776e09-20c2024b-03, 2025-12)",
    ),
    Row(
        "finished",
        "There is a choice, and each has a finish reason before the end, unless an error ends it.",
        _DOCUMENT,
    ),
    Row(
        "finish-once",
        "A choice has no second finish reason.",
        _DOCUMENT,
        native=True,
        recorded="compatible servers repeat it (86b82b70-4417a554-00, 2025-11; d7bd4a95-ca44dd7c-00, 2025-11)",
    ),
    Row(
        "finish-word",
        "The finish reason is stop, length, tool_calls, content_filter or function_call.",
        _DOCUMENT,
        native=True,
    ),
    Row(
        "finish-calls",
        "A choice that finishes with tool_calls holds one.",
        _DOCUMENT,
        recorded="the reverse does not hold: a forced call finishes with stop (135 of 142, 2025 and 2026)",
    ),
    Row(
        "after-finish",
        "Nothing of a choice follows its finish reason.",
        _DOCUMENT,
        native=True,
        recorded="compatible servers go on (d7bd4a95-ca44dd7c-00, 2025-11)",
    ),
    Row(
        "call-index",
        "The calls of a choice are numbered from 0 without a gap.",
        _DOCUMENT,
        native=True,
        recorded="a compatible server sends no index (96a97a21-75d60acc-00, 2024-11)",
    ),
    Row(
        "call-head",
        "A call's first piece has its id, type, name and empty arguments; later pieces have none of the first three.",
        _DOCUMENT,
        native=True,
        recorded="compatible servers repeat the head or send it with arguments (d7bd4a95-ca44dd7c-00, 2025-11)",
    ),
    Row(
        "usage-last",
        "Usage stands in the last chunk only, which has no choices.",
        _DOCUMENT,
        native=True,
        recorded="compatible servers put it into the chunk that finishes (17 of 19 streams, 2025 and 2026)",
    ),
    Row("usage-sum", "total_tokens is the sum of prompt_tokens and completion_tokens.", _DOCUMENT),
    Row("error-shape", "An error is an object with a `message`.", "API reference, errors"),
    Row(
        "after-error",
        "After an error only `[DONE]` may follow.",
        "recorded stream 86b82b70-4417a554-00 (2025-11); the document is silent",
        native=True,
        recorded="a compatible server sends its usage chunk after the error (d7bd4a95-ca44dd7c-00, 2025-11)",
    ),
    Row(
        "done",
        "`[DONE]` ends the stream, unless an error did.",
        _DOCUMENT,
        recorded="in 76 of 78 streams, 2024-07 to 2026-08; the others end by an error (d7bd4a95-4631e6d7-00, 2025-11)",
    ),
    Row("after-done", "Nothing follows `[DONE]`.", _DOCUMENT),
)
RULES = rows(ID, TABLE)
_CONSTANT = ("id", "created", "model")
_FINISHES = frozenset({"stop", "length", "tool_calls", "content_filter", "function_call"})
_SPEAKING = ("content", "refusal", "tool_calls", "function_call")


class ChatLifecycle(Lifecycle):
    """One Chat stream."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._state = "new"
        self._failed = False
        self._head: dict[str, Any] | None = None
        self._choices: dict[int, str] = {}
        self._calls: dict[int, set[int]] = {}

    def event(self, name: str, body: dict[str, Any]) -> None:
        """See Lifecycle."""
        self.hold(not name, "name", "", f"the SSE name is {name!r}")
        kind = self._kind(body)
        before, self._state = self._state, self.step(STREAM, self._state, kind)
        self._failed = self._failed or kind == "error"
        if kind == "error":
            told = isinstance(object_or(body["error"]).get("message"), str)
            self.hold(told, "error-shape", "/error", "an error needs its message")
        elif before not in ("failed", "ended"):
            self._chunk(body)

    def done_mark(self) -> None:
        """See Lifecycle."""
        self._state = self.step(STREAM, self._state, "done")

    def end(self) -> None:
        """See Lifecycle."""
        self.hold(self._state in ("ended", "failed"), "done", "", f"the body ends in state {self._state!r}")
        if self._failed:
            return
        for index, state in self._choices.items():
            self.hold(state == "finished", "finished", "", f"choice {index} has no finish reason")

    def _kind(self, body: dict[str, Any]) -> str:
        if body.get("error"):
            return "error"
        if self.member(body, "choices", list):
            return "chunk"
        return "usage" if body.get("usage") else "filter"

    def _chunk(self, body: dict[str, Any]) -> None:
        said = body.get("object")
        self.hold(said == "chat.completion.chunk", "object", "/object", f"the object is {said!r}")
        head = {key: body.get(key) for key in _CONSTANT}
        self._head = self._head or head
        for key, value in self._head.items():
            self.hold(head[key] == value, "identity", f"/{key}", f"it was {value!r} and is {head[key]!r}")
        for place, choice in objects(body.get("choices")):
            self._choice(choice, f"/choices/{place}")
        if body.get("usage") is not None:
            self._usage(self.member(body, "usage", dict), bool(body.get("choices")))

    def _usage(self, usage: dict[str, Any], with_choices: bool) -> None:
        self.hold(not with_choices, "usage-last", "/usage", "usage stands in a chunk with choices")
        found = counts(usage, "prompt_tokens", "completion_tokens", "total_tokens")
        summed = len(found) == 3 and found[0] + found[1] == found[2]
        self.hold(summed, "usage-sum", "/usage/total_tokens", f"the counts are {found}")

    def _choice(self, choice: dict[str, Any], pointer: str) -> None:
        index = self.member(choice, "index", int, pointer)
        delta = self.member(choice, "delta", dict, pointer)
        finish = choice.get("finish_reason")
        said = any(delta.get(key) for key in _SPEAKING)
        kinds = {"role": bool(delta.get("role")), "delta": said, "finish": finish is not None}
        state = self._choices.get(index, "silent")
        for kind in (kind for kind, there in kinds.items() if there):
            state = self.step(CHOICE, state, kind, f"{pointer}/{'finish_reason' if kind == 'finish' else 'delta'}")
        self._choices[index] = state
        for place, call in objects(delta.get("tool_calls")):
            self.call(index, call, f"{pointer}/delta/tool_calls/{place}")
        if finish is not None:
            self._finish(index, finish, f"{pointer}/finish_reason")

    def _finish(self, index: int, finish: Any, pointer: str) -> None:
        self.hold(str(finish) in _FINISHES, "finish-word", pointer, f"the finish reason is {finish!r}")
        held = finish != "tool_calls" or bool(self._calls.get(index))
        self.hold(held, "finish-calls", pointer, "it finishes with tool_calls and holds no call")

    def call(self, choice: int, call: dict[str, Any], pointer: str) -> None:
        """One piece of a call."""
        known = self._calls.setdefault(choice, set())
        number, function = call.get("index"), object_or(call.get("function"))
        index = number if isinstance(number, int) else -1
        if index not in known:
            expected = f"expected call {len(known)}, got {number!r}"
            self.hold(index == len(known), "call-index", f"{pointer}/index", expected)
            named = isinstance(call.get("id"), str) and isinstance(function.get("name"), str)
            first = named and call.get("type") == "function" and function.get("arguments") == ""
            said = "the first piece of a call needs id, type, name and no arguments yet"
            self.hold(first, "call-head", pointer, said)
            known.add(index)
            return
        bare = not (call.get("id") or call.get("type") or function.get("name"))
        self.hold(bare, "call-head", pointer, "a later piece of a call repeats its head")
        if not isinstance(function.get("arguments"), str):
            self.breach("shape", f"{pointer}/function/arguments", "expected a string")
