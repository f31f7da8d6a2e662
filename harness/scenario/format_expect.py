"""The `expect` block: what the run must have come to (scenarios.md, the closed key list).

Each key given is one finding, `scenario.expect`, pass or fail. A key left out is not looked at. What a subject does
not show by its declared capabilities is not applicable, never a pass.
"""

from typing import Any, Literal

from pydantic import Field, model_validator

from harness.scenario.format_base import ChoiceWord, ControlWord, Count, Money, OneOrMany, Part, Seconds, Times
from harness.vocabulary.control import ReasonCode

REASON_CODES = tuple(code.value for code in ReasonCode)


class TextExpect(Part):
    """What a text must be: `equals`, or each of `contains` and none of `not_contains`."""

    equals: str | None = None
    contains: OneOrMany = Field(default=[])
    not_contains: OneOrMany = Field(default=[])


class ResultExpect(Part):
    """The result of one call, found by its id as the script writes it (`call`) or as the `nth` proposed call of
    `tool` (1 where left out)."""

    call: str | None = None
    tool: str | None = None
    nth: Times | None = None
    is_error: bool | None = None
    reason_code: str | None = None

    @model_validator(mode="after")
    def _one_name(self) -> "ResultExpect":
        if (self.call is None) == (self.tool is None):
            raise ValueError("needs either `call` (an id) or `tool`")
        if self.call is not None and self.nth is not None:
            raise ValueError("`nth` counts the calls of a `tool`; an id needs none")
        if self.is_error is None and self.reason_code is None:
            raise ValueError("says nothing of the result; write `is_error` or `reason_code`")
        return self


class RequestExpect(Part):
    """One model request: its number (from 1), `last`, or `each`.

    `tools: unchanged` and `prefix: frozen` compare with the first request (on the XML fallback the neutral request,
    and not in synthesis). `elided` are exactly the calls whose results are pointers. `contains` and `not_contains`
    look at the texts of the history and the control; `items` is the number of history items.
    """

    at: Times | Literal["last", "each"]
    tool_choice: ChoiceWord | None = None
    control: ControlWord | None = None
    tools: Literal["unchanged"] | None = None
    prefix: Literal["frozen"] | None = None
    elided: list[str] | None = None
    contains: OneOrMany = Field(default=[])
    not_contains: OneOrMany = Field(default=[])
    items: Count | None = None

    @model_validator(mode="after")
    def _something(self) -> "RequestExpect":
        if self.model_fields_set <= {"at"}:
            raise ValueError("says nothing of the request; write `control`, `tool_choice`, `contains` …")
        return self


class Range(Part):
    """A number between two bounds, both allowed."""

    at_least: Seconds = 0.0
    at_most: Seconds


class UsageExpect(Part):
    """Tokens of the whole run, `null` where the provider reported none; `cost` in US dollars."""

    input: Count | None = None
    cached: Count | None = None
    cache_write: Count | None = None
    output: Count | None = None
    reasoning: Count | None = None
    cost: Money | None = None


class ConversationExpect(Part):
    """The conversation of the outcome, the user's message and a history before it included.

    `items` counts it; `answered: true` means that each call in it has exactly one result, in request order, directly
    behind its turn. `last` is what its last item is, `last_text` that item's text. `contains` and `not_contains` look
    at all of its texts, arguments included.
    """

    items: Count | None = None
    answered: Literal[True] | None = None
    last: Literal["user", "assistant", "result"] | None = None
    last_text: TextExpect | None = None
    contains: OneOrMany = Field(default=[])
    not_contains: OneOrMany = Field(default=[])

    @model_validator(mode="after")
    def _something(self) -> "ConversationExpect":
        if not self.model_fields_set:
            raise ValueError("says nothing of the conversation; write `items`, `answered`, `last`, `last_text` …")
        return self


class Expect(Part):
    """What the run must have come to. `executed` counts the runs of a tool, `effects` those that may have had an
    effect, `attempts` the requests that the model side saw; `model_calls`, `steps`, `tool_calls`, `refused_calls` and
    `resets` are the outcome's counters. `details` is a part of the outcome's details. `events` and `checkpoints` are
    names in their order, others may stand between. `waits` are all waits in order."""

    outcome: Literal["completed", "failed", "cancelled", "suspended"] | None = None
    reason: str | None = None
    error_class: str | None = None
    details: dict[str, Any] | None = None
    final_text: TextExpect | None = None
    truncated: bool | None = None
    refused: bool | None = None
    executed: dict[str, Count] | None = None
    effects: dict[str, Count] | None = None
    model_calls: Count | None = None
    attempts: Count | None = None
    steps: Count | None = None
    tool_calls: Count | None = None
    refused_calls: Count | None = None
    resets: Count | None = None
    results: list[ResultExpect] = Field(default=[])
    requests: list[RequestExpect] = Field(default=[])
    conversation: ConversationExpect | None = None
    events: list[str] = Field(default=[])
    checkpoints: list[str] = Field(default=[])
    waits: list[float | Range] | None = None
    usage: UsageExpect | None = None
    verdicts: dict[str, Literal["retry", "progress", "recursion"]] | None = Field(default=None)

    @model_validator(mode="after")
    def _something(self) -> "Expect":
        if not self.model_fields_set:
            raise ValueError("is empty; a scenario that expects nothing proves nothing")
        return self
