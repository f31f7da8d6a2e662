"""Which promise it is that a subject broke when it asks for what the script does not hold.

The script is what a right subject meets. A request that does not fit it, or comes after its end, points to a rule by
what went before; a rule that the scenario sets out to prove is preferred (scenarios.md: exhausting the script "says
which rule").
"""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.provider.replies import ConnectionReply, RawReply, Reply, StatusReply, TurnReply
from harness.scenario.format_script import When
from harness.scenario.reading import choice_word, control_word, texts_of
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.turn import StopReason

REPEATED = "repeated_tool_calls"
_RESERVE = "loop.budget.reserve-is-synthesis"
_HARD_STOP = "loop.budget.hard-stop"


@dataclass(frozen=True, slots=True)
class Breach:
    """What does not fit, and the rules that it may point to, the likeliest first."""

    rules: tuple[str, ...]
    message: str

    def rule(self, proves: Sequence[str]) -> str:
        """The one rule to name: a likely one that the scenario proves, else the likeliest, else what it proves."""
        return next((rule for rule in self.rules if rule in proves), (*self.rules, *proves)[0])


def mismatch(when: When, request: ModelRequest, transport: str, *, tools: bool) -> Breach | None:
    """How a request fails the `when` of the turn that is due; None if it fits."""
    control = control_word(request)
    if when.control is not None and control != when.control:
        return Breach(_control_rules(when.control, control), f"the control is {control}, not {when.control}")
    choice = choice_word(request, transport, tools=tools)
    if when.tool_choice is not None and choice != when.tool_choice:
        rules = ("loop.synthesis.xml",) if transport == "xml-fallback" else ("loop.synthesis.tool-choice",)
        return Breach(rules, f"tool_choice is {choice}, not {when.tool_choice}")
    text = texts_of(request) if when.contains else ""
    missing = [part for part in when.contains if part not in text]
    return Breach((), f"the request does not contain {missing[0]!r}") if missing else None


def _control_rules(expected: str, found: str) -> tuple[str, ...]:
    if expected == REPEATED:
        return ("loop.breaker.overlap",) if found != "none" else ("loop.breaker.synthesis-before-limit",)
    if expected == "none":
        return ("loop.breaker.threshold",) if found == REPEATED else (_RESERVE,)
    if found == REPEATED:
        return ("loop.breaker.overlap", _RESERVE)
    spent = "loop.budget.tool-calls-never-fail-the-answer"
    return (_RESERVE, spent) if expected == "tool_calls" else (_RESERVE,)


def beyond(last: Reply | None, request: ModelRequest, turns: int) -> Breach:
    """A request after the end of the script; `last` is what was answered before it."""
    said = f"the script has {turns} {'reply' if turns == 1 else 'replies'}, and the run should have ended with the last"
    return Breach(_after(last, control_word(request)), said)


def _after(last: Reply | None, control: str) -> tuple[str, ...]:
    if isinstance(last, (StatusReply, ConnectionReply)):
        return ("loop.model.one-owner", "loop.model.transient-only", _HARD_STOP)
    if isinstance(last, RawReply) or (last is not None and last.cut is not None and last.cut.how == "clean"):
        return ("loop.model.terminal-required",)
    if last is None or last.cut is not None:
        return ("loop.model.transient-only",)
    return _after_turn(last, control)


def _after_turn(last: TurnReply, control: str) -> tuple[str, ...]:
    turn = last.turn
    if turn.message.calls:
        violated = ("loop.budget.reserve-violation", "loop.breaker.violation-any-arguments")
        ended = (_HARD_STOP, "loop.breaker.hard-limit-before-dispatch", "loop.approval.denied", *violated)
        return ended if control == "none" else ("loop.breaker.no-extra-allowance", *ended)
    if turn.stop in (StopReason.REFUSAL, StopReason.CONTENT_FILTER):
        return ("loop.model.refusal",)
    if turn.stop is StopReason.MAX_TOKENS:
        return ("loop.model.truncated", "loop.model.empty-turn")
    if turn.stop is StopReason.PAUSE:
        return ("loop.model.paused",)
    if not any(getattr(part, "text", "").strip() for part in turn.message.content):
        return ("loop.model.empty-turn", "loop.model.one-owner")
    return ("loop.breaker.no-extra-allowance",) if control == REPEATED else (_HARD_STOP,)
