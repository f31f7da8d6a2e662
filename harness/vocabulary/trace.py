"""The one trace format: what a run did, as any subject could show it. Checks read nothing else.

Records stand in the order in which things happened. `n` numbers model attempts from 1, over the whole run (a resume
goes on counting). A subject that hides a kind of record (checkpoints, waits) leaves it out and does not declare the
capability; the checks that need it are then not applicable.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from harness.vocabulary.outcome import RunOutcome
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.settings import RunLimits, RunSettings
from harness.vocabulary.tools import ToolDeclaration, ToolOutcome
from harness.vocabulary.turn import ModelFault, ModelTurn


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One breach of a provider's rules: which rule, where (`pointer` is a JSON Pointer into the payload), the status
    and body that the provider answers with, and how to mend it."""

    rule: str
    pointer: str
    message: str
    status: int = 400
    error_type: str = "invalid_request_error"
    param: str | None = None
    code: str | None = None
    mend: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """First record. `transport` is a transport id, or "sim" where there is no wire; `capabilities` the subject's."""

    scenario: str
    transport: str
    streaming: bool
    subject: str
    capabilities: frozenset[str]
    limits: RunLimits
    settings: RunSettings
    tools: tuple[ToolDeclaration, ...]
    system: str
    user: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestSent:
    """A model request left the subject. `request` is read back from the wire (at depth sim: as built); `built` is the
    subject's own neutral request where it shows one; `payload` the wire bytes; `violations` the judge's findings."""

    n: int
    request: ModelRequest
    built: ModelRequest | None = None
    payload: bytes | None = None
    violations: tuple[Violation, ...] = ()
    at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplySent:
    """What the model side answered to request `n`: the scripted turn, or the fault that the script stands for. `cut`
    tells a turn whose stream was broken off before its terminal event; `ending` how its body then ended, and
    `visible` whether text or refusal deltas were seen before (None: not known)."""

    n: int
    reply: ModelTurn | ModelFault
    cut: bool = False
    ending: Literal["", "clean", "reset", "stall"] = ""
    visible: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted:
    """The executor was reached. `arguments` is the raw JSON text it received."""

    call_id: str
    tool: str
    arguments: str
    at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEnded:
    """The executor returned."""

    call_id: str
    tool: str
    outcome: ToolOutcome
    at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectMarked:
    """`effect sent` was made durable for a call."""

    call_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointWritten:
    """A checkpoint is durable. `conversation` is what it holds, whole; `calls` the counter of each signature where the
    subject shows it."""

    trigger: str
    version: int
    conversation: tuple[Any, ...] | Any
    pending: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EventEmitted:
    """A run event: `name`, and fields that carry identity and classification only (loop.events.no-arguments)."""

    name: str
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Waited:
    """The subject waited before its next attempt (seconds; recorded, not slept)."""

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalAsked:
    """A call waits for a person."""

    call_id: str
    tool: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervened:
    """Something from outside: `approve`, `deny`, `cancel`, `resume`, `crash`, `advance_clock` …"""

    do: str
    call_id: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded:
    """The subject returned: a terminal outcome or a suspension."""

    outcome: RunOutcome
    at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptFault:
    """The subject asked for something that the script does not hold. `rule` is the promise that it points to."""

    rule: str
    message: str
    n: int = 0


Record: TypeAlias = (
    RunStarted
    | RequestSent
    | ReplySent
    | ToolStarted
    | ToolEnded
    | EffectMarked
    | CheckpointWritten
    | EventEmitted
    | Waited
    | ApprovalAsked
    | Intervened
    | RunEnded
    | ScriptFault
)
