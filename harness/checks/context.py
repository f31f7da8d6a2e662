"""Checkers of loop.md section 5 that compare requests: the frozen prefix, the history prefix, pure building.

Elision may replace a result by a pointer; whether it does so rightly is judged in `harness.checks.elision`.
"""

import json
import re
from collections.abc import Iterator, Sequence

from harness.checks.breaker import mode
from harness.checks.canonical import Signature, has_surrogate, same_arguments, well_formed
from harness.checks.finding import KEPT, Failure, Look, item
from harness.checks.history import item_text, only_reasoning_dropped, spoken
from harness.checks.standing import Sure
from harness.checks.timeline import Attempt, Call, Kind, Timeline
from harness.vocabulary.content import AssistantPart, Item, Refusal, Text, ToolResult
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.turn import FaultKind, ModelFault, ModelTurn

_SENDABLE = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""Names of calls that every wire takes in a history."""


def is_pointer(before: Item, after: Item) -> bool:
    """Whether an item became the pointer of an elided result: it answers the same call, and its text says so."""
    if not isinstance(before, ToolResult) or not isinstance(after, ToolResult):
        return False
    said = after.text.lower()
    return after.call_id == before.call_id and "elided" in said and before.call_id.lower() in said


def prefix_frozen(timeline: Timeline) -> Look:
    """loop.context.prefix-frozen: every request extends the one before it, behind the same system text and tools."""
    for attempt in timeline.attempts:
        if attempt.previous is None:
            continue
        failures = [*changed_prefix(timeline, attempt), *rewritten(timeline, attempt), *misgrown(timeline, attempt)]
        yield from failures
        if not failures:
            yield KEPT
    for place in timeline.lied:
        yield Failure(
            "the history is what its requests added up to",
            "an earlier item was changed",
            timeline.attempts[-1].n,
            item(place),
        )


def changed_prefix(timeline: Timeline, attempt: Attempt) -> Iterator[Failure]:
    """System text and tools that differ from the first request's. The XML fallback drops its tools in synthesis."""
    first, here = timeline.attempts[0].request, attempt.request
    if here is first:
        return
    exempt = timeline.xml and attempt.control is not None
    if here.system is not first.system and here.system != first.system and not exempt:
        yield Failure("the system text of the first request", "another one", attempt.n, "/system")
    if here.tools is not first.tools and not exempt and _tools(timeline.attempts[0].request) != _tools(here):
        yield Failure(
            f"the {len(first.tools)} tools of the first request, byte for byte",
            f"{len(here.tools)} tools, not the same",
            attempt.n,
            "/tools",
        )


def _tools(request: ModelRequest) -> str:
    """Tool definitions with the key order in which they are sent."""
    rows = [[tool.name, tool.description, tool.strict, tool.parameters] for tool in request.tools]
    return json.dumps(rows, default=dict)


def rewritten(timeline: Timeline, attempt: Attempt) -> Iterator[Failure]:
    """Old items that are missing or changed, but for what elision may change."""
    before = attempt.previous
    if before is None:
        return
    change, items, old = attempt.change, attempt.request.items, before.request.items
    if change.missing:
        yield Failure(f"the {len(old)} items of request {before.n}", f"{len(items)} items", attempt.n, item(len(items)))
    elides = any(is_pointer(old[place], items[place]) for place in change.changed)
    for place in change.changed:
        dropped = elides and only_reasoning_dropped(old[place], items[place])
        if not dropped and not is_pointer(old[place], items[place]):
            yield Failure(
                f"the item as it stands in request {before.n}",
                f"another: {_brief(items[place])}",
                attempt.n,
                item(place),
            )


def misgrown(timeline: Timeline, attempt: Attempt) -> Iterator[Failure]:
    """New items that are not the turn before and its results."""
    before = attempt.previous
    if before is None or not attempt.legible:
        return
    base = len(attempt.request.items) - len(attempt.change.grown)
    if before.kind is not Kind.TURN:
        if attempt.change.grown and before.kind in (Kind.FAULT, Kind.EMPTY, Kind.PAUSED):
            yield Failure(
                "a failed or paused attempt adds nothing to the history",
                _brief(attempt.change.grown[0]),
                attempt.n,
                item(base),
            )
        return
    extra = len(attempt.change.grown) - len(before.said) - len(before.results)
    if extra:
        place = base + len(before.said) + len(before.results)
        yield Failure(
            "only the turn and its results are new",
            f"also {_brief(attempt.request.items[place])}",
            attempt.n,
            item(place),
        )
    problem = _misquoted(timeline, before)
    if problem:
        yield Failure("the turn stands in the history as the model gave it", problem, attempt.n, item(base))


def _misquoted(timeline: Timeline, turn: Attempt) -> str:
    if len(turn.said) == 1 and isinstance(turn.reply, ModelTurn) and turn.said[0] is turn.reply.message:
        return ""
    stored = turn.stored
    if len(stored) != len(turn.calls):
        return f"{len(stored)} of its {len(turn.calls)} calls stand there"
    for call, kept in zip(turn.calls, stored, strict=True):
        if not _same_name(timeline, call, kept.name) or not _same_call(call, kept.arguments):
            return f"{call.label} stands there as {kept.name} {kept.arguments[:60]!r}"
    expected, found = _said(turn), [part for message in turn.said for part in message.content]
    if any(_text(timeline, expected, blank) == _text(timeline, found, blank) for blank in (True, False)):
        return ""
    return f"its text stands there as {spoken(found)[:60]!r}"


def _same_name(timeline: Timeline, call: Call, stored: str) -> bool:
    """No provider takes every name back that its model can invent: another may stand for it, but for that of a tool."""
    return stored == call.name or (not _SENDABLE.fullmatch(call.name) and stored not in timeline.tools)


def _same_call(call: Call, stored: str) -> bool:
    if stored is call.arguments or same_arguments(call.arguments, stored):
        return True
    return call.valid is not True and same_arguments(stored, "{}")


def _said(turn: Attempt) -> list[AssistantPart]:
    """What the model said in this turn, after what it said in the paused turns that it resumes."""
    parts: list[AssistantPart] = []
    here: Attempt | None = turn
    while here is not None and here.step == turn.step:
        if here.kind in (Kind.PAUSED, Kind.TURN) and isinstance(here.reply, ModelTurn):
            parts = [*here.reply.message.content, *parts]
        here = here.previous
    return parts


def _text(timeline: Timeline, parts: Sequence[AssistantPart], blank: bool) -> str:
    """Text as far as a wire keeps it: one may drop `blank` parts, and the XML fallback white space around frames."""
    kept = [part for part in parts if blank or spoken([part]).strip()]
    text = well_formed(spoken(kept))
    return "".join(text.split()) if timeline.xml else text


def _brief(one: Item) -> str:
    kind = type(one).__name__
    return f"{kind} {item_text(one)[:60]!r}"


def pure(timeline: Timeline) -> Look:
    """loop.context.pure: the same state builds the same bytes. A retry and a crash before the reply show it."""
    for attempt in timeline.attempts:
        before = attempt.previous
        if before is None or not attempt.same_step or before.control != attempt.control:
            continue
        fault = before.reply
        rebuilt = isinstance(fault, ModelFault) and fault.kind is FaultKind.CONTEXT_LENGTH
        if before.kind not in (Kind.FAULT, Kind.EMPTY, Kind.LOST) or rebuilt or _more_paused(before, attempt):
            continue
        yield _differs(before, attempt)


def _more_paused(before: Attempt, attempt: Attempt) -> bool:
    return before.kind is Kind.LOST and before.request.paused != attempt.request.paused


def _differs(before: Attempt, attempt: Attempt) -> Failure | None:
    expected = f"the bytes of request {before.n}, whose state it shares"
    if before.sent.payload is not None and attempt.sent.payload is not None:
        one, other = before.sent.payload, attempt.sent.payload
        if one == other:
            return KEPT
        at = next(
            (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
        )
        return Failure(expected, f"they differ from byte {at} on", attempt.n)
    same = not attempt.change.changed and not attempt.change.grown and not attempt.change.missing
    same = same and _frame(before.request) == _frame(attempt.request)
    return KEPT if same else Failure(expected, "another request", attempt.n)


def _frame(request: ModelRequest) -> tuple[object, ...]:
    control = request.control.text if request.control is not None else None
    return (
        request.model,
        request.system,
        request.tools,
        control,
        request.tool_choice,
        request.paused,
        request.max_output_tokens,
        request.reasoning,
    )


def refetch_counts(timeline: Timeline) -> Look:
    """loop.context.refetch-counts: reading an elided, unchanged source again is an identical call."""
    gone: set[Signature] = set()
    refetched: set[Signature] = set()
    asked: dict[str, Signature] = {}
    for attempt in timeline.attempts:
        if refetched.intersection(attempt.standing.hot) and attempt.standing.budget is Sure.NO:
            yield mode(attempt)
        for place in attempt.change.changed:
            one = attempt.request.items[place]
            if attempt.previous is not None and is_pointer(attempt.previous.request.items[place], one):
                gone.update([asked[one.call_id]] if isinstance(one, ToolResult) and one.call_id in asked else [])
        if gone:
            refetched.update([call.signature for call in attempt.calls if call.signature in gone])
        asked.update({call.call_id: call.signature for call in attempt.calls})


def well_formed_text(timeline: Timeline) -> Look:
    """loop.context.well-formed-text: no lone surrogate reaches a request or the answer."""
    if has_surrogate(timeline.started.user) or has_surrogate(timeline.started.system):
        yield KEPT
    for attempt in timeline.attempts:
        for place in attempt.ragged:
            yield Failure("U+FFFD for a lone surrogate", "the surrogate itself", attempt.n, item(place))
        if attempt.previous is None and has_surrogate(attempt.request.system):
            yield Failure("U+FFFD for a lone surrogate", "the surrogate itself", attempt.n, "/system")
        if any(has_surrogate(text) for text in _sources(attempt)):
            yield KEPT
    outcome = timeline.outcome
    if outcome is not None and outcome.message is not None and has_surrogate(outcome.message):
        yield Failure("U+FFFD for a lone surrogate in the answer", "the surrogate itself")


def _sources(attempt: Attempt) -> Iterator[str]:
    if isinstance(attempt.reply, ModelTurn):
        yield from [part.text for part in attempt.reply.message.content if isinstance(part, (Text, Refusal))]
        yield from [call.arguments for call in attempt.calls]
    for _, ended in attempt.ends:
        yield from [part.text for part in ended.outcome.content if isinstance(part, Text)]
