"""Where a scripted cut falls in a wire's own stream.

A script counts visible pieces, since they mean the same on every wire; a wire counts its events, of which many only
frame. The translation looks at the events that the judge's codec would send, so the script needs no wire's count.
"""

from typing import Any

from harness.provider import replies
from harness.scenario.arms import Arm
from harness.scenario.format_script import Cut
from harness.vocabulary.content import Refusal, Text
from harness.vocabulary.turn import FaultKind, ModelFault, ModelTurn
from harness.wire.registry import codec

_PIECES: dict[str, tuple[bytes, ...]] = {
    "openai-chat": (b'"delta":{"content":"', b'"delta":{"refusal":"', b'"function":{"arguments":"'),
    "xml-fallback": (b'"delta":{"content":"', b'"delta":{"refusal":"'),
    "openai-responses": (
        b'"type":"response.output_text.delta"',
        b'"type":"response.refusal.delta"',
        b'"type":"response.function_call_arguments.delta"',
    ),
    "anthropic-messages": (b'"type":"text_delta"', b'"type":"input_json_delta"'),
}
"""How the event of a visible piece is known on each wire."""


def on_the_wire(cut: Cut, turn: ModelTurn, arm: Arm, model: str) -> replies.Cut:
    """The cut as the simulated provider of an arm takes it."""
    visible = _visible(cut, turn, arm.streaming)
    if cut.after_events is None or not arm.wire or not arm.streaming:
        return replies.Cut(after_events=cut.after_events, after_bytes=cut.after_bytes, how=cut.how, visible=visible)
    return replies.Cut(after_events=_place(cut.after_events, turn, arm.transport, model), how=cut.how, visible=visible)


def _place(pieces: int, turn: ModelTurn, transport: str, model: str) -> int:
    """The number of events up to and with so many pieces: all before the ending if there are no more."""
    if pieces == 0:
        return 0
    whole: dict[str, Any] = {"model": model, "n": 1}
    found = [place for place, event in enumerate(codec(transport).stream(turn, **whole), 1) if _piece(event, transport)]
    if not found:
        return 1
    return found[min(pieces, len(found)) - 1]


def _piece(event: bytes, transport: str) -> bool:
    return any(mark in event for mark in _PIECES[transport])


def fault_of(cut: replies.Cut, turn: ModelTurn, *, streaming: bool) -> ModelFault:
    """What a cut answer comes to at depth sim: visible output was seen if the stream got that far."""
    kind = FaultKind.PROTOCOL if cut.how == "clean" else FaultKind.TRANSIENT
    seen = bool(_visible(cut, turn, streaming))
    return ModelFault(kind=kind, message=f"the answer broke off ({cut.how})", stream_had_output=seen)


def _visible(cut: Cut | replies.Cut, turn: ModelTurn, streaming: bool) -> bool | None:
    """Whether text was seen before the cut; a count of bytes does not tell where text begins."""
    if not streaming or not _begins_visibly(turn):
        return False
    return None if cut.after_events is None else cut.after_events > 0


def _begins_visibly(turn: ModelTurn) -> bool:
    return any(isinstance(part, (Text, Refusal)) and part.text for part in turn.message.content)
