"""The bench on which rules are tried: a legal request, and changes of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from harness.wire.codec import UNKNOWN, Circumstances
from harness.wire.registry import codec

Change = dict[str, Any]


@dataclass(frozen=True)
class Bench:
    """A wire, a legal request, and the value that takes a key out."""

    transport: str
    base: Change
    gone: object

    def changed(self, change: Change) -> Change:
        """The request with a change."""
        return {key: value for key, value in (self.base | change).items() if value is not self.gone}

    def shows(self, rule: str, illegal: Change, legal: Change, circumstances: Circumstances = UNKNOWN) -> None:
        """The rule speaks about the illegal request, at a place that is there; nothing speaks about the legal one."""
        judge = codec(self.transport).judge
        payload = self.changed(illegal)
        found = judge(payload, circumstances)
        mine = [one for one in found if one.rule == f"wire.{self.transport}.{rule}"]
        assert mine, f"only {[one.rule for one in found]}"
        assert all(resolves(payload, one.pointer) for one in mine)
        assert 400 <= mine[0].status < 500
        assert judge(self.changed(legal), circumstances) == []


def resolves(payload: Any, pointer: str) -> bool:
    """Whether all but the last step of a pointer lead into the payload (the last may be what is missing)."""
    for step in pointer.split("/")[1:-1]:
        payload = payload[int(step)] if isinstance(payload, list) else payload[step]
    return isinstance(payload, dict | list)


@pytest.fixture
def bench() -> Callable[[str, Change, object], Bench]:
    """Set a bench up."""
    return Bench
