"""What a dialect says. Values only."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from harness.vocabulary.content import JsonValue

CallIds: TypeAlias = Literal["given", "empty", "absent"]
CallIndex: TypeAlias = Literal["counted", "zero", "absent"]
Finish: TypeAlias = Literal["tool_calls", "stop"]
ErrorBody: TypeAlias = Literal["nested", "flat"]
Said: TypeAlias = Literal["given", "absent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """How a server's Chat answers differ from the provider's; the defaults are the provider's own ways.

    `call_index` zero: every call is index 0 and comes in one chunk. `calls_at_once`: the most calls of one answer, None
    for any number. `reasoning_content`: a text beside the content that the provider does not give, None for none.
    `done` tells whether a stream ends with `[DONE]`. `error_body` flat: the error's keys stand at the top.
    """

    usage: Said = "given"
    call_ids: CallIds = "given"
    call_index: CallIndex = "counted"
    calls_at_once: int | None = None
    finish_with_calls: Finish = "tool_calls"
    reasoning_content: str | None = None
    empty_content: bool = False
    done: bool = True
    error_body: ErrorBody = "nested"


@dataclass(frozen=True, slots=True, kw_only=True)
class Speech:
    """A dialect on one transport. `off` and `add` are rule ids, `arguments` top-level keys that it takes beside the
    provider's, `defaults` values of top-level keys that may be left out. `fills_ids`: results without an id answer the
    calls in their order."""

    off: frozenset[str] = frozenset()
    add: frozenset[str] = frozenset()
    arguments: frozenset[str] = frozenset()
    defaults: Mapping[str, JsonValue] = field(default_factory=dict)
    fills_ids: bool = False
    answers: Answers = Answers()


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One dialect. `source` says what it was learnt from; `hosts` are those whose traffic it describes."""

    name: str
    title: str
    source: str
    hosts: tuple[str, ...]
    speeches: Mapping[str, Speech]
    """By transport id."""
