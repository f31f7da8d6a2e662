"""Tools: what the model sees of one, what the runtime declares of it, and what a run of it gives."""

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from harness.vocabulary.content import Image, JsonObject, JsonValue, Text


class Effect(StrEnum):
    """Idempotency class. An undeclared effect is NON_IDEMPOTENT."""

    READ_ONLY = "read_only"
    IDEMPOTENT = "idempotent"
    CONDITIONAL = "conditional"
    NON_IDEMPOTENT = "non_idempotent"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDefinition:
    """What the model is told of a tool. `parameters` is a JSON Schema of type object."""

    name: str
    description: str
    parameters: JsonObject
    strict: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDeclaration:
    """A tool and the promises its owner makes about it.

    `volatile_arguments` and `volatile_outcome` are JSON Pointers of parts that never tell one call from another.
    `observation` None means: read-only tools are observations, others are not. `denied` is the policy's reason code
    where policy forbids the tool. `timeout` is in seconds.
    """

    definition: ToolDefinition
    effect: Effect = Effect.NON_IDEMPOTENT
    approval: bool = False
    denied: str | None = None
    observation: bool | None = None
    volatile_arguments: tuple[str, ...] = ()
    volatile_outcome: tuple[str, ...] = ()
    retry_budget: int = 0
    poll_budget: int = 0
    timeout: float | None = None

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.definition.name

    @property
    def observes(self) -> bool:
        """Whether a changed outcome of an identical call is new evidence (loop.breaker.evidence-reset)."""
        return self.effect is Effect.READ_ONLY if self.observation is None else self.observation


class OutcomeClass(StrEnum):
    """How a run of a tool ended. UNCERTAIN: its effect may or may not have happened."""

    OK = "ok"
    ERROR = "error"
    EMPTY = "empty"
    NOOP = "noop"
    UNCERTAIN = "uncertain"


class Repetition(StrEnum):
    """What repeated calls of a tool come to (loop.progress.verdict)."""

    RETRY = "retry"
    PROGRESS = "progress"
    RECURSION = "recursion"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutcome:
    """What a run of a tool gave.

    `data` is the structured form where the tool has one; volatile parts are removed from it before comparing.
    `timed_out` marks an error that is the tool's own time limit.
    """

    outcome: OutcomeClass
    content: tuple[Text | Image, ...] = ()
    data: JsonValue = None
    timed_out: bool = False


_NOTHING: JsonObject = MappingProxyType({})


class CallRecord(NamedTuple):
    """Telemetry of one disposed call, in order of completion (the ledger).

    `outcome` None: no outcome was recorded (crash, uncertain effect). `counted`: whether the identical-call counter
    may take it (denied, refused and cancelled calls do not count). `latency_ms` is the driver's measure. The ids of
    trace and span and `ended_at` (seconds of the run's clock) are there where a driver tells the record.
    """

    tool: str
    signature: str
    outcome: OutcomeClass | None
    outcome_hash: str | None
    counted: bool
    step: int
    trace_id: str = ""
    span_id: str = ""
    latency_ms: float | None = None
    extra: JsonObject = _NOTHING
    call_id: str = ""
    ended_at: float | None = None
