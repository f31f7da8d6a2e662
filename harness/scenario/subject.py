"""What the runner asks of a subject, and the world that a subject gets for one run.

A subject is anything that runs a task to an outcome. It is given a world: the task, a model side (a script behind a
provider, or without a wire), scripted tools, a clock, and what happens from outside. All that it shows goes to
`World.record`.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from harness.scenario.arms import Arm
from harness.scenario.clock import SimulatedClock
from harness.scenario.crash import CrashPlan
from harness.scenario.executor import ScriptedTools
from harness.scenario.format import Scenario
from harness.scenario.interventions import Action, Interventions
from harness.scenario.plan import Plan
from harness.scenario.script import ScriptedModel
from harness.vocabulary.outcome import RunOutcome
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.tools import CallRecord
from harness.vocabulary.trace import CheckpointWritten, Intervened, Record, ReplySent, RequestSent, RunStarted

if TYPE_CHECKING:
    from harness.provider.simulated import SimulatedProvider
    from harness.scenario.sim_model import SimulatedModel

Depth: TypeAlias = Literal["sim", "wire", "http"]
MOST_RESUMES = 100
"""A run that is suspended more often than this goes in circles."""


class SubjectFailed(Exception):
    """The subject ended without an outcome (a process that died, an answer that is none). It is the subject's fault;
    the text says what happened."""


class Subject(Protocol):
    """Something under test. `capabilities` is what it declares of itself; `depths` are those that it can run at."""

    @property
    def name(self) -> str:
        """How reports call it."""

    @property
    def capabilities(self) -> frozenset[str]:
        """Keys of `harness.vocabulary.capabilities.CAPABILITIES`."""

    @property
    def depths(self) -> frozenset[Depth]:
        """Depths that it can run at."""

    def run(self, world: "World") -> RunOutcome:
        """Run the world's task to its outcome, terminal or suspended for good. Raises SubjectFailed where the subject
        gives none; any other exception is a fault of the harness."""


class World:
    """One run's surroundings. Make one for each run; `point` kills the run after that effect, whatever the scenario
    says of a crash. `told_call` wants the telemetry of each call, from a subject that has any."""

    def __init__(
        self,
        scenario: Scenario,
        plan: Plan,
        arm: Arm,
        depth: Depth,
        subject: Subject,
        *,
        point: int | None = None,
        told_call: Callable[[CallRecord], None] | None = None,
    ) -> None:
        self.scenario, self.plan, self.arm, self.depth = scenario, plan, arm, depth
        self.run_id = f"{scenario.id}-{arm.name}"
        self.told_call = told_call
        self.trace: list[Record] = [_started(scenario, plan, arm, subject)]
        self.clock = SimulatedClock(scenario.clock.start)
        self.script = ScriptedModel(scenario, plan, arm, self.record, self.clock)
        self.tools = ScriptedTools(scenario, self.record, self.clock)
        self._outside = Interventions(scenario.interventions, self.script.delivered, self.record, self.clock)
        self.crash = CrashPlan(None if point is not None else scenario.crash, self.script.delivered, point)
        self._listens = bool(scenario.interventions)
        self._built: ModelRequest | None = None
        self._provider: SimulatedProvider | None = None
        self._unstored = False
        self.suspensions = 0

    def record(self, record: Record) -> None:
        """Add a record to the trace. What the scenario does at this moment is done now."""
        kind = type(record)
        if kind is RequestSent:
            record = self._joined(record)  # type: ignore[arg-type]
        elif kind is ReplySent:
            self._unstored = True
        elif kind is CheckpointWritten:
            self._unstored = False
        self.trace.append(record)
        if self._listens:
            self._outside.hear(record)

    def built(self, request: ModelRequest) -> None:
        """The subject's own neutral request, told just before it is sent; it joins the record of the request."""
        self._built = request

    def cancelled(self) -> str | None:
        """A reason, once the scenario has cancelled the run."""
        return self._outside.cancelled()

    def suspended(self, waiting: Sequence[str]) -> Action:
        """What happens to a run that waits for these calls (by the subject's ids). Raises SubjectFailed for a run that
        is suspended without end."""
        self.suspensions += 1
        if self.suspensions > MOST_RESUMES:
            raise SubjectFailed(f"the run was suspended {self.suspensions} times; the last time for {list(waiting)}")
        return self._outside.at_suspension(waiting)

    def crashed(self) -> None:
        """The subject's process was killed: what it had not stored is lost, the outside world goes on."""
        self.record(Intervened(do="crash"))
        self.tools.crashed()
        if self._unstored:
            self.script.rewind()
            self._unstored = False

    def model(self) -> "SimulatedModel":
        """The model side at depth sim."""
        from harness.scenario.sim_model import SimulatedModel

        return SimulatedModel(self.script, self.record, self.clock, streaming=self.arm.streaming)

    def provider(self) -> "SimulatedProvider":
        """The model side at the other depths; its `faults` are the harness's own. One for each run."""
        if self._provider is None:
            from harness.provider.simulated import SimulatedProvider

            dialect = self.scenario.settings.dialect
            made = SimulatedProvider(self.arm.transport, self.script, self.record, self.clock.now, dialect=dialect)
            self._provider = made
        return self._provider

    @property
    def harness_faults(self) -> list[Exception]:
        """What broke inside the simulated provider: never the subject's fault."""
        return [] if self._provider is None else self._provider.faults

    def _joined(self, record: RequestSent) -> RequestSent:
        if record.built is None and self._built is not None:
            record = replace(record, built=self._built)
        self._built = None
        return record


def _started(scenario: Scenario, plan: Plan, arm: Arm, subject: Subject) -> RunStarted:
    return RunStarted(
        scenario=scenario.id,
        transport=arm.transport,
        streaming=arm.streaming,
        subject=subject.name,
        capabilities=subject.capabilities,
        limits=plan.limits,
        settings=plan.settings,
        tools=plan.tools,
        system=plan.system,
        user=plan.user,
    )
