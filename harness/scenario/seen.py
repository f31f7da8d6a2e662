"""What a trace shows, gathered once for the expectations of a scenario. Reads only the trace and the outcome."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.scenario.arms import Arm
from harness.scenario.delivered import Delivered
from harness.scenario.format import Scenario
from harness.scenario.plan import Plan
from harness.vocabulary.content import AssistantMessage, ToolCall, ToolResult
from harness.vocabulary.outcome import RunOutcome
from harness.vocabulary.trace import (
    CheckpointWritten,
    EventEmitted,
    Record,
    RequestSent,
    ToolStarted,
    Waited,
)


@dataclass(frozen=True, slots=True)
class Seen:
    """One run as its expectations look at it. `calls` are the calls of the conversation that the run added, in order:
    the place of a call there is its place among the calls that the model side gave."""

    scenario: Scenario
    arm: Arm
    outcome: RunOutcome
    delivered: Delivered
    requests: tuple[RequestSent, ...]
    executed: Counter[str]
    events: tuple[str, ...]
    verdicts: Mapping[str, str]
    checkpoints: tuple[str, ...]
    waits: tuple[float, ...]
    calls: tuple[ToolCall, ...]
    results: dict[str, ToolResult]

    def call_named(self, wanted: str) -> ToolCall | None:
        """The call of the conversation that the scenario calls `wanted`."""
        place = self.delivered.place(wanted)
        return self.calls[place] if place is not None and place < len(self.calls) else None

    def call_of_tool(self, tool: str, nth: int) -> ToolCall | None:
        """The `nth` call of a tool (from 1)."""
        places = [place for place in self.delivered.places_of(tool) if place < len(self.calls)]
        return self.calls[places[nth - 1]] if nth <= len(places) else None


def look(
    scenario: Scenario, plan: Plan, arm: Arm, delivered: Delivered, trace: Sequence[Record], outcome: RunOutcome
) -> Seen:
    """Gather what a trace shows."""
    said = [item for item in outcome.conversation if isinstance(item, AssistantMessage)]
    before = sum(isinstance(item, AssistantMessage) for item in plan.history)
    results = [item for item in outcome.conversation if isinstance(item, ToolResult)]
    return Seen(
        scenario=scenario,
        arm=arm,
        outcome=outcome,
        delivered=delivered,
        requests=tuple(one for one in trace if isinstance(one, RequestSent)),
        executed=Counter(one.tool for one in trace if isinstance(one, ToolStarted)),
        events=tuple(one.name for one in trace if isinstance(one, EventEmitted)),
        verdicts=_verdicts(trace),
        checkpoints=tuple(one.trigger for one in trace if isinstance(one, CheckpointWritten)),
        waits=tuple(one.seconds for one in trace if isinstance(one, Waited)),
        calls=tuple(call for message in said[before:] for call in message.calls),
        results={result.call_id: result for result in results},
    )


def _verdicts(trace: Sequence[Record]) -> Mapping[str, str]:
    """What the run's last word says of repeated calls, by tool."""
    said = [one.fields["verdicts"] for one in trace if isinstance(one, EventEmitted) and "verdicts" in one.fields]
    found: Mapping[str, str] = said[-1] if said else {}
    return found
