"""The bench on which rules are tried: a legal request, and changes of it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from string import Formatter
from typing import Any

import pytest

from harness.vocabulary.trace import Violation
from harness.wire.codec import UNKNOWN, Circumstances
from harness.wire.registry import codec
from harness.wire.rules import Rule, judge

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
        """The rule, and no other, speaks about the illegal request, in its documented words, at a place that is there;
        nothing speaks about the legal one."""
        row = next(one for one in codec(self.transport).rules if one.id == f"wire.{self.transport}.{rule}")
        payload = self.changed(illegal)
        found = self.found(row, payload, circumstances)
        assert {one.rule for one in found} == {row.id}
        assert all(resolves(payload, one.pointer) for one in found)
        first = found[0]
        assert (first.status, first.error_type, first.code, first.mend) == (row.status, row.type, row.code, row.mend)
        assert written_as(row.message, first.message)
        assert (first.param is None) == (row.param is None) and written_as(row.param or "", first.param or "")
        assert self.found(row, self.changed(legal), circumstances) == []

    def found(self, row: Rule[Any], payload: Change, circumstances: Circumstances) -> list[Violation]:
        """What the oracle says, its advice too where the rule is one. A dialect's rule is judged beside the native
        ones."""
        wire = codec(self.transport)
        added = [] if row.native else judge([row], wire.view(payload, circumstances))
        advised = wire.advice(payload, circumstances) if row.level == "should" else []
        return [*wire.judge(payload, circumstances), *added, *advised]


def written_as(template: str, text: str) -> bool:
    """Whether a text is a filled template, with something in every gap."""
    pieces = [re.escape(said) + ("" if name is None else ".+") for said, name, _, _ in Formatter().parse(template)]
    return re.fullmatch("".join(pieces), text, re.DOTALL) is not None


def resolves(payload: Any, pointer: str) -> bool:
    """Whether all but the last step of a pointer lead into the payload (the last may be what is missing)."""
    for step in pointer.split("/")[1:-1]:
        payload = payload[int(step)] if isinstance(payload, list) else payload[step]
    return isinstance(payload, dict | list)


@pytest.fixture
def bench() -> Callable[[str, Change, object], Bench]:
    """Set a bench up."""
    return Bench
