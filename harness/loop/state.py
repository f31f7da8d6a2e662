"""The state of a run: frozen values, all that a resumed run needs. No algorithms beyond small readings of itself.

Named tuples, not dataclasses: the machine makes some fifteen changed copies a turn (see `values`).
"""

from enum import StrEnum
from typing import Any, NamedTuple

from immutables import Map

from harness.loop.breaker import Breaker
from harness.loop.budgets import Spent
from harness.loop.history import Conversation, History, Log
from harness.loop.ledger import Ledger, Records
from harness.loop.task import Task
from harness.loop.values import quickly_replaced
from harness.vocabulary.content import AssistantMessage, ToolCall, ToolResult
from harness.vocabulary.control import Control
from harness.vocabulary.outcome import RunOutcome
from harness.vocabulary.tools import OutcomeClass

_NONE: Map[Any, Any] = Map()
_NOTHING_SPENT = Spent()
_NO_COUNTERS = Breaker()


class Phase(StrEnum):
    """Where a run stands. The machine's table says which events each phase takes."""

    NEW = "new"
    MODEL = "model"
    WAITING = "waiting"
    TURN = "turn"
    TOOLS = "tools"
    BETWEEN = "between"
    SUSPENDED = "suspended"
    DONE = "done"


class SlotState(StrEnum):
    """Where one call of a batch stands."""

    OPEN = "open"
    SENT = "sent"
    ASKED = "asked"
    ANSWERED = "answered"


@quickly_replaced
class Slot(NamedTuple):
    """One call of the turn in progress and how it was disposed of.

    `counts`: whether the identical-call counter takes it. `denied` is the reason code of a denial. `marked`: its effect
    was marked as sent before a kill.
    """

    call: ToolCall
    signature: str
    state: SlotState = SlotState.OPEN
    result: ToolResult | None = None
    outcome: OutcomeClass | None = None
    outcome_hash: str | None = None
    counts: bool = False
    denied: str | None = None
    latency_ms: float | None = None
    marked: bool = False


class Pause(NamedTuple):
    """A wait between two attempts of a step: `seconds` from `since` on, by the run's clock."""

    since: float
    seconds: float

    def left(self, at: float) -> float:
        """Seconds still to wait: all of them where no time has passed, and never more, whatever the clock says."""
        # Compared as it was added: a wait that was waited leaves no rest of rounding.
        return 0.0 if at >= self.since + self.seconds else self.seconds - max(at - self.since, 0.0)


@quickly_replaced
class LoopState(NamedTuple):
    """All of a run. `mode` is the control of the attempt in flight; `seen` the history length that the model has had;
    `attempt` counts within a step (or within one resume of a paused turn); `causes` its failures so far; `pause` what
    must pass before a failed attempt is repeated."""

    task: Task
    history: History
    ledger: Ledger
    phase: Phase = Phase.NEW
    spent: Spent = _NOTHING_SPENT
    breaker: Breaker = _NO_COUNTERS
    denials: Map[tuple[str, str, str], int] = _NONE
    uncertain: Map[str, bool] = _NONE
    used_ids: Map[str, bool] = _NONE
    step: int = 0
    attempt: int = 0
    causes: tuple[str, ...] = ()
    pause: Pause | None = None
    mode: Control | None = None
    seen: int = 0
    paused: AssistantMessage | None = None
    slots: tuple[Slot, ...] = ()
    truncated_last: bool = False
    rebuilt: bool = False
    effects: Map[str, int] = _NONE
    outcome: RunOutcome | None = None

    @property
    def conversation(self) -> Conversation:
        """The whole conversation, with the results that the turn in progress has so far, in request order."""
        results = [slot.result for slot in self.slots if slot.result is not None]
        paused = (self.paused,) if self.paused else ()
        return Conversation(self.history.log, len(self.history), (*paused, *results))

    def with_slot(self, place: int, slot: Slot) -> "LoopState":
        """The state with one slot of the turn in progress replaced."""
        return self._replace(slots=(*self.slots[:place], slot, *self.slots[place + 1 :]))

    def slot_of(self, call_id: str) -> int | None:
        """The place of a call in the turn in progress."""
        return next((place for place, slot in enumerate(self.slots) if slot.call.call_id == call_id), None)


def new_state(task: Task) -> LoopState:
    """The state before the first event."""
    return LoopState(task=task, history=History(Log()), ledger=Ledger(Records()))
