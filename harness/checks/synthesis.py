"""Checkers of loop.md section 4: what a synthesis request looks like, on the wire where there is one.

The wording of the instruction is the subject's own; it is held to the points that it has to make, not to a text.
"""

import re
from collections.abc import Iterator, Sequence

from harness.checks.breaker import leaked
from harness.checks.canonical import telling, telling_strings
from harness.checks.context import changed_prefix, rewritten
from harness.checks.endings import REPETITION_ENDING, reserve_ending, wrong_ending
from harness.checks.finding import KEPT, Failure, Look, item
from harness.checks.history import instructs
from harness.checks.standing import REPEATED
from harness.checks.timeline import Attempt, Timeline
from harness.vocabulary.content import Item
from harness.vocabulary.control import CONTROL_LINE, CONTROL_NAMES
from harness.vocabulary.turn import FaultKind, ModelFault

_POINTS = {
    "to answer": re.compile(r"answer|respond|reply", re.IGNORECASE),
    "to use the evidence of the conversation": re.compile(r"evidence|conversation|gathered|found", re.IGNORECASE),
    "to name the gaps": re.compile(r"gap|missing|remain|not verified|unverified|unknown|open", re.IGNORECASE),
    "not to claim that unfinished work is complete": re.compile(r"complete|finish|done", re.IGNORECASE),
    "not to call tools": re.compile(r"tool", re.IGNORECASE),
}
_REPEATING = re.compile(r"repeat", re.IGNORECASE)


def synthesis_attempts(timeline: Timeline) -> Iterator[Attempt]:
    """The attempts whose request carries a control."""
    return (attempt for attempt in timeline.attempts if attempt.request.control is not None)


def instruction(timeline: Timeline) -> Look:
    """loop.synthesis.instruction: one volatile instruction, named in its first line, that makes all its points."""
    for attempt in synthesis_attempts(timeline):
        yield _bad_instruction(attempt)


def _bad_instruction(attempt: Attempt) -> Failure | None:
    control = attempt.request.control
    if control is None:
        return KEPT
    first, _, rest = control.text.partition("\n")
    line = CONTROL_LINE.format(name=control.name)
    if first != line or control.name not in CONTROL_NAMES:
        return Failure(
            f"the instruction begins with the line {line}", f"it begins with {first[:80]!r}", attempt.n, "/control"
        )
    for point, words in _POINTS.items():
        if not words.search(rest):
            return Failure(f"the instruction tells the model {point}", "nothing of that in it", attempt.n, "/control")
    if control.name == REPEATED and not _REPEATING.search(rest):
        return Failure("the instruction says that research was repeating", "nothing of that", attempt.n, "/control")
    return KEPT


def no_leak(timeline: Timeline) -> Look:
    """loop.synthesis.no-leak: the instruction holds nothing of the tools, and no history holds the instruction."""
    told: dict[str, Attempt] = {}
    for attempt in timeline.attempts:
        for place in leaked(attempt):
            yield Failure("no instruction in the history", "an item holds one", attempt.n, item(place))
    for attempt in synthesis_attempts(timeline):
        control = attempt.request.control
        if control is not None and told.setdefault(control.text, attempt) is attempt:
            yield _quotes(timeline, attempt, control.text)
        yield from _kept_by(timeline, attempt)


def _kept_by(timeline: Timeline, attempt: Attempt) -> Iterator[Failure]:
    """Checkpoints and outcomes of a synthesis attempt that hold the instruction, at the end of their conversation."""
    base = len(attempt.request.items) + timeline.offset
    for _, record in attempt.checkpoints:
        if _instructed(record.conversation, base):
            yield Failure("no checkpoint holds the instruction", f"checkpoint {record.trigger} does", attempt.n)
    for _, ended in attempt.ended:
        if _instructed(ended.outcome.conversation, base):
            yield Failure("the conversation of the outcome holds no instruction", "it does", attempt.n)


def _instructed(held: Sequence[Item], base: int) -> bool:
    return any(instructs(held[place]) for place in range(base, len(held)))


def _quotes(timeline: Timeline, attempt: Attempt, text: str) -> Failure | None:
    for before in timeline.turns:
        if before.index >= attempt.index:
            break
        for call in before.calls:
            for argument in telling_strings(call.arguments):
                if argument in text:
                    return Failure(
                        "the instruction holds no tool argument", f"it quotes {argument[:60]!r}", attempt.n, "/control"
                    )
            seen = call.result.text if call.result is not None and not call.result.reason_code else ""
            lines = [line.strip() for line in seen.split("\n", 3)[:3]]
            if any(telling(line[:80]) and line[:80] in text for line in lines):
                return Failure(
                    "the instruction holds no retrieved text",
                    f"it quotes a result of {call.name}",
                    attempt.n,
                    "/control",
                )
    return KEPT


def tool_choice(timeline: Timeline) -> Look:
    """loop.synthesis.tool-choice: "none" in synthesis, nothing else ever, nothing where there are no tools."""
    for attempt in timeline.attempts:
        if timeline.xml:
            continue
        failure = _bad_choice(timeline, attempt)
        if failure is not None or attempt.request.control is not None:
            yield failure


def _bad_choice(timeline: Timeline, attempt: Attempt) -> Failure | None:
    choice, control = attempt.request.tool_choice, attempt.control
    if control is None:
        return KEPT if choice is None else Failure("no tool_choice", f"{choice!r}", attempt.n, "/tool_choice")
    if not timeline.tools:
        fits = choice is None or timeline.transport == "sim"
        return (
            KEPT
            if fits
            else Failure("no tool_choice, since there are no tools", f"{choice!r}", attempt.n, "/tool_choice")
        )
    found = "it is left out" if choice is None else repr(choice)
    return KEPT if choice == "none" else Failure("tool_choice none in synthesis", found, attempt.n, "/tool_choice")


def history_intact(timeline: Timeline) -> Look:
    """loop.synthesis.history-intact: tools, prefix and earlier call/result pairs stay as they were."""
    for attempt in synthesis_attempts(timeline):
        failures = [*changed_prefix(timeline, attempt), *rewritten(timeline, attempt)]
        yield from failures
        if not failures:
            yield KEPT


def xml(timeline: Timeline) -> Look:
    """loop.synthesis.xml: the XML fallback leaves tools and their instruction out; written calls are violations."""
    for attempt in synthesis_attempts(timeline):
        if attempt.request.tools or "<tools>" in attempt.request.system:
            yield Failure(
                "no tool section in synthesis", f"{len(attempt.request.tools)} tools are told", attempt.n, "/tools"
            )
        elif attempt.calls:
            control = attempt.control or REPEATED
            yield wrong_ending(attempt, REPETITION_ENDING if control == REPEATED else reserve_ending(control))
        else:
            yield KEPT


def provider_rejects_call(timeline: Timeline) -> Look:
    """loop.synthesis.provider-rejects-call: a provider's refusal of a called tool is the same violation."""
    for attempt in synthesis_attempts(timeline):
        fault = attempt.reply
        if isinstance(fault, ModelFault) and fault.kind is FaultKind.CALL_REJECTED:
            control = attempt.control or REPEATED
            yield wrong_ending(attempt, REPETITION_ENDING if control == REPEATED else reserve_ending(control))
