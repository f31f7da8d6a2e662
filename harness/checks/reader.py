"""Trace -> timeline. Records are walked once; each attempt is then tied to what the conversation made of its turn.

Calls are tied to the subject's records by their place in the turn, never by the id in the script: a subject rewrites
empty and repeated ids, and on the XML fallback the ids are made by its adapter.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from harness.checks.calls import CallReader
from harness.checks.canonical import well_formed
from harness.checks.history import Mirror, compare, split_turn
from harness.checks.reckoning import reckon
from harness.checks.sizes import measure
from harness.checks.timeline import Attempt, Call, Fate, Kind, Timeline
from harness.vocabulary.content import Item, Text, ToolResult
from harness.vocabulary.control import ReasonCode
from harness.vocabulary.outcome import Status
from harness.vocabulary.trace import (
    ApprovalAsked,
    CheckpointWritten,
    EventEmitted,
    Intervened,
    Record,
    ReplySent,
    RequestSent,
    RunEnded,
    RunStarted,
    ScriptFault,
    ToolEnded,
    ToolStarted,
    Waited,
)
from harness.vocabulary.turn import ModelFault, ModelTurn, StopReason

Entry = TypeVar("Entry")
_FATES: dict[str, Fate] = {
    ReasonCode.BUDGET_EXHAUSTED: Fate.REFUSED,
    ReasonCode.DENIED: Fate.DENIED,
    ReasonCode.CANCELLED: Fate.CANCELLED,
    ReasonCode.NOT_RUN: Fate.NOT_RUN,
    ReasonCode.UNKNOWN: Fate.UNKNOWN,
    ReasonCode.ARGUMENTS_INVALID: Fate.INVALID,
    ReasonCode.ARGUMENTS_TRUNCATED: Fate.TRUNCATED,
    ReasonCode.OUTCOME_UNKNOWN: Fate.UNCERTAIN,
}
_ORDINARY = (StopReason.END, StopReason.TOOL_CALLS)


def read(trace: Sequence[Record]) -> Timeline:
    """The timeline of a trace, with the judge's own books kept beside each attempt. Raises ValueError for a trace that
    does not begin with `RunStarted`: that is the harness's fault, not the subject's."""
    if not trace or not isinstance(trace[0], RunStarted):
        raise ValueError("a trace begins with RunStarted; this one does not")
    timeline = _Reader(trace, trace[0]).read()
    reckon(timeline)
    return timeline


class _Reader:
    """One walk over the records."""

    def __init__(self, trace: Sequence[Record], started: RunStarted) -> None:
        tools = {tool.name: tool for tool in started.tools}
        self.timeline = Timeline(
            trace=trace,
            started=started,
            attempts=[],
            turns=[],
            tools=tools,
            ends=[],
            events=[],
            checkpoints=[],
            interventions=[],
            faults=[],
        )
        self.calls = CallReader(started, tools)
        self.current: Attempt | None = None
        self.life = 1
        self._read: dict[type, Callable[[int, Any], None]] = {
            RequestSent: self._request,
            ReplySent: self._reply,
            ToolStarted: self._tool_started,
            ToolEnded: self._tool_ended,
            CheckpointWritten: self._checkpoint,
            EventEmitted: self._event,
            ApprovalAsked: self._approval,
            Intervened: self._intervened,
            RunEnded: self._ended,
            Waited: self._waited,
            ScriptFault: self._script_fault,
        }

    def read(self) -> Timeline:
        for index, record in enumerate(self.timeline.trace):
            handler = self._read.get(type(record))
            if handler is not None:
                handler(index, record)
        self._compare()
        for attempt in self.timeline.attempts:
            self._settle(attempt)
        self._number_steps()
        self.timeline.turns = [attempt for attempt in self.timeline.attempts if attempt.kind is Kind.TURN]
        return self.timeline

    def _request(self, index: int, record: RequestSent) -> None:
        previous = self.current
        attempt = Attempt(
            n=record.n, index=index, sent=record, request=record.request, life=self.life, previous=previous
        )
        if previous is not None:
            previous.following = attempt
        self.timeline.attempts.append(attempt)
        self.current = attempt

    def _reply(self, index: int, record: ReplySent) -> None:
        if self.current is not None:
            self.current.reply, self.current.reply_index = record.reply, index
            self.current.cut, self.current.ending, self.current.visible = record.cut, record.ending, record.visible

    def _tool_started(self, index: int, record: ToolStarted) -> None:
        if self.current is not None:
            self.current.starts = _more(self.current.starts, (index, record))

    def _tool_ended(self, index: int, record: ToolEnded) -> None:
        if self.current is not None:
            self.current.ends = _more(self.current.ends, (index, record))

    def _checkpoint(self, index: int, record: CheckpointWritten) -> None:
        self.timeline.checkpoints.append((index, record))
        if self.current is not None:
            self.current.checkpoints = _more(self.current.checkpoints, (index, record))

    def _event(self, index: int, record: EventEmitted) -> None:
        self.timeline.events.append((index, record))
        if self.current is not None:
            self.current.events = _more(self.current.events, (index, record))

    def _approval(self, index: int, record: ApprovalAsked) -> None:
        if self.current is not None:
            self.current.asked = _more(self.current.asked, (index, record))

    def _intervened(self, index: int, record: Intervened) -> None:
        self.life += record.do == "crash"
        self.timeline.interventions.append((index, record))
        if self.current is not None:
            self.current.interventions = _more(self.current.interventions, (index, record))

    def _ended(self, index: int, record: RunEnded) -> None:
        self.life += record.outcome.status is Status.SUSPENDED
        self.timeline.ends.append((index, record))
        if self.current is not None:
            self.current.ended = _more(self.current.ended, (index, record))

    def _waited(self, _: int, record: Waited) -> None:
        if self.current is not None:
            self.current.waits = _more(self.current.waits, record)

    def _script_fault(self, _: int, record: ScriptFault) -> None:
        self.timeline.faults.append(record)

    def _compare(self) -> None:
        mirror, before = Mirror(), ()
        items: Sequence[Item] = before
        for attempt in self.timeline.attempts:
            if attempt.violated and not attempt.request.items and attempt.previous is not None:
                attempt.request, attempt.legible = attempt.previous.request, False
            attempt.change = compare(items, attempt.request.items)
            mirror.follow(items, attempt.request.items, attempt.change)
            measure(attempt)
            items = attempt.request.items
            self.timeline.shortens |= bool(attempt.change.changed) or attempt.size[0] > self.timeline.room
        self.timeline.lied = mirror.differences(items)
        for attempt in self.timeline.attempts[:1]:
            built = attempt.sent.built
            self.timeline.offset = 0 if built is None else len(built.items) - len(attempt.request.items)

    def _settle(self, attempt: Attempt) -> None:
        attempt.kind = _kind(attempt)
        if attempt.kind is not Kind.TURN or not isinstance(attempt.reply, ModelTurn):
            return
        attempt.calls = self.calls.read(attempt.reply)
        attempt.joined = self._joined(attempt)
        if attempt.joined is not None:
            attempt.said, attempt.results, _ = split_turn(attempt.joined)
        self.calls.identify(attempt)
        self.timeline.calls.update([(call.call_id, call) for call in attempt.calls])
        _bind(attempt)

    def _joined(self, attempt: Attempt) -> tuple[Item, ...] | None:
        following = attempt.following
        if following is not None and following.legible:
            return following.change.grown
        base = len(attempt.request.items) + self.timeline.offset
        ended = [record.outcome.conversation for _, record in reversed(attempt.ended)]
        for held in [*ended, *[record.conversation for _, record in reversed(attempt.checkpoints)]]:
            if len(held) > base:
                return tuple([held[place] for place in range(base, len(held))])
        return None

    def _number_steps(self) -> None:
        for attempt in self.timeline.attempts:
            before = attempt.previous
            if before is not None:
                attempt.step = before.step + (before.kind in (Kind.TURN, Kind.ANSWER, Kind.SILENT))


def _kind(attempt: Attempt) -> Kind:
    reply = attempt.reply
    if reply is None or _swallowed(attempt):
        return Kind.LOST
    if isinstance(reply, ModelFault) or attempt.cut:
        return Kind.FAULT
    if reply.stop is StopReason.PAUSE:
        return Kind.PAUSED
    if reply.message.calls:
        return Kind.TURN
    if any(getattr(part, "text", "").strip() for part in reply.message.content):
        return Kind.ANSWER
    return Kind.EMPTY if reply.stop in _ORDINARY else Kind.SILENT


def _swallowed(attempt: Attempt) -> bool:
    """Whether a crash came before the reply was kept: no checkpoint in between, and the next request goes without."""
    crash = next((index for index, one in attempt.interventions if one.do == "crash"), None)
    if crash is None or attempt.reply_index is None:
        return False
    kept = any(attempt.reply_index < index < crash for index, _ in attempt.checkpoints)
    following = attempt.following
    return not kept and following is not None and not following.change.grown and following.request.paused is None


def _bind(attempt: Attempt) -> None:
    """Give each call its executions, its approval and its result."""
    by_id: dict[str, Call] = {}
    for call in attempt.calls:
        by_id.setdefault(call.call_id, call)
    by_id.pop("", None)
    for index, started in attempt.starts:
        if started.call_id in by_id:
            call = by_id[started.call_id]
            call.starts = _more(call.starts, (index, started))
    for index, ended in attempt.ends:
        if ended.call_id in by_id:
            call = by_id[ended.call_id]
            call.ends = _more(call.ends, (index, ended))
    for index, asked in attempt.asked:
        if asked.call_id in by_id:
            by_id[asked.call_id].asked = index
    results: dict[str, ToolResult] = {}
    for result in attempt.results:
        results.setdefault(result.call_id, result)
    for call in attempt.calls:
        call.result = results.get(call.call_id)
        call.fate = _fate(call)
        if call.ends:
            parts = [part.text for part in call.ends[-1][1].outcome.content if isinstance(part, Text)]
            call.text = well_formed("".join(parts)) if parts else None


def _fate(call: Call) -> Fate:
    code = call.result.reason_code if call.result is not None and call.result.is_error else None
    if call.starts:
        return Fate.UNCERTAIN if code == ReasonCode.OUTCOME_UNKNOWN else Fate.EXECUTED
    if call.result is None:
        return Fate.UNANSWERED if call.asked is None else Fate.PENDING
    return Fate.UNANSWERED if code is None else _FATES.get(code, Fate.UNANSWERED)


def _more(held: Sequence[Entry], entry: Entry) -> Sequence[Entry]:
    """A sequence with one entry more. Most sequences of an attempt stay empty and share one empty tuple."""
    if not isinstance(held, list):
        return [entry]
    held.append(entry)
    return held
