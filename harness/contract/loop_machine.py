"""A hypothesis state machine over the pure loop: its rules are what a model, its tools, people and the machine room do.

    class TestMachine(LoopMachine.TestCase):
        settings = settings(stateful_step_count=30)

After each step every promise of `loop_promises` is checked; when a run ends, or is brought to its end, the checkers of
the harness judge its whole trace. A failing example is written as a scenario file below `LoopMachine.found`.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from harness.contract import loop_story
from harness.contract.loop_board import Board
from harness.contract.loop_promises import broken, judged, requirements
from harness.contract.loop_story import FAILS, TOOLS, UNKNOWN, USER, Spec
from harness.loop.task import Task
from harness.scenario.format import DEFAULT_SYSTEM, Scenario
from harness.scenario.format_tools import Tool
from harness.scenario.plan import declaration_of
from harness.scenario.runner import run_scenario
from harness.subjects.reference import Reference
from harness.vocabulary.outcome import RunOutcome
from harness.vocabulary.settings import RunLimits, RunSettings
from harness.vocabulary.tools import Effect

_DECLARED = tuple(declaration_of(name, Tool.model_validate(spec)) for name, spec in TOOLS.items())
_READS = frozenset(one.name for one in _DECLARED if one.effect is Effect.READ_ONLY)
_GOOD: tuple[Spec, ...] = ({"arguments": {"n": 1}}, {"arguments": {"n": 2}}, {"raw_arguments": '{"n": 1.0}'})
_BAD: tuple[Spec, ...] = ({"raw_arguments": "{half"}, {"raw_arguments": '{"n":"x"}'}, {"raw_arguments": "[]"})
arguments = st.sampled_from((*_GOOD * 3, {"raw_arguments": ""}, *_BAD))
calls = st.builds(lambda tool, given: {"tool": tool, **given}, st.sampled_from([*TOOLS, UNKNOWN]), arguments)
batches = st.lists(calls, min_size=1, max_size=5) | st.builds(lambda one, n: [one] * n, calls, st.integers(1, 6))
answers = st.sampled_from(
    [{"text": "Old."}, {"text": "New."}, {"error": "It failed."}, {"empty": True}, {"noop": True}, {"large": 900}]
)
endings: st.SearchStrategy[Spec] = st.sampled_from(
    [
        {"say": "The answer."},
        {"empty": True},
        {"say": "Cut", "stop": "max_tokens"},
        {"stop": "max_tokens"},
        {"refusal": "I will not."},
        {"stop": "content_filter"},
    ]
)
_MANY_STEPS = 200


@st.composite
def limits(draw: st.DrawFn) -> RunLimits:
    """Small limits, so that they are met; each reserve below its limit, most of them 0."""
    steps, attempts, tools = (
        draw(st.integers(1, 12)),
        draw(st.integers(1, 12)),
        draw(st.sampled_from([0, 1, 2, 3, 4, 6, 12])),
    )
    reserve = st.sampled_from([0, 0, 1, 2])
    return RunLimits(
        max_steps=steps,
        max_model_calls=attempts,
        max_tool_calls=tools,
        deadline=draw(st.sampled_from([None, None, 60.0])),
        synthesis_reserve_steps=min(draw(reserve), steps - 1),
        synthesis_reserve_model_calls=min(draw(reserve), attempts - 1),
        synthesis_reserve_tool_calls=min(draw(reserve), max(tools - 1, 0)),
    )


run_settings = st.builds(
    RunSettings,
    identical_call_threshold=st.integers(2, 5),
    identical_denial_threshold=st.integers(1, 3),
    context_budget_tokens=st.sampled_from([100_000, 100_000, 900, 700]),
)


def retold(board: Board, said: Mapping[str, Spec]) -> Iterator[tuple[str, str]]:
    """Where the story of a whole run, told again by the scenario runner, comes to something else."""
    told = loop_story.story(board, "found-retold", ["loop.tools.every-call-answered"], said, {"outcome": "completed"})
    run = run_scenario(Scenario.model_validate(told), Reference(), requirements=requirements(), depth="sim")
    mine, other = board.outcome, run.outcome
    if mine is None or other is None:
        yield "scenario.outcome", f"the scenario comes to no outcome: {run.harness_fault}"
    elif (mine.status, mine.reason, mine.counters) != (other.status, other.reason, other.counters):
        yield "scenario.outcome", f"played: {_end(mine)}; as a scenario: {_end(other)}"


def _end(outcome: RunOutcome) -> str:
    return f"{outcome.status} {outcome.reason} {outcome.counters}"


class LoopMachine(RuleBasedStateMachine):
    """One run after another, each with limits of its own."""

    found: ClassVar[Path] = Path("reports/found")

    board: Board
    said: dict[str, Spec]

    @initialize(limits=limits(), settings=run_settings)
    def begin(self, limits: RunLimits, settings: RunSettings) -> None:
        """The first run starts."""
        self.said = {}
        self.board = Board(
            Task(run_id="r", system=DEFAULT_SYSTEM, user=USER, tools=_DECLARED, limits=limits, settings=settings)
        )
        self.board.start()

    @precondition(lambda self: self.board.outcome is not None)
    @rule(limits=limits(), settings=run_settings)
    def begin_another(self, limits: RunLimits, settings: RunSettings) -> None:
        """The run before is judged whole; a new one starts."""
        self._judge()
        self.begin(limits, settings)

    @precondition(lambda self: self.board.asked)
    @rule(batch=batches, cut=st.sampled_from([False, False, False, True]), takes=st.sampled_from([0, 0, 0, 40]))
    def model_calls_tools(self, batch: Sequence[Spec], cut: bool, takes: int) -> None:
        """A batch of calls, whatever they are; `cut`: by the output limit."""
        self._model({"calls": list(batch), **({"stop": "max_tokens"} if cut else {})}, takes)

    @precondition(lambda self: self.board.asked)
    @rule(spec=endings)
    def model_says(self, spec: Spec) -> None:
        """Text, nothing, or a refusal."""
        self._model(spec, 0)

    @precondition(lambda self: self.board.asked)
    @rule()
    def model_pauses(self) -> None:
        """A paused turn, to be resumed."""
        self._model({"say": "Let me think.", "stop": "pause"}, 0)

    @precondition(lambda self: self.board.asked)
    @rule(fault=st.sampled_from(["busy", "busy", *FAILS]))
    def model_fails(self, fault: str) -> None:
        """A failed attempt."""
        self._model({"fail": FAILS[fault][0]}, 0)

    @precondition(lambda self: self.board.running)
    @rule(data=st.data(), answer=answers)
    def tool_returns(self, data: st.DataObject, answer: Spec) -> None:
        """One of the running calls returns: any of them."""
        self._tool(data.draw(st.sampled_from(list(self.board.running))), answer)

    @precondition(lambda self: self.board.running)
    @rule(answer=answers)
    def all_tools_return(self, answer: Spec) -> None:
        """All running calls return alike."""
        for call_id in list(self.board.running):
            if call_id in self.board.running:
                self._tool(call_id, answer)

    @precondition(lambda self: self.board.waiting is not None)
    @rule()
    def wait_is_over(self) -> None:
        """The backoff has passed."""
        self.board.wait_over()

    @precondition(lambda self: self.board.suspended)
    @rule(data=st.data())
    def people_decide(self, data: st.DataObject) -> None:
        """Approvals and denials of some of the calls that wait."""
        waiting = self.board.suspended
        which = data.draw(st.lists(st.sampled_from(waiting), min_size=1, max_size=len(waiting), unique=True))
        self.board.decide({call: data.draw(st.booleans()) for call in which})

    @precondition(lambda self: self.board.outcome is None and self.board.cancelled is None and self.board.fuse is None)
    @rule(sure=st.sampled_from([False, False, True]))
    def somebody_cancels(self, sure: bool) -> None:
        """A cancel, also while something is under way."""
        if sure:
            self.board.cancel()

    @precondition(lambda self: self.board.outcome is None and self._may_die and len(self.board.kills) < 3)
    @rule()
    def process_dies(self) -> None:
        """A kill between two events: whatever is under way is lost."""
        self.board.crash()

    @precondition(lambda self: self.board.outcome is None and self._may_die and not self.board.kills)
    @precondition(lambda self: self.board.cancelled is None)
    @rule(effects=st.integers(0, 8))
    def process_will_die(self, effects: int) -> None:
        """A kill between two effects, a few effects from now."""
        self.board.fuse = effects

    @invariant()
    def promises_hold(self) -> None:
        """Every promise, after every step."""
        if hasattr(self, "board"):
            self._told(list(broken(self.board)))

    def teardown(self) -> None:
        """A model that calls tools for ever is brought to an end by the budgets; then the whole run is judged."""
        if not hasattr(self, "board"):
            return
        n = 0
        while self.board.outcome is None:
            self._go_on(n)
            self._told(list(broken(self.board)))
            n += 1
            if n > _MANY_STEPS:
                self._told([("loop.budget.hard-stop", f"no end after {n} more moves")])
        self._judge()

    @property
    def _may_die(self) -> bool:
        """Whether a kill may come. No trace tells a read whose outcome a kill took, and that a cancel keeps from being
        made again, from one that was cut off: the checkers would misread it."""
        board = self.board
        reads = any(slot.call.name in _READS for slot in board.state.slots)
        return board.fuse is None and (board.cancelled is None or not reads)

    def _go_on(self, n: int) -> None:
        board = self.board
        if board.asked:
            self._model({"calls": [{"tool": "read", "arguments": {"n": 100 + n}}]}, 0)
        elif board.running:
            self._tool(next(iter(board.running)), {"text": f"Result {n}."})
        elif board.waiting is not None:
            board.wait_over()
        else:
            board.decide(dict.fromkeys(board.suspended, True))

    def _model(self, spec: Spec, takes: int) -> None:
        made = [self.said[f"model {move.about}"] for move in self.board.play if move.kind == "model"]
        first = 1 + sum(len(one.get("calls", ())) for one in made)
        self.said[f"model {len(self.board.requests)}"] = spec
        self.board.pass_time(takes)
        self.board.reply(loop_story.turn_of(spec, first))

    def _tool(self, call_id: str, spec: Spec) -> None:
        tool = self.board.running[call_id].call.name
        self.said[f"tool {call_id}"] = spec
        self.board.finish(call_id, loop_story.answer_of(spec, tool))

    def _judge(self) -> None:
        self._told(list(judged(self.board)))
        if not self.board.kills:
            self._told(list(retold(self.board, self.said)))

    def _told(self, wrong: list[tuple[str, str]]) -> None:
        __tracebackhide__ = True
        if wrong:
            rules = list(dict.fromkeys(rule for rule, _ in wrong))
            name = "found-" + rules[0].replace(".", "-")
            expect = {"conversation": {"answered": True}}
            known = [one for one in rules if one in requirements()] or ["loop.tools.every-call-answered"]
            path = loop_story.write(self.found, loop_story.story(self.board, name, known, self.said, expect))
            told = "\n".join(f"{rule}: {what}" for rule, what in wrong)
            raise AssertionError(f"{told}\nwritten as {path}; run it: harness run {path} --depth sim")
