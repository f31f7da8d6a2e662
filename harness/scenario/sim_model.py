"""The model side at depth sim: no wire, no event loop; the script answers neutral requests with neutral events."""

from collections.abc import Callable
from dataclasses import replace

from harness.provider.faults import fault_of
from harness.provider.replies import RawReply, Reply, TurnReply, told
from harness.scenario import cuts
from harness.scenario.clock import SimulatedClock
from harness.scenario.script import ScriptedModel
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.stream import StreamEvent, StreamFailed, TurnEnded
from harness.vocabulary.trace import Record, ReplySent, RequestSent
from harness.vocabulary.turn import ModelFault


class SimulatedModel:
    """A synchronous model port (`harness.loop.ports.SyncModelPort`) over a script. It records both directions."""

    def __init__(
        self, script: ScriptedModel, record: Callable[[Record], None], clock: SimulatedClock, *, streaming: bool
    ) -> None:
        self._script, self._record, self._clock, self._streaming = script, record, clock, streaming
        self._n = 0

    def attempt(self, request: ModelRequest) -> tuple[StreamEvent, ...]:
        """The events of one attempt: its terminal event."""
        self._n += 1
        self._record(RequestSent(n=self._n, request=request, built=request, at=self._clock.now()))
        reply = self._script.reply(self._n, request)
        if isinstance(reply, TurnReply):
            self._record(told(self._n, reply))
            if reply.cut is None:
                return (TurnEnded(0, reply.turn),)
            return (StreamFailed(0, cuts.fault_of(reply.cut, reply.turn, streaming=self._streaming)),)
        fault = fault_of(reply)
        self._record(ReplySent(n=self._n, reply=fault))
        return (StreamFailed(0, _seen(fault, reply)),)


def _seen(fault: ModelFault, reply: Reply) -> ModelFault:
    """The fault as a client reads it: an answer that breaks its contract is told without its status."""
    broken = isinstance(reply, RawReply) and reply.status < 400
    return replace(fault, status=None) if broken else fault
