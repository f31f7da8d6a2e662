"""One run as the checks see it: model attempts in order, each with its reply, its calls and all that happened before
the next attempt. `harness.checks.reader` makes it from a trace; nothing here is changed afterwards.

A run may have several lives (crash or suspension, then resume); attempts are counted on through all of them, and what
a later life does for a turn stands with the attempt that the turn answered.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from harness.checks.canonical import Signature
from harness.checks.history import NO_CHANGE, Change
from harness.checks.standing import START, Standing, Sure
from harness.vocabulary.content import AssistantMessage, Item, ToolCall, ToolResult
from harness.vocabulary.control import ReasonCode
from harness.vocabulary.outcome import Reason, RunOutcome, Status
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.settings import RunLimits, RunSettings
from harness.vocabulary.tools import ToolDeclaration
from harness.vocabulary.trace import (
    ApprovalAsked,
    CheckpointWritten,
    EventEmitted,
    Intervened,
    Record,
    RequestSent,
    RunEnded,
    RunStarted,
    ScriptFault,
    ToolEnded,
    ToolStarted,
    Waited,
)
from harness.vocabulary.turn import ModelFault, ModelTurn

XML = "xml-fallback"
SIM = "sim"


class Kind(StrEnum):
    """What an attempt came to."""

    TURN = "turn"  # a turn that holds calls
    ANSWER = "answer"  # a turn that says something and calls nothing
    EMPTY = "empty"  # an ordinary stop with nothing but white space or reasoning
    SILENT = "silent"  # another stop without text: refused, filtered, cut by a limit
    PAUSED = "paused"  # to be resumed
    FAULT = "fault"  # the attempt failed
    LOST = "lost"  # no reply that the run kept: crash, cancel in flight


class Fate(StrEnum):
    """What became of one call."""

    EXECUTED = "executed"
    UNCERTAIN = "uncertain"
    PENDING = "pending"
    REFUSED = "refused"
    DENIED = "denied"
    CANCELLED = "cancelled"
    NOT_RUN = "not_run"
    UNKNOWN = "unknown"
    INVALID = "invalid"
    TRUNCATED = "truncated"
    UNANSWERED = "unanswered"


@dataclass(slots=True, eq=False, kw_only=True)
class Call:
    """One proposed call. `arguments` is what the model wrote, `stored` what the conversation holds of it; `call_id`
    the id in the subject's records ("" where unknown). `faults` are the codes that fit a call which may not run, by
    the judge's own reading; `valid` None: the schema says more than the judge reads. `starts` and `ends` carry their
    place in the trace; `text` is what the tool gave."""

    position: int
    name: str
    arguments: str
    signature: Signature
    declared: ToolDeclaration | None
    faults: frozenset[ReasonCode] = frozenset()
    valid: bool | None = None
    call_id: str = ""
    stored: str | None = None
    starts: Sequence[tuple[int, ToolStarted]] = ()
    ends: Sequence[tuple[int, ToolEnded]] = ()
    asked: int | None = None
    result: ToolResult | None = None
    fate: Fate = Fate.UNANSWERED
    text: str | None = None

    @property
    def dispatched(self) -> bool:
        """Whether it reached the executor or a person."""
        return bool(self.starts) or self.asked is not None

    @property
    def label(self) -> str:
        """Its name in a sentence."""
        return f"call {self.position + 1} ({self.name}{', ' + self.call_id if self.call_id else ''})"


@dataclass(slots=True, eq=False, kw_only=True)
class Attempt:
    """One model attempt and its window: all records from its request to the next one.

    `index` and `reply_index` are places in the trace; of a stream that was `cut` off, `ending` and `visible` say how
    its body ended and whether text was seen before ("" and None: not known). A request that the judge of the wire could
    not read (not `legible`) is taken for the one before it: wire.legal says what is wrong with it, and nothing else
    does. `change` compares its history with the attempt before. `joined` is what the conversation holds after this
    attempt's own request (None where the trace does not show it): `said` with the calls `stored`, then `results`.
    `over_limit`: whether the proposed calls would pass the identical-call limit, and `carried` whether one of them was
    counted in an earlier life. `size` bounds the UTF-8 bytes of the request's history, from below and from above;
    `ragged` are the places of new items with a lone surrogate.
    """

    n: int
    index: int
    sent: RequestSent
    request: ModelRequest
    life: int
    step: int = 1
    previous: "Attempt | None" = None
    following: "Attempt | None" = None
    legible: bool = True
    reply: ModelTurn | ModelFault | None = None
    reply_index: int | None = None
    cut: bool = False
    ending: str = ""
    visible: bool | None = None
    kind: Kind = Kind.LOST
    calls: tuple[Call, ...] = ()
    change: Change = NO_CHANGE
    joined: tuple[Item, ...] | None = None
    said: Sequence[AssistantMessage] = ()
    stored: Sequence[ToolCall] = ()
    results: Sequence[ToolResult] = ()
    starts: Sequence[tuple[int, ToolStarted]] = ()
    ends: Sequence[tuple[int, ToolEnded]] = ()
    asked: Sequence[tuple[int, ApprovalAsked]] = ()
    checkpoints: Sequence[tuple[int, CheckpointWritten]] = ()
    events: Sequence[tuple[int, EventEmitted]] = ()
    waits: Sequence[Waited] = ()
    interventions: Sequence[tuple[int, Intervened]] = ()
    ended: Sequence[tuple[int, RunEnded]] = ()
    standing: Standing = START
    over_limit: Sure = Sure.NO
    carried: bool = False
    size: tuple[int, int] = (0, 0)
    ragged: Sequence[int] = ()

    @property
    def control(self) -> str | None:
        """The mode in which the request was sent: the name of its control, or None."""
        control = self.request.control
        return None if control is None else control.name

    @property
    def retries(self) -> bool:
        """Whether it repeats the attempt before it."""
        return self.previous is not None and self.previous.kind in (Kind.FAULT, Kind.EMPTY)

    @property
    def same_step(self) -> bool:
        """Whether it belongs to the step of the attempt before it."""
        return self.previous is not None and self.previous.step == self.step

    @property
    def outcome(self) -> RunOutcome | None:
        """The terminal outcome that came before any other attempt."""
        for _, ended in self.ended:
            if ended.outcome.status is not Status.SUSPENDED:
                return ended.outcome
        return None

    @property
    def violated(self) -> bool:
        """Whether the judge of the wire turned the request down."""
        return bool(self.sent.violations)

    @property
    def stopped(self) -> bool:
        """Whether a cancel or the deadline ended the run here: that ending wins over all others."""
        outcome = self.outcome
        if any(one.do in ("cancel", "crash") for _, one in self.interventions):
            return True
        return outcome is not None and (
            outcome.status is Status.CANCELLED or outcome.reason == Reason.DEADLINE_EXCEEDED
        )


@dataclass(slots=True, eq=False, kw_only=True)
class Timeline:
    """A whole run. `ends` and `events` carry places in the trace. `offset` is how many items more than the first
    request its conversation held then (a wire may merge messages). `turns` are the attempts that gave calls, `calls`
    finds a call by its id, `lied` are the places at which a history is not what it said of itself, `shortens`
    whether any request rewrote an item or is large enough to, `closing` the books after the last attempt."""

    trace: Sequence[Record]
    started: RunStarted
    attempts: list[Attempt]
    turns: list[Attempt]
    tools: Mapping[str, ToolDeclaration]
    ends: list[tuple[int, RunEnded]]
    events: list[tuple[int, EventEmitted]]
    checkpoints: list[tuple[int, CheckpointWritten]]
    interventions: list[tuple[int, Intervened]]
    faults: list[ScriptFault]
    calls: dict[str, Call] = field(default_factory=dict)
    lied: tuple[int, ...] = ()
    shortens: bool = False
    closing: Standing = START
    offset: int = 0

    @property
    def transport(self) -> str:
        """Transport id, or "sim"."""
        return self.started.transport

    @property
    def xml(self) -> bool:
        """Whether tools travel inside text."""
        return self.started.transport == XML

    @property
    def limits(self) -> RunLimits:
        """Limits of the run."""
        return self.started.limits

    @property
    def settings(self) -> RunSettings:
        """Settings of the run."""
        return self.started.settings

    @property
    def room(self) -> int:
        """The context budget in bytes."""
        return self.started.settings.context_budget_tokens * 4

    @property
    def outcome(self) -> RunOutcome | None:
        """The last terminal outcome, None if the run never ended."""
        for _, ended in reversed(self.ends):
            if ended.outcome.status is not Status.SUSPENDED:
                return ended.outcome
        return None

    @property
    def last(self) -> Attempt | None:
        """The last attempt."""
        return self.attempts[-1] if self.attempts else None

    def shows(self, capability: str) -> bool:
        """Whether the subject declares a capability."""
        return capability in self.started.capabilities
