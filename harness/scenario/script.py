"""The scripted model: plays the turns of a scenario to whoever asks, over a wire or without one.

A request that does not fit the script is recorded as a `ScriptFault` and answered with a permanent failure, so that the
run ends. It knows neither the subject nor the wires' bytes.
"""

from collections.abc import Callable
from dataclasses import dataclass

from harness.provider.replies import Reply, StatusReply, TurnReply
from harness.scenario.arms import Arm
from harness.scenario.clock import SimulatedClock
from harness.scenario.cuts import on_the_wire
from harness.scenario.delivered import Delivered
from harness.scenario.fault_words import failure, raw
from harness.scenario.format import Scenario
from harness.scenario.plan import Plan, played_turns
from harness.scenario.situation import Breach, beyond, mismatch
from harness.scenario.turns import PreparedTurn, prepared
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.trace import Record, ScriptFault

OFF_SCRIPT = StatusReply(
    status=400,
    error_type="invalid_request_error",
    message="The scripted model holds no answer to this request.",
)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the script stands: the turn, its repetition (from 1), the calls given so far."""

    turn: int = 0
    repetition: int = 1
    calls: int = 0


class ScriptedModel:
    """The responder of one run (`harness.provider.simulated.Responder`)."""

    def __init__(
        self, scenario: Scenario, plan: Plan, arm: Arm, record: Callable[[Record], None], clock: SimulatedClock
    ) -> None:
        self.delivered = Delivered(arm.transport, plan.history)
        self._scenario, self._arm, self._record, self._clock = scenario, arm, record, clock
        self._model = plan.settings.model
        self._turns = prepared(scenario, arm.transport)
        self._place = self._before = _Place()
        self._last: Reply | None = None
        self._off = False

    def reply(self, n: int, request: ModelRequest) -> Reply:
        """The answer to request `n`. Never raises for what a subject does."""
        self._clock.advance(self._scenario.clock.attempt_takes)
        if self._place.turn >= len(self._turns):
            return self._fault(n, beyond(self._last, request, played_turns(self._scenario.script)))
        turn = self._turns[self._place.turn]
        if turn.spec.when is not None:
            tools = bool(self._scenario.tools)
            breach = mismatch(turn.spec.when, request, self._arm.transport, tools=tools)
            if breach is not None:
                return self._fault(n, breach)
        self._last = self._play(turn)
        return self._last

    def rewind(self) -> None:
        """Unsay the last reply: the process that had it was lost before it was stored."""
        self._place = self._before
        self.delivered.forget(self._place.calls)

    def unplayed(self) -> int:
        """How many replies are left that a right subject would have asked for. 0 once the script was broken."""
        if self._off or self._scenario.unplayed == "allowed":
            return 0
        done = sum(turn.spec.repeat for turn in self._turns[: self._place.turn]) + self._place.repetition - 1
        return played_turns(self._scenario.script) - done

    def _play(self, turn: PreparedTurn) -> Reply:
        place = self._before = self._place
        again = place.repetition < turn.spec.repeat
        ahead = (place.turn, place.repetition + 1) if again else (place.turn + 1, 1)
        reply = self._made(turn, place)
        given = isinstance(reply, TurnReply) and reply.cut is None
        if given and turn.calls:
            self.delivered.add(reply.turn.message.calls)  # type: ignore[union-attr]
        self._place = _Place(*ahead, len(self.delivered.calls))
        return reply

    def _made(self, turn: PreparedTurn, place: _Place) -> Reply:
        spec = turn.spec
        if spec.fail is not None:
            return failure(spec.fail, self._arm.transport)
        if spec.raw is not None:
            return raw(spec.raw)
        said = turn.play(place.repetition, place.calls + 1)
        return TurnReply(said, None if spec.cut is None else on_the_wire(spec.cut, said, self._arm, self._model))

    def _fault(self, n: int, breach: Breach) -> Reply:
        self._off = True
        rule = breach.rule(self._scenario.proves)
        self._record(ScriptFault(rule=rule, message=f"request {n}: {breach.message}", n=n))
        return OFF_SCRIPT
