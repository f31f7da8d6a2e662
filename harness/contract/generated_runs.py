"""Whole runs of the reference loop over generated models, tools and people: what happens is drawn by hypothesis.

A model is a list of moves; a move is a batch of calls by tool and argument, or one word for anything else that a model
does. Batches overrun budgets, repeat each other, name unknown tools, carry broken arguments, and take ids that are
empty or were used before. When its moves are over, the model answers. Every model call and every tool run takes one
second of the run's clock and each reply reports its usage, so that every axis of the budgets is met. `GeneratedRun`
keeps the trace that the run's judges read.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, NamedTuple, TypeAlias

from hypothesis import strategies as st

from harness.contract.loop_moves import run_started
from harness.loop.drive import cancel_sync, resume_sync, run_sync
from harness.loop.memory_store import MemoryStore
from harness.loop.ports import Ports, SyncPorts
from harness.loop.task import Decision, Task
from harness.vocabulary.content import AssistantMessage, Refusal, Text, ToolCall
from harness.vocabulary.outcome import RunOutcome, Status
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.settings import RunLimits, RunSettings
from harness.vocabulary.stream import StreamEvent, StreamFailed, TurnEnded
from harness.vocabulary.tools import Effect, OutcomeClass, ToolDeclaration, ToolDefinition, ToolOutcome
from harness.vocabulary.trace import (
    Intervened,
    Record,
    ReplySent,
    RequestSent,
    ToolEnded,
    ToolStarted,
)
from harness.vocabulary.turn import FaultKind, ModelFault, ModelTurn, StopReason
from harness.vocabulary.usage import Price, Usage

_SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False}


def _tool(name: str, effect: Effect, *, approval: bool = False) -> ToolDeclaration:
    definition = ToolDefinition(name=name, description=f"Does {name}.", parameters=_SCHEMA)
    return ToolDeclaration(definition=definition, effect=effect, approval=approval)


TOOLS = (
    _tool("read", Effect.READ_ONLY),
    _tool("put", Effect.IDEMPOTENT),
    _tool("pay", Effect.NON_IDEMPOTENT),
    _tool("ask", Effect.CONDITIONAL, approval=True),
)
"""One tool of each kind of effect; `ask` waits for a person."""
PRICE = Price(input=Decimal(10_000), output=Decimal(20_000))
"""One cent a token of input, two of output."""
Asked: TypeAlias = tuple[str, str]
Move: TypeAlias = tuple[Asked, ...] | str
WORDS: dict[str, ModelTurn | ModelFault] = {
    "text": ModelTurn(message=AssistantMessage((Text("The answer."),)), stop=StopReason.END),
    "cut": ModelTurn(message=AssistantMessage((Text("The ans"),)), stop=StopReason.MAX_TOKENS),
    "refusal": ModelTurn(message=AssistantMessage((Refusal("No."),)), stop=StopReason.REFUSAL),
    "empty": ModelTurn(message=AssistantMessage(()), stop=StopReason.END),
    "blank": ModelTurn(message=AssistantMessage((Text(" \n"),)), stop=StopReason.END),
    "pause": ModelTurn(message=AssistantMessage((Text("Half of it, "),)), stop=StopReason.PAUSE),
    "busy": ModelFault(kind=FaultKind.TRANSIENT, message="busy", status=529),
    "wait": ModelFault(kind=FaultKind.TRANSIENT, message="wait", status=429, retry_after=3.0),
    "broken": ModelFault(kind=FaultKind.PROTOCOL, message="no end"),
    "forbidden": ModelFault(kind=FaultKind.PERMANENT, message="no", status=403),
}
"""What a model does that is no batch."""


def _mostly(*choices: tuple[int, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    """One of the strategies, by weight (`one_of` knows no weights: it drops what stands there twice)."""
    return st.sampled_from([choice for weight, choice in choices for _ in range(weight)]).flatmap(lambda one: one)


_calls = st.tuples(
    st.sampled_from(["read", "put", "pay", "read", "put", "ask", "no-such"]),
    _mostly(
        (4, st.integers(1, 9).map('{{"n":{}}}'.format)),
        (1, st.sampled_from(['{"n": 1.0}', "", "{half", '{"n":"x"}'])),
    ),
)
_batches = st.lists(_calls, min_size=1, max_size=6).map(tuple)
_repeated = st.builds(lambda one, n: (one,) * n, _calls, st.sampled_from([1, 2, 3, 20]))
_going = st.sampled_from(["empty", "blank", "pause", "busy", "wait"])
moves: st.SearchStrategy[list[Move]] = st.lists(
    _mostly((6, _batches), (2, _repeated), (2, _going), (1, st.sampled_from(list(WORDS)))), min_size=1, max_size=12
)
"""The moves of a model: mostly batches of any calls, some of one call over and over, some words."""


class Surroundings(NamedTuple):
    """Everything in a run but its model. The lists come round; `stop` is after how many model calls and tool runs
    somebody cancels."""

    outcomes: tuple[OutcomeClass | None, ...] = (OutcomeClass.OK,)
    usages: tuple[int | None, ...] = (None,)
    people: tuple[bool | None, ...] = (True,)
    stop: int | None = None


def _some(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(values, min_size=1, max_size=5).map(tuple)


surroundings = st.builds(
    Surroundings,
    outcomes=_some(st.sampled_from([OutcomeClass.OK, None, *OutcomeClass])),
    usages=_some(st.none() | st.integers(0, 100)),
    people=_some(st.sampled_from([True, True, False, None])),
    stop=_mostly((3, st.none()), (1, st.integers(1, 20))),
)
"""Tools that fail, raise (None) or answer; replies with and without usage; people who approve, deny or say nothing."""


_small = st.integers(2, 12)


def _reserve(limit: int) -> st.SearchStrategy[int]:
    """None, for most runs; else one below the limit: where all have one, a run is synthesis from the start."""
    return st.sampled_from([0, 0, 0, *range(1, min(limit, 4))])


@st.composite
def limits(draw: st.DrawFn) -> RunLimits:
    """Small limits, so that they are met; each reserve below its limit."""
    steps, calls, cost = draw(_small), draw(_small), draw(_small)
    tools = draw(st.sampled_from([8, 3, 12, 5, 20, 2, 1, 0]))
    paid = draw(st.booleans())
    return RunLimits(
        max_steps=steps,
        max_model_calls=calls,
        max_tool_calls=tools,
        max_cost=Decimal(cost) if paid else None,
        deadline=draw(_mostly((3, st.none()), (1, st.integers(1, 40).map(float)))),
        synthesis_reserve_steps=draw(_reserve(steps)),
        synthesis_reserve_model_calls=draw(_reserve(calls)),
        synthesis_reserve_tool_calls=draw(_reserve(tools)),
        synthesis_reserve_cost=Decimal(draw(_reserve(cost)) if paid else 0),
    )


@dataclass
class GeneratedRun:
    """One run: its model side, its tools, its people. `trace` is what a judge sees of it."""

    moves: Sequence[Move]
    around: Surroundings
    bounds: RunLimits
    settings: RunSettings = field(default_factory=lambda: RunSettings(prices={"sim-model": PRICE}))
    trace: list[Record] = field(default_factory=list)
    clock: float = 0.0
    _stopped: bool = False
    _asked: int = 0

    @property
    def requests(self) -> list[RequestSent]:
        """The model calls of the run."""
        return [one for one in self.trace if isinstance(one, RequestSent)]

    @property
    def replies(self) -> list[ModelTurn | ModelFault]:
        """What was answered to them."""
        return [one.reply for one in self.trace if isinstance(one, ReplySent)]

    @property
    def started(self) -> list[ToolStarted]:
        """The calls that reached the executor."""
        return [one for one in self.trace if isinstance(one, ToolStarted)]

    def play(self) -> RunOutcome:
        """Run to an end, or until no person answers any more."""
        task = Task(run_id="r", system="Be exact.", user="Go.", tools=TOOLS, limits=self.bounds, settings=self.settings)
        self.trace.append(run_started(task))
        ports = self._ports()
        outcome = run_sync(task, ports)
        while outcome.status is Status.SUSPENDED:
            decisions = [made for call in outcome.waiting_for if (made := self._decision(call)) is not None]
            if not decisions:
                self.trace.append(Intervened(do="cancel", details={"reason": "nobody answers"}))
                return cancel_sync(task, ports, "nobody answers")
            self.trace.append(Intervened(do="resume"))
            outcome = resume_sync(task, ports, decisions)
        return outcome

    def attempt(self, request: ModelRequest) -> Iterator[StreamEvent]:
        """The model port."""
        n = len(self.requests) + 1
        seen = replace(request, items=tuple(request.items))
        self.trace.append(RequestSent(n=n, request=seen, built=seen, at=self.clock))
        reply = self._reply(n)
        self.trace.append(ReplySent(n=n, reply=reply))
        self._passed()
        yield TurnEnded(0, reply) if isinstance(reply, ModelTurn) else StreamFailed(0, reply)

    def run(self, call: ToolCall, key: str) -> ToolOutcome:
        """The tool port."""
        kinds = self.around.outcomes
        kind = kinds[len(self.started) % len(kinds)]
        self.trace.append(ToolStarted(call_id=call.call_id, tool=call.name, arguments=call.arguments, at=self.clock))
        self._passed()
        text = () if kind is OutcomeClass.EMPTY else (Text("r" * 40),)
        outcome = ToolOutcome(outcome=kind or OutcomeClass.ERROR, content=text if kind else (Text("ValueError: no"),))
        self.trace.append(ToolEnded(call_id=call.call_id, tool=call.name, outcome=outcome, at=self.clock))
        if kind is None:
            raise ValueError("no")
        return outcome

    def _reply(self, n: int) -> ModelTurn | ModelFault:
        move = self.moves[n - 1] if n <= len(self.moves) else "text"
        turn = WORDS[move] if isinstance(move, str) else self._batch(move)
        tokens = self.around.usages[n % len(self.around.usages)]
        return replace(turn, usage=Usage(input_tokens=tokens, output_tokens=tokens))

    def _batch(self, asked: tuple[Asked, ...]) -> ModelTurn:
        calls = [ToolCall(self._id(), tool, raw) for tool, raw in asked]
        return ModelTurn(message=AssistantMessage(tuple(calls)), stop=StopReason.TOOL_CALLS)

    def _id(self) -> str:
        self._asked += 1
        return ("", "again", f"c{self._asked}", f"c{self._asked}")[self._asked % 4]

    def _decision(self, call_id: str) -> Decision | None:
        self._asked += 1
        says = self.around.people[self._asked % len(self.around.people)]
        if says is None:
            return None
        self.trace.append(Intervened(do="approve" if says else "deny", call_id=call_id))
        return Decision(call_id=call_id, approve=says)

    def _passed(self) -> None:
        self.clock += 1.0
        moments = len(self.requests) + len(self.started)
        if not self._stopped and moments == self.around.stop:
            self._stopped = True
            self.trace.append(Intervened(do="cancel", details={"reason": "enough"}))

    def _ports(self) -> SyncPorts:
        return Ports(
            model=self,
            tools=self,
            store=MemoryStore(),
            now=lambda: self.clock,
            wait=self._wait,
            observe=self.trace.append,
            cancelled=lambda: "enough" if self._stopped else None,
        )

    def _wait(self, seconds: float) -> None:
        self.clock += seconds
