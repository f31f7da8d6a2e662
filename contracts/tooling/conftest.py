"""A builder of hand-made traces: each test writes down what a run did, record by record, and asks the checks about it.
The builder keeps the conversation and counts; it decides nothing. A test that wants a broken run says so."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Self

import pytest

from harness.checks.registry import judge
from harness.checks.requirements import load_requirements
from harness.data_root import data_root
from harness.vocabulary import trace
from harness.vocabulary.capabilities import CAPABILITIES
from harness.vocabulary.content import (
    AssistantMessage,
    Item,
    Refusal,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
)
from harness.vocabulary.control import Control
from harness.vocabulary.outcome import Counters, RunOutcome, Status
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.settings import RunLimits, RunSettings
from harness.vocabulary.tools import Effect, OutcomeClass, ToolDeclaration, ToolDefinition, ToolOutcome
from harness.vocabulary.turn import FaultKind, ModelFault, ModelTurn, StopReason
from harness.vocabulary.usage import NO_USAGE, Usage
from harness.vocabulary.verdict import Finding, VerdictName

INSTRUCTION = (
    "Answer from the evidence, name the gaps that remain, never claim unfinished work is complete, call no tools."
)
REPEATING = " Research has stopped because it was repeating."
REFUSED = "[tool.budget_exhausted]\nNo tool calls are left. Answer from the evidence that you have."
DENIED = "[tool.denied]\nThis call was denied. Do not retry it."


def declared(name: str, parameters: dict[str, Any] | None = None, **promises: Any) -> ToolDeclaration:
    """A read-only tool that takes any object, unless told otherwise."""
    schema = {"type": "object"} if parameters is None else parameters
    promises.setdefault("effect", Effect.READ_ONLY)
    return ToolDeclaration(definition=ToolDefinition(name=name, description=name, parameters=schema), **promises)


def control(name: str, text: str | None = None) -> Control:
    """A right instruction of a control."""
    words = INSTRUCTION + (REPEATING if name == "repeated_tool_calls" else "")
    return Control(name, f"[run control: {name}]\n{words}" if text is None else text)  # type: ignore[arg-type]


class TraceBuilder:
    """One run. `items` is the history of the next request, `calls` are those of the last turn."""

    def __init__(
        self,
        *,
        limits: dict[str, Any] | None = None,
        settings: dict[str, Any] | None = None,
        tools: Sequence[ToolDeclaration] | None = None,
        transport: str = "sim",
        without: Sequence[str] = (),
        user: str = "Audit.",
    ) -> None:
        room = {"max_steps": 20, "max_model_calls": 20, "max_tool_calls": 20}
        self.tools = tuple([declared("fetch"), declared("list")] if tools is None else tools)
        self.started = trace.RunStarted(
            scenario="hand-made",
            transport=transport,
            streaming=False,
            subject="hand",
            capabilities=frozenset(CAPABILITIES) - set(without),
            limits=RunLimits(**{**room, **(limits or {})}),
            settings=RunSettings(**(settings or {})),
            tools=self.tools,
            system="Be exact.",
            user=user,
        )
        self.trace: list[trace.Record] = [self.started]
        self.items: list[Item] = [UserMessage((Text(user),))]
        self.calls: tuple[ToolCall, ...] = ()
        self.results: dict[str, ToolResult] = {}
        self.turn: ModelTurn | None = None
        self.n = self._ids = self.tool_calls = self.refused = 0

    def add(self, *records: trace.Record) -> Self:
        """Append records as they are."""
        self.trace.extend(records)
        return self

    def request(
        self,
        mode: str | Control | None = None,
        *,
        items: Sequence[Item] | None = None,
        at: float = 0.0,
        payload: bytes | None = None,
        violations: Sequence[Any] = (),
        **changes: Any,
    ) -> Self:
        """A request with the history as it stands."""
        self.n += 1
        told = control(mode) if isinstance(mode, str) else mode
        request = ModelRequest(
            model="sim-model",
            system=self.started.system,
            tools=tuple(tool.definition for tool in self.tools),
            items=tuple(self.items if items is None else items),
            control=told,
            tool_choice="none" if told is not None else None,
        )
        request, found = replace(request, **changes), tuple(violations)
        return self.add(trace.RequestSent(n=self.n, request=request, at=at, payload=payload, violations=found))

    def call(self, tool: str, arguments: Any = None, call_id: str | None = None) -> ToolCall:
        """A call under a fresh id. Text is taken as raw arguments."""
        self._ids += 1
        raw = arguments if isinstance(arguments, str) else json.dumps({} if arguments is None else arguments)
        return ToolCall(f"c{self._ids}" if call_id is None else call_id, tool, raw)

    def reply(
        self, *calls: ToolCall, say: str = "", stop: StopReason | None = None, usage: Usage = NO_USAGE, **more: Any
    ) -> Self:
        """The model's turn. `refuse` makes its text a refusal, `cut` breaks the stream off (with `ending` and
        `visible` as the record has them)."""
        refuse, cut = more.pop("refuse", False), more.pop("cut", False)
        broke = {name: more.pop(name) for name in ("ending", "visible") if name in more}
        parts = ((Refusal(say) if refuse else Text(say)),) if say else ()
        ordinary = StopReason.TOOL_CALLS if calls else StopReason.END
        self.turn = ModelTurn(
            message=AssistantMessage((*parts, *calls)), stop=ordinary if stop is None else stop, usage=usage
        )
        self.calls, self.results = calls, {}
        return self.add(trace.ReplySent(n=self.n, reply=self.turn, cut=cut, **broke))

    def fault(self, kind: FaultKind = FaultKind.TRANSIENT, **more: Any) -> Self:
        """The attempt fails."""
        return self.add(trace.ReplySent(n=self.n, reply=ModelFault(kind=kind, message="no", **more)))

    def start(self, call: ToolCall, arguments: str | None = None) -> Self:
        """The executor is reached."""
        self.tool_calls += 1
        raw = call.arguments if arguments is None else arguments
        return self.add(trace.ToolStarted(call_id=call.call_id, tool=call.name, arguments=raw))

    def finish(
        self, call: ToolCall, text: str = "Same page.", outcome: OutcomeClass = OutcomeClass.OK, data: Any = None
    ) -> Self:
        """The executor returns; the result waits to join."""
        content = (Text(text),) if text else ()
        self.add(
            trace.ToolEnded(
                call_id=call.call_id, tool=call.name, outcome=ToolOutcome(outcome=outcome, content=content, data=data)
            )
        )
        if outcome is OutcomeClass.ERROR:
            return self.error(call, f"[tool.failed]\n{text}")
        self.results[call.call_id] = ToolResult(call_id=call.call_id, tool=call.name, content=content)
        return self

    def execute(self, *calls: ToolCall, text: str = "Same page.", **more: Any) -> Self:
        """Start and finish calls (all of the turn where none is named)."""
        for call in calls or self.calls:
            self.start(call).finish(call, text, **more)
        return self

    def error(self, call: ToolCall, text: str) -> Self:
        """An error result that waits to join; its code stands in its first line."""
        first = text.partition("\n")[0]
        code = first[1:-1] if first.startswith("[tool.") and first.endswith("]") else None
        self.results[call.call_id] = ToolResult(
            call_id=call.call_id, tool=call.name, content=(Text(text),), is_error=True, reason_code=code
        )
        return self

    def refuse(self, *calls: ToolCall, text: str = REFUSED) -> Self:
        """Refuse calls for the budget."""
        for call in calls:
            self.refused += 1
            self.error(call, text)
        return self

    def answer_rest(self, code: str = "tool.not_run") -> Self:
        """Answer every open call of the turn with a code."""
        for call in self.calls:
            if call.call_id not in self.results:
                self.error(call, f"[{code}]\nNot run.")
        return self

    def join(self, calls: Sequence[ToolCall] | None = None, said: AssistantMessage | None = None) -> Self:
        """The turn and its results (of `calls`, all by default) join the conversation."""
        assert self.turn is not None
        self.items.append(self.turn.message if said is None else said)
        self.items.extend(
            self.results[call.call_id]
            for call in (self.calls if calls is None else calls)
            if call.call_id in self.results
        )
        return self

    def step(self, *calls: tuple[str, Any], mode: str | None = None, text: str = "Same page.") -> Self:
        """A whole ordinary step: request, turn, executions, results."""
        return self.request(mode).reply(*[self.call(tool, given) for tool, given in calls]).execute(text=text).join()

    def checkpoint(self, trigger: str, pending: Sequence[str] = (), items: Sequence[Item] | None = None) -> Self:
        """A checkpoint of the conversation as it stands."""
        held, version = tuple(self.items if items is None else items), len(self.trace)
        open_calls = tuple(pending)
        return self.add(
            trace.CheckpointWritten(trigger=trigger, version=version, conversation=held, pending=open_calls)
        )

    def event(self, name: str, **fields: Any) -> Self:
        """A run event."""
        return self.add(trace.EventEmitted(name=name, fields=fields))

    def wait(self, seconds: float) -> Self:
        """A wait before the next attempt."""
        return self.add(trace.Waited(seconds=seconds))

    def ask(self, call: ToolCall) -> Self:
        """A call waits for a person."""
        return self.add(trace.ApprovalAsked(call_id=call.call_id, tool=call.name))

    def intervene(self, do: str, call_id: str | None = None, **details: Any) -> Self:
        """Something from outside."""
        return self.add(trace.Intervened(do=do, call_id=call_id, details=details))

    def script_fault(self, rule: str, message: str) -> Self:
        """A request that the script does not hold."""
        return self.add(trace.ScriptFault(rule=rule, message=message, n=self.n))

    def end(
        self,
        status: Status = Status.COMPLETED,
        reason: str | None = None,
        error_class: str | None = None,
        *,
        counters: dict[str, Any] | None = None,
        at: float = 0.0,
        conversation: Sequence[Item] | None = None,
        **more: Any,
    ) -> Self:
        """The subject returns; its counters are right unless told otherwise."""
        counted = {"model_calls": self.n, "tool_calls": self.tool_calls, "refused_calls": self.refused}
        outcome = RunOutcome(
            status=status,
            reason=reason,
            error_class=error_class,
            conversation=tuple(self.items if conversation is None else conversation),
            counters=Counters(**{**counted, **(counters or {})}),
            **more,
        )
        return self.add(trace.RunEnded(outcome=outcome, at=at))

    def fail(self, reason: str, error_class: str, **more: Any) -> Self:
        """The run fails; calls that are open in the last turn are answered as not run."""
        answered = {one.call_id for one in self.items if isinstance(one, ToolResult)}
        if self.calls and self.calls[-1].call_id not in answered:
            self.answer_rest().join()
        return self.end(Status.FAILED, reason, error_class, **more)

    def answer(self, say: str = "Done.", mode: str | None = None, **more: Any) -> Self:
        """A last request that the model answers, and the end."""
        return self.request(mode).reply(say=say).end(message=say, **more)

    def findings(self, rule: str) -> list[Finding]:
        """What the checks say of a rule that the run set out to prove."""
        known = load_requirements(data_root() / "contracts" / "requirements")
        return [found for found in judge(self.trace, proves=[rule], requirements=known) if found.check == rule]

    def verdict(self, rule: str) -> VerdictName:
        """The one verdict on a rule (that of its first finding)."""
        return self.findings(rule)[0].verdict

    def failure(self, rule: str) -> str:
        """The first failure in words; fails where there is none."""
        found = self.findings(rule)[0]
        assert found.verdict in (VerdictName.FAIL, VerdictName.WARN), f"{found.verdict}: {found.actual}"
        return f"expected {found.expected}; actual {found.actual}"


@pytest.fixture
def run() -> Callable[..., TraceBuilder]:
    """Begin a hand-made run."""
    return TraceBuilder


@pytest.fixture
def tool() -> Callable[..., ToolDeclaration]:
    """Declare a tool."""
    return declared


@pytest.fixture
def instruction() -> Callable[..., Control]:
    """Make a control instruction."""
    return control
