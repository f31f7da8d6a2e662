"""What a scenario does to a run from outside: decisions on calls that wait, a cancel, time that passes.

It listens to the trace as it is written, so that it works for any subject: moments that the harness sees itself, and
the events that a subject shows. It decides nothing on its own.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from harness.scenario.clock import SimulatedClock
from harness.scenario.delivered import Delivered
from harness.scenario.format_outside import Intervention
from harness.vocabulary.trace import (
    ApprovalAsked,
    EventEmitted,
    Intervened,
    Record,
    ReplySent,
    RequestSent,
    ToolEnded,
    ToolStarted,
)

_MOMENTS: Mapping[type, str] = {
    ApprovalAsked: "approval_requested",
    RequestSent: "request_sent",
    ReplySent: "reply_sent",
    ToolStarted: "tool_started",
    ToolEnded: "tool_ended",
}
_DECISIONS = ("approve", "deny", "expire")
_AT_SUSPENSION = ("approval_requested", "approval.requested", "run.suspended")
_CANCELLED = "cancelled by the scenario"


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a person said about one waiting call (by the subject's id)."""

    call_id: str
    approve: bool
    reason: str | None
    by: str


@dataclass(frozen=True, slots=True)
class Action:
    """What happens to a suspended run: it is cancelled, or resumed `times` times with the rulings, or left as it is."""

    cancel: str | None = None
    rulings: tuple[Ruling, ...] = ()
    times: int = 0


class Interventions:
    """The interventions of one run."""

    def __init__(
        self,
        specs: Sequence[Intervention],
        delivered: Delivered,
        record: Callable[[Record], None],
        clock: SimulatedClock,
    ) -> None:
        self._delivered, self._record, self._clock = delivered, record, clock
        self._live = [one for one in enumerate(specs) if one[1].do in ("cancel", "advance_clock")]
        self._resting = [one for one in enumerate(specs) if one[1].at in _AT_SUSPENSION]
        self._seen: Counter[int] = Counter()
        self._reason: str | None = None

    def cancelled(self) -> str | None:
        """The reason of a cancel, once there was one."""
        return self._reason

    def hear(self, record: Record) -> None:
        """Look at a record as it is written; act where an intervention is for this moment."""
        if not self._live or isinstance(record, Intervened):
            return
        name, call, tool = _moment(record)
        if name is not None:
            for place, spec in self._live:
                if spec.at == name and self._due(place, spec, call, tool):
                    self._act(spec)

    def at_suspension(self, waiting: Sequence[str]) -> Action:
        """What to do with a run that waits for these calls; each ruling is recorded."""
        rulings = tuple(ruling for call in waiting if (ruling := self._ruling(call)) is not None)
        if self._reason is not None:
            return Action(cancel=self._reason)
        resumes = [
            spec.do
            for place, spec in self._resting
            if spec.do in ("resume", "resume_twice") and self._due(place, spec, None, None)
        ]
        if not rulings and not resumes:
            return Action()
        for ruling in rulings:
            details = {"reason": ruling.reason, "by": ruling.by}
            self._record(
                Intervened(do="approve" if ruling.approve else "deny", call_id=ruling.call_id, details=details)
            )
        times = 2 if "resume_twice" in resumes else 1
        self._record(Intervened(do="resume" if times == 1 else "resume_twice"))
        return Action(rulings=rulings, times=times)

    def _ruling(self, call: str) -> Ruling | None:
        # Each one counts its own occasions, also those at which another one decides.
        due = [one for place, one in self._resting if one.do in _DECISIONS and self._due(place, one, call, None)]
        if not due:
            return None
        spec = due[0]
        reason = spec.reason or ("expired" if spec.do == "expire" else None)
        return Ruling(call, spec.do == "approve", reason, str(spec.by or ""))

    def _due(self, place: int, spec: Intervention, call: str | None, tool: str | None) -> bool:
        """Whether an intervention is for this call and time; counts the times at which it could be."""
        if spec.call is not None and call is not None and not self._delivered.fits(call, tool, spec.call):
            return False
        if spec.call is not None and call is None and tool != spec.call:
            return False
        self._seen[place] += 1
        return spec.nth is None or spec.nth == self._seen[place]

    def _act(self, spec: Intervention) -> None:
        if spec.do == "cancel":
            self._reason = spec.reason or _CANCELLED
            self._record(Intervened(do="cancel", details={"reason": self._reason}))
        elif isinstance(spec.by, float):
            self._clock.advance(spec.by)
            self._record(Intervened(do="advance_clock", details={"seconds": spec.by}))


def _moment(record: Record) -> tuple[str | None, str | None, str | None]:
    """The name of the moment, its call and its tool."""
    if isinstance(record, EventEmitted):
        return record.name, record.fields.get("call_id"), record.fields.get("tool")
    name = _MOMENTS.get(type(record))
    return name, getattr(record, "call_id", None), getattr(record, "tool", None)
