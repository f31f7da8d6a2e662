"""The `script` of a scenario: what the model says, turn by turn (scenarios.md, "a turn").

A turn is one of: something said (`say`, `calls`, `reasoning`, `refusal`), `empty`, `fail`, or `raw`. `cut` breaks off
the stream of something said. `{n}` in a repeated turn is the number of the repetition, from 1.
"""

from typing import Any, Literal

from pydantic import Field, model_validator

from harness.scenario.format_base import ChoiceWord, ControlWord, Count, OneOrMany, Part, Times, Words

NEUTRAL_FAULTS = ("context_length", "call_rejected")
"""Words for `fail.type` that each wire says in its own way: input too long, and a call under `tool_choice` none."""


class Call(Part):
    """A tool call of the model. `raw_arguments` is the argument text as it is written on the wire, sound JSON or not;
    `id` is the call's id (`call_1`, `call_2` … in the order of the run where it is left out)."""

    tool: str
    arguments: dict[str, Any] | None = None
    raw_arguments: Words | None = None
    id: str | None = None

    @model_validator(mode="after")
    def _one_form(self) -> "Call":
        if self.arguments is not None and self.raw_arguments is not None:
            raise ValueError("has both `arguments` and `raw_arguments`; keep one")
        return self


class Fail(Part):
    """A failed attempt: an HTTP status with the provider's error body, or a broken connection.

    `type` is the provider's error type (a usual one for the status where it is left out), or a word that each wire
    says in its own way: `context_length`, `call_rejected`. `retry_after` is seconds, or the header's text.
    """

    status: int | None = Field(default=None, ge=400, le=599)
    type: str | None = None
    message: str | None = None
    retry_after: float | str | None = None
    connection: Literal["refused", "reset", "timeout"] | None = None

    @model_validator(mode="after")
    def _one_cause(self) -> "Fail":
        if (self.status is None) == (self.connection is None):
            raise ValueError("needs either `status` or `connection`")
        given = [name for name in ("type", "message", "retry_after") if getattr(self, name) is not None]
        if self.connection is not None and given:
            raise ValueError(f"`{given[0]}` belongs to an answer with a `status`; a broken connection has none")
        return self


class Cut(Part):
    """Where the answer breaks off. `after_events: k` counts visible pieces (text, refusal or argument deltas), so that
    it means the same on every wire; 0 is before anything was sent. `after_bytes` counts bytes of the body. `how`: a
    clean end of the body, a reset connection, or a stall until the client's time-out."""

    after_bytes: Count | None = None
    after_events: Count | None = None
    how: Literal["clean", "reset", "stall"] = "reset"

    @model_validator(mode="after")
    def _one_place(self) -> "Cut":
        if (self.after_bytes is None) == (self.after_events is None):
            raise ValueError("needs either `after_events` or `after_bytes`")
        return self


class Raw(Part):
    """An answer given byte for byte, for what no honest provider sends. At depth sim a raw answer with a status below
    400 stands for a broken contract."""

    status: int = Field(default=200, ge=200, le=599)
    headers: dict[str, str] = Field(default={})
    body: str | None = None
    chunks: list[str] | None = None
    end: Literal["clean", "reset", "stall"] = "clean"

    @model_validator(mode="after")
    def _one_body(self) -> "Raw":
        if (self.body is None) == (self.chunks is None):
            raise ValueError("needs either `body` or `chunks`")
        return self


class UsageSpec(Part):
    """Tokens that the provider reports for a turn. A class left out has its default (input 100, output 10, others 0);
    null is a class that is not reported."""

    input: Count | None = None
    cached: Count | None = None
    cache_write: Count | None = None
    output: Count | None = None
    reasoning: Count | None = None


class When(Part):
    """What the request must look like for the turn to be played; else the subject has broken the script."""

    tool_choice: ChoiceWord | None = None
    control: ControlWord | None = None
    contains: OneOrMany = Field(default=[])


class Turn(Part):
    """One turn of the model, played `repeat` times."""

    say: Words | None = None
    calls: list[Call] = Field(default=[])
    reasoning: Words | None = None
    refusal: Words | None = None
    stop: Literal["end", "max_tokens", "refusal", "content_filter", "pause"] | None = None
    empty: Literal[True] | None = None
    fail: Fail | None = None
    cut: Cut | None = None
    raw: Raw | None = None
    usage: UsageSpec | None = None
    when: When | None = None
    repeat: Times = 1

    @property
    def says(self) -> bool:
        """Whether the turn holds anything that the model produced (reasoning alone is an empty turn)."""
        return self.say is not None or bool(self.calls) or self.refusal is not None

    @model_validator(mode="after")
    def _one_kind(self) -> "Turn":
        silent = self.stop in ("refusal", "content_filter", "max_tokens") or self.reasoning is not None
        kinds = {
            "say, calls or refusal": self.says,
            "`empty`": bool(self.empty),
            "`fail`": self.fail is not None,
            "`raw`": self.raw is not None,
        }
        given = [name for name, here in kinds.items() if here]
        if len(given) > 1:
            raise ValueError(f"is {' and '.join(given)} at once; keep one of them")
        if not given and not silent:
            raise ValueError("says nothing; write `say`, `calls`, `refusal`, `fail` or `raw`, or `empty: true`")
        if self.cut is not None and (self.fail or self.raw):
            raise ValueError("`cut` breaks off something said; a `fail` or `raw` answer has none")
        if self.usage is not None and (self.fail or self.raw):
            raise ValueError("`usage` belongs to a turn; a `fail` or `raw` answer reports none")
        if self.stop == "end" and self.calls:
            raise ValueError("`stop: end` on a turn with calls; leave `stop` out")
        return self
