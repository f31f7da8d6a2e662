"""The arms of a scenario: each wire with streaming on and off, and depth sim. An arm's name is what stands in brackets
in an item id: `anthropic-messages-stream`, `anthropic-messages-plain`, `sim`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from harness.wire.registry import CODEC_IDS

SIM = "sim"
"""Stands for the transport where there is no wire."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One way to run a scenario. At depth sim `streaming` tells which of the two the script is read for."""

    transport: str
    streaming: bool = True

    @property
    def name(self) -> str:
        """What stands in brackets in the item id."""
        return SIM if self.transport == SIM else f"{self.transport}-{'stream' if self.streaming else 'plain'}"

    @property
    def wire(self) -> bool:
        """Whether there is a wire."""
        return self.transport != SIM


ARMS = (*[Arm(transport, streaming) for transport in CODEC_IDS for streaming in (True, False)], Arm(SIM))
ARM_NAMES = tuple(arm.name for arm in ARMS)


def named(name: str) -> Arm:
    """The arm of a name. Raises ValueError that lists the known ones."""
    for arm in ARMS:
        if arm.name == name:
            return arm
    raise ValueError(f"no arm is called {name!r}: it must be one of {', '.join(ARM_NAMES)}")


def matching(patterns: Sequence[str]) -> tuple[Arm, ...]:
    """The arms that one of the patterns (`*` stands for anything) fits; all of them where there is no pattern."""
    if not patterns:
        return ARMS
    return tuple(arm for arm in ARMS if any(fnmatchcase(arm.name, pattern) for pattern in patterns))
