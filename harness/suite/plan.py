"""What one run is to do, as a value that travels to worker processes in one command-line option."""

import json
from dataclasses import asdict, dataclass, replace
from typing import Literal, TypeAlias

from harness.reports.result import RunLevel
from harness.scenario.arms import ARMS, Arm

Streaming: TypeAlias = Literal["both", "stream", "plain"]
Depth: TypeAlias = Literal["sim", "wire"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """`folders` are searched for scenario files. `transports` empty means all. `output` is where the record goes
    ("" for none), `expected_failures` the baseline file ("" for none). `crash`: kill a run of its own after each
    effect. `calls` is the file of the calls' telemetry ("" for none)."""

    folders: tuple[str, ...] = ()
    transports: tuple[str, ...] = ()
    streaming: Streaming = "both"
    depth: Depth = "wire"
    level: RunLevel = "must"
    subject: str = "reference"
    seed: int = 0
    crash: bool = False
    output: str = ""
    expected_failures: str = ""
    calls: str = ""

    def arms(self) -> tuple[Arm, ...]:
        """The arms to run every scenario on."""
        return tuple(arm for arm in ARMS if self._wants(arm))

    def _wants(self, arm: Arm) -> bool:
        if not arm.wire or self.depth == "sim":
            return not arm.wire and self.depth == "sim"
        if self.transports and arm.transport not in self.transports:
            return False
        return self.streaming == "both" or arm.streaming == (self.streaming == "stream")

    def to_text(self) -> str:
        """The plan as one line of JSON."""
        return json.dumps(asdict(self))


def plan_from_text(text: str) -> RunPlan:
    """The plan that `to_text` wrote."""
    body = json.loads(text)
    return replace(RunPlan(**body), folders=tuple(body["folders"]), transports=tuple(body["transports"]))
