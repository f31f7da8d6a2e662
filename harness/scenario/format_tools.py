"""The `tools` of a scenario: what the model sees of a tool, what its owner declares, and what it answers.

Answers are tried in order: the first whose `when` fits the call and that is not used up is given (scenarios.md,
"an answer"). `{n}` in a text is the ordinal of the call among the runs of its tool, from 1.
"""

from typing import Any, Literal

from pydantic import Field, model_validator

from harness.scenario.format_base import Count, OneOrMany, Part, Seconds, Times, Words

_KINDS = ("text", "json", "large", "image", "error", "empty", "noop", "raises", "hangs", "sequence")


MOST_BYTES = 64 * 1024 * 1024
"""Bytes of one large answer. It is made in memory."""


class Large(Part):
    """Text of exactly `bytes` UTF-8 bytes, made by repeating `of` (numbered lines where it is left out)."""

    bytes: int = Field(ge=1, le=MOST_BYTES)
    of: str | None = Field(default=None, min_length=1)


class ImageAnswer(Part):
    """An image as base64 text."""

    media_type: str
    data: str


class AnswerWhen(Part):
    """A call fits if its decoded arguments hold all of `arguments`."""

    arguments: dict[str, Any]


class Answer(Part):
    """One answer of a tool.

    `text`, `json` (structured, shown as compact JSON), `large` (a number of bytes), `image` (a media type stands for a
    tiny picture of it), `error` (the tool's own error text), `empty`, `noop` (nothing was changed), `raises` (the
    executor breaks with this text), `hangs` (no answer until the tool's time limit, or the run's deadline) or a
    `sequence` of such answers, one after another. `takes` is seconds on the run's clock; `class` overrides the class of
    the outcome.
    """

    text: Words | None = None
    json_: Any = Field(default=None, alias="json")
    large: int | Large | None = None
    image: str | ImageAnswer | None = None
    error: Words | None = None
    empty: Literal[True] | None = None
    noop: Literal[True] | str | None = None
    raises: Words | None = None
    hangs: Literal[True] | None = None
    sequence: "list[Answer] | None" = None
    when: AnswerWhen | None = None
    repeat: Times | Literal["always"] = 1
    takes: Seconds = 0.0
    class_: Literal["ok", "error", "empty", "noop", "uncertain"] | None = Field(default=None, alias="class")

    @property
    def kind(self) -> str:
        """Which of the kinds it is."""
        return next(name for name in _KINDS if self._given(name))

    def _given(self, name: str) -> bool:
        return ("json_" if name == "json" else name) in self.model_fields_set

    @model_validator(mode="after")
    def _one_kind(self) -> "Answer":
        given = [name for name in _KINDS if self._given(name)]
        if len(given) != 1:
            what = " and ".join(given) if given else "nothing"
            raise ValueError(f"holds {what}; write exactly one of {', '.join(_KINDS)}")
        if given == ["sequence"] and (not self.sequence or any(one.when or one.sequence for one in self.sequence)):
            raise ValueError(
                "`sequence` needs at least one answer, and its members have no `when` or `sequence` of their own"
            )
        if given != ["json"] and getattr(self, given[0]) is None:
            raise ValueError(f"`{given[0]}` is null; give it a value")
        if isinstance(self.large, int) and not 1 <= self.large <= MOST_BYTES:
            raise ValueError(f"`large` is a number of bytes, at least 1 and at most {MOST_BYTES}")
        return self


class Tool(Part):
    """A tool: `parameters` is its JSON Schema. `effect` left out is non_idempotent, as for any tool that does not say.

    `policy: deny` forbids it. `empty_when` and `noop_when` are texts that count as an empty or a noop outcome.
    `volatile_arguments` and `volatile_outcome` are JSON Pointers. `timeout` is in seconds of the run's clock.
    """

    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool = False
    effect: Literal["read_only", "idempotent", "conditional", "non_idempotent"] = "non_idempotent"
    approval: Literal["required", "never"] = "never"
    policy: Literal["deny"] | None = None
    observation: bool | None = None
    volatile_arguments: list[str] = Field(default=[])
    volatile_outcome: list[str] = Field(default=[])
    empty_when: OneOrMany = Field(default=[])
    noop_when: OneOrMany = Field(default=[])
    retry_budget: Count = 0
    poll_budget: Count = 0
    timeout: float | None = Field(default=None, gt=0)
    answers: list[Answer] = Field(default=[])
