"""What happens to a run from outside: interventions, a crash, the clock (scenarios.md, the closed key list)."""

from typing import Literal

from pydantic import model_validator

from harness.scenario.format_base import Part, Seconds, Times
from harness.vocabulary.events import EventName

MOMENTS = ("approval_requested", "request_sent", "reply_sent", "tool_started", "tool_ended")
"""Moments that the harness sees itself, whatever the subject shows; any event name is a moment too."""
AT = (*MOMENTS, *[name.value for name in EventName])
EFFECTS = ("call_model", "run_tool", "mark_effect_sent", "wait", "write_checkpoint", "ask_approval", "emit", "finish")
"""Effects after which a run may be killed (loop.md section 1)."""


class Intervention(Part):
    """Something done to the run when `at` comes.

    `call` is a call's id as the script writes it, or a tool's name; left out, any call fits. `nth` is the time at
    which it comes, counted from 1 over the run; left out, each time. `by` is who decided, or for `advance_clock` the
    seconds. `expire` is a denial because nobody decided in time.
    """

    at: str
    call: str | None = None
    nth: Times | None = None
    do: Literal["approve", "deny", "expire", "cancel", "resume", "resume_twice", "advance_clock"]
    reason: str | None = None
    by: str | float | None = None

    @model_validator(mode="after")
    def _fits(self) -> "Intervention":
        clock = self.do == "advance_clock"
        if clock and (not isinstance(self.by, float) or self.by <= 0):
            raise ValueError("`do: advance_clock` needs `by`, a number of seconds above 0")
        if not clock and isinstance(self.by, float):
            raise ValueError(f"`by` of `{self.do}` is who decided, a text")
        decision = self.do in ("approve", "deny", "expire", "resume", "resume_twice")
        if decision and self.at not in ("approval_requested", "approval.requested", "run.suspended"):
            raise ValueError(f"`do: {self.do}` is said to a suspended run; write `at: approval_requested`")
        return self


class Crash(Part):
    """The process is killed after an effect, then resumed from what is stored. `call` is the call's id, the trigger
    of the checkpoint or the name of the event. `every: true` kills once after each effect, one run an effect."""

    after: (
        Literal[
            "call_model", "run_tool", "mark_effect_sent", "wait", "write_checkpoint", "ask_approval", "emit", "finish"
        ]
        | None
    ) = None
    call: str | None = None
    nth: Times = 1
    every: Literal[True] | None = None
    then: Literal["resume", "resume_by_two"] = "resume"

    @model_validator(mode="after")
    def _one_form(self) -> "Crash":
        if (self.after is None) == (self.every is None):
            raise ValueError("needs either `after` (an effect) or `every: true`")
        if self.every and (self.call is not None or self.nth != 1):
            raise ValueError("`every: true` takes each effect; leave out `call` and `nth`")
        return self


class Clock(Part):
    """The run's clock: where it starts, and how many seconds each model attempt takes."""

    start: Seconds = 0.0
    attempt_takes: Seconds = 0.0
