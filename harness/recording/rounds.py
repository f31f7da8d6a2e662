"""There and back: what was read of a request or an answer, written again by the other side and read once more.

A request goes decoder -> adapter -> decoder, an answer adapter -> encoder -> adapter, each as far as the wire carries
it (`contract.carried_*`, the documented losses). Both sides are independent, so that what comes back unchanged was
understood alike by both. Nothing is sent: all of it is pure.
"""

from collections.abc import Sequence
from dataclasses import replace

from harness.contract.carried_requests import carried_request
from harness.contract.carried_turns import carried_turn
from harness.recording.differences import Difference, first_difference
from harness.recording.exchange import Body
from harness.transports.adapter import Adapter
from harness.vocabulary.content import AssistantMessage
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.stream import StreamEvent, StreamFailed, TurnEnded
from harness.vocabulary.turn import FaultKind, ModelError, ModelFault, ModelTurn
from harness.wire.codec import Codec, Decoded, UndecodableRequest, UnencodableTurn

UNSAID = ModelRequest(model="", system="", tools=(), items=())
"""The request of an answer that was recorded alone."""
_NUMBER = 0
"""The number of every exchange that is written anew: ids that the provider gave are kept, others do not matter."""
_CHUNK = 997


def request_round(decoded: Decoded, wire: Codec, client: Adapter) -> str | None:
    """What a request lost on its way through the adapter and back, in words; None: nothing."""
    try:
        body = client.render(decoded.request, stream=decoded.stream)
        again = wire.decode(body)
    except UndecodableRequest as error:
        return f"the adapter renders it so that it cannot be decoded: {error}"
    except ValueError as error:
        return f"the adapter cannot render it: {error}"
    lost = first_difference(carried_request(decoded.request, wire.id), again.request)
    if lost is None and again.stream != decoded.stream:
        lost = Difference("/stream", str(decoded.stream), str(again.stream))
    return None if lost is None else f"rendered by the adapter and decoded again, {lost}"


def read_answer(body: Body, request: ModelRequest, client: Adapter) -> ModelTurn | ModelFault:
    """The turn of a 2xx answer, or the fault that it is. A stream is fed in chunks of an odd size, so that lines and
    characters are cut; its events must keep their contract."""
    if body.kind == "sse":
        parser = client.stream_parser(request)
        chunks = (body.data[i : i + _CHUNK] for i in range(0, len(body.data), _CHUNK))
        return _end_of([event for chunk in chunks for event in parser.feed(chunk)] + parser.close())
    try:
        return client.parse_response(body.data, request)
    except ModelError as error:
        return error.fault


def _end_of(events: Sequence[StreamEvent]) -> ModelTurn | ModelFault:
    ends = [event for event in events if isinstance(event, TurnEnded | StreamFailed)]
    contiguous = all(event.sequence == number for number, event in enumerate(events))
    if len(ends) != 1 or ends[0] is not events[-1] or not contiguous:
        return ModelFault(kind=FaultKind.PROTOCOL, message="the adapter broke the contract of its own stream events")
    return ends[0].turn if isinstance(ends[0], TurnEnded) else ends[0].fault


def answer_round(turn: ModelTurn, request: ModelRequest, wire: Codec, client: Adapter) -> str | None:
    """What a turn lost on its way through the encoder and back, in words; None: nothing. Both forms are tried, plain
    and streamed. The turn is written as to a request that asked for all that the wire can report; one that the provider
    gave no id has the encoder's own."""
    history = [*request.items, *([request.paused] if request.paused else [])]
    calls = sum(len(item.calls) for item in history if isinstance(item, AssistantMessage))
    for streamed, form in ((False, "a plain answer"), (True, "a stream")):
        try:
            again = read_answer(_written(turn, request.model, wire, streamed), request, client)
        except UnencodableTurn as error:
            return f"the encoder cannot write the turn as {form}: {error}"
        if isinstance(again, ModelFault):
            return f"written as {form}, the turn cannot be read again: {again.message}"
        if not turn.response_id:
            again = replace(again, response_id="")
        lost = first_difference(carried_turn(turn, wire.id, streamed=streamed, calls_before=calls), again)
        if lost is not None:
            return f"written as {form} and read again, {lost}"
    return None


def _written(turn: ModelTurn, model: str, wire: Codec, streamed: bool) -> Body:
    if streamed:
        return Body("sse", b"".join(wire.stream(turn, model=model, n=_NUMBER)))
    return Body("json", wire.response(turn, model=model, n=_NUMBER))
