"""The calls of a turn: what the judge makes of their arguments, and which ids the subject knows them by."""

from collections.abc import Mapping
from dataclasses import dataclass

from harness.checks.canonical import Signature, Undecodable, decode, same_arguments, signature
from harness.checks.schema import rule_of
from harness.checks.timeline import XML, Attempt, Call
from harness.vocabulary.content import ToolCall
from harness.vocabulary.control import ReasonCode
from harness.vocabulary.tools import ToolDeclaration
from harness.vocabulary.trace import RunStarted
from harness.vocabulary.turn import ModelTurn, StopReason

_REPARSED = frozenset({"anthropic-messages"})
"""Wires on which arguments travel as an object, so that a subject may never see how they were written."""


@dataclass(frozen=True, slots=True)
class _Facts:
    signature: Signature
    declared: ToolDeclaration | None
    faults: frozenset[ReasonCode]
    valid: bool | None


class CallReader:
    """Reads calls; facts about equal calls are found once."""

    def __init__(self, started: RunStarted, tools: Mapping[str, ToolDeclaration]) -> None:
        self._transport = started.transport
        self._tools = tools
        self._rules = {name: rule_of(tool.definition.parameters) for name, tool in tools.items()}
        self._facts: dict[tuple[str, str], _Facts] = {}
        self._used: set[str] = set()

    def read(self, turn: ModelTurn) -> tuple[Call, ...]:
        """The calls of a turn in order. Their ids are still those of the script's place: `identify` follows."""
        parts = turn.message.content
        proposed = turn.message.calls
        cut = turn.stop is StopReason.MAX_TOKENS and parts[-1] is proposed[-1]
        return tuple([self._call(place, one, cut and one is parts[-1]) for place, one in enumerate(proposed)])

    def identify(self, attempt: Attempt) -> None:
        """Give the calls the ids that the subject's records use: those of its own message by place, else the script's
        where they can be the same, else the ids of executions of the same call."""
        attempt.stored = [call for message in attempt.said for call in message.calls]
        if len(attempt.stored) == len(attempt.calls):
            for call, kept in zip(attempt.calls, attempt.stored, strict=True):
                call.call_id, call.stored = kept.call_id, kept.arguments
        else:
            self._guess(attempt)
        self._used.update([call.call_id for call in attempt.calls])

    def _guess(self, attempt: Attempt) -> None:
        turn = attempt.reply
        ids = [call.call_id for call in turn.message.calls] if isinstance(turn, ModelTurn) else []
        usable = self._transport != XML and all(ids) and len(set(ids)) == len(ids) and not self._used.intersection(ids)
        if usable:
            for call, name in zip(attempt.calls, ids, strict=True):
                call.call_id = name
            return
        free = list(attempt.calls)
        for _, started in attempt.starts:
            for call in free:
                if call.name == started.tool and same_arguments(call.arguments, started.arguments):
                    call.call_id = started.call_id
                    free.remove(call)
                    break

    def _call(self, place: int, proposed: ToolCall, cut: bool) -> Call:
        key = (proposed.name, proposed.arguments)
        facts = self._facts.get(key)
        if facts is None:
            facts = self._facts[key] = self._study(proposed)
        faults = facts.faults | {ReasonCode.ARGUMENTS_TRUNCATED} if cut else facts.faults
        return Call(
            position=place,
            name=proposed.name,
            arguments=proposed.arguments,
            signature=facts.signature,
            declared=facts.declared,
            faults=faults,
            valid=facts.valid,
        )

    def _study(self, proposed: ToolCall) -> _Facts:
        declared = self._tools.get(proposed.name)
        volatile = declared.volatile_arguments if declared is not None else ()
        valid = self._valid(proposed, declared)
        faults = set() if declared is not None else {ReasonCode.UNKNOWN}
        if valid is False:
            faults.add(ReasonCode.ARGUMENTS_INVALID)
        return _Facts(signature(proposed.name, proposed.arguments, volatile), declared, frozenset(faults), valid)

    def _valid(self, proposed: ToolCall, declared: ToolDeclaration | None) -> bool | None:
        try:
            value = decode(proposed.arguments)
        except Undecodable:
            return None if self._transport in _REPARSED else False
        if not isinstance(value, dict):
            return None if self._transport in _REPARSED else False
        return self._rules[declared.name](value) if declared is not None else None
