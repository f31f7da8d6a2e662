"""What must hold after each step of the pure loop, whatever was played: one function for each promise, over a board.

A function says what is wrong, or None. Nothing here reads the loop's own counters to judge them: budgets, fitting and
identical calls are counted again from what the board saw. Source: loop.md, the rule that each promise names.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

from harness.checks.registry import judge
from harness.checks.requirements import load_requirements
from harness.contract.loop_board import Board
from harness.data_root import data_root
from harness.loop.attempts import build_request
from harness.loop.ending import counters
from harness.loop.state import Phase
from harness.transports.registry import TRANSPORT_IDS, adapter
from harness.vocabulary.content import AssistantMessage, Item, ToolCall, ToolResult
from harness.vocabulary.control import ReasonCode
from harness.vocabulary.outcome import Reason, Status
from harness.vocabulary.tools import Effect
from harness.vocabulary.turn import ModelFault
from harness.vocabulary.verdict import Requirement, VerdictName
from harness.wire.registry import codec

Promise = tuple[str, Callable[[Board], str | None]]


@cache
def requirements() -> dict[str, Requirement]:
    """The requirements of the loop, by id."""
    return load_requirements(data_root() / "contracts" / "requirements")


def broken(board: Board) -> Iterator[tuple[str, str]]:
    """The promises that do not hold now: rule and what is wrong."""
    for rule, holds in PROMISES:
        wrong = holds(board)
        if wrong is not None:
            yield rule, wrong


def judged(board: Board) -> Iterator[tuple[str, str]]:
    """What the checkers of the harness, which share no code with the loop, say of a whole run."""
    if len(board.kills) > 1 or board.lost:
        # The checkers read a scenario's one kill, after which a lost reply is given again; here it may be another one.
        return
    # At threshold 2 one call stands at the synthesis level: whether it is a loop is no question of repetition.
    rules = requirements()
    if board.task.settings.identical_call_threshold == 2:
        rules = {name: one for name, one in rules.items() if name != "loop.progress.verdict"}
    for one in judge(board.trace, proves=(), requirements=rules):
        if one.verdict is VerdictName.FAIL:
            yield one.check, f"expected {one.expected}; actual {one.actual} (request {one.request})"


def _pure(board: Board) -> str | None:
    return board.impure


def _rebuilt(board: Board) -> str | None:
    """The request in flight can be built again, and from text."""
    if board.state.phase is not Phase.MODEL or board.asked is None:
        return None
    return None if build_request(board.state) == board.asked else "the request, built twice, is two requests"


def _answered(board: Board) -> str | None:
    items = list(board.state.conversation)
    batches = list(_batches(items))
    for place, (calls, results) in enumerate(batches):
        asked, given = [call.call_id for call in calls], [result.call_id for result in results]
        open_turn = place == len(batches) - 1 and board.outcome is None
        if given == asked or (open_turn and given == [one for one in asked if one in given]):
            continue
        return f"calls {asked} have results {given}"
    ids = [call.call_id for calls, _ in batches for call in calls]
    twice = [name for name, times in Counter(ids).items() if times > 1 or not name]
    return f"ids {twice} are not unique" if twice else None


def _batches(items: Sequence[Item]) -> Iterator[tuple[tuple[ToolCall, ...], list[ToolResult]]]:
    """Each turn's calls, and the results right behind it."""
    calls: tuple[ToolCall, ...] = ()
    results: list[ToolResult] = []
    for item in items:
        if isinstance(item, ToolResult):
            results.append(item)
            continue
        if calls or results:
            yield calls, results
        calls, results = (item.calls if isinstance(item, AssistantMessage) else ()), []
    if calls or results:
        yield calls, results


def _within_limits(board: Board) -> str | None:
    limits = board.task.limits
    ran = len({run.call.call_id for run in board.dispatched})
    made = sum(move.kind == "model" for move in board.play) + bool(board.asked)
    steps = board.state.spent.steps
    for name, used, limit in (
        ("tool calls", ran, limits.max_tool_calls),
        ("model calls", made, limits.max_model_calls),
        ("steps", steps, limits.max_steps),
    ):
        if used > limit:
            return f"{used} {name}, of {limit}"
    return None


def _counted(board: Board) -> str | None:
    """Charged is what was played: recorded runs (or runs that may have happened), attempts, refusals."""
    told = board.outcome.counters if board.outcome else counters(board.state)
    results = [one for one in board.state.conversation if isinstance(one, ToolResult)]
    ran = {run.call.call_id for run in board.dispatched} | board.marked
    done = sum(one.call_id in ran and one.reason_code not in _NOT_RUN for one in results)
    refused = sum(one.reason_code == ReasonCode.BUDGET_EXHAUSTED for one in results)
    made = sum(move.kind == "model" for move in board.play)
    for name, seen, charged in (
        ("model calls", made, told.model_calls),
        ("tool calls", done, told.tool_calls),
        ("refused calls", refused, told.refused_calls),
    ):
        if seen != charged:
            return f"{charged} {name} are charged, {seen} were made"
    return None


_NOT_RUN = (ReasonCode.NOT_RUN, ReasonCode.CANCELLED)


def _refused_never_run(board: Board) -> str | None:
    ran = {run.call.call_id for run in board.dispatched}
    results = [one for one in board.state.conversation if isinstance(one, ToolResult)]
    wrong = [one.call_id for one in results if one.reason_code in _WITHOUT_RUN and one.call_id in ran]
    return f"calls {wrong} were answered without a run, and ran" if wrong else None


_WITHOUT_RUN = (
    ReasonCode.BUDGET_EXHAUSTED,
    ReasonCode.DENIED,
    ReasonCode.UNKNOWN,
    ReasonCode.ARGUMENTS_INVALID,
    ReasonCode.ARGUMENTS_TRUNCATED,
)


def _effect_once(board: Board) -> str | None:
    """No call with an effect that must not happen twice is run twice, and none before its mark."""
    toolbox = board.task.toolbox
    times = Counter(run.call.call_id for run in board.dispatched)
    for run in board.dispatched:
        call = run.call
        if toolbox.effect(call.name) is Effect.NON_IDEMPOTENT and times[call.call_id] > 1:
            return f"{call.name} ran {times[call.call_id]} times for call {call.call_id}"
        if toolbox.effect(call.name) is not Effect.READ_ONLY and call.call_id not in board.marked:
            return f"{call.name} ran for call {call.call_id} without its mark"
    return None


def _approved_first(board: Board) -> str | None:
    approved = {move.about for move in board.play if move.kind == "ruling" and move.what}
    for run in board.dispatched:
        tool = board.task.toolbox.get(run.call.name)
        if tool is None or tool.denied or (tool.approval and run.call.call_id not in approved):
            return f"{run.call.name} ran for call {run.call.call_id}, which nobody approved"
    return None


def _below_threshold(board: Board) -> str | None:
    """No identical call of a tool without observations or budgets ran as often as the threshold."""
    times: Counter[str] = Counter()
    toolbox, ran = board.task.toolbox, {run.call.call_id: run.call for run in board.dispatched}
    for call in ran.values():
        tool = toolbox.get(call.name)
        if tool and not (tool.observes or tool.retry_budget or tool.poll_budget):
            times[toolbox.signature(call.name, call.arguments)] += 1
    most = max(times.values(), default=0)
    threshold = board.task.settings.identical_call_threshold
    if most >= threshold:
        return f"one identical call ran {most} times, with a threshold of {threshold}"
    if most == threshold - 1 and board.asked is not None and board.asked.control is None:
        return f"{most} identical calls were made, and the next request is an ordinary one"
    return None


def _synthesis_last(board: Board) -> str | None:
    """Control and tool_choice go together, and no ordinary request follows a synthesis one."""
    modes = [request.control is not None for request, _ in board.requests]
    choices = [request.tool_choice == "none" for request, _ in board.requests]
    if modes != choices:
        return f"controls {modes}, but tool_choice {choices}"
    return None if modes == sorted(modes) else f"an ordinary request follows a synthesis one: {modes}"


def _no_leak(board: Board) -> str | None:
    control = board.asked.control if board.asked else None
    if control is None:
        return None
    texts = [item.text for item in board.state.conversation if isinstance(item, ToolResult)]
    if any(text and text in control.text for text in texts):
        return "the control instruction holds text of a result"
    held = any(control.text in text for text in (board.stored.items if board.stored else ()))
    return "the control instruction entered the conversation" if held else None


def _prefix(board: Board) -> str | None:
    if len(board.requests) < 2:
        return None
    (before, old), (after, new) = board.requests[-2:]
    if (before.system, before.tools) != (after.system, after.tools):
        return "system text or tool definitions changed"
    for place, item in enumerate(old[: len(new)]):
        if item != new[place] and not _elided(item, new[place]):
            return f"item {place} was {item}, and is {new[place]}"
    return None if len(new) >= len(old) or board.kills else "the history shrank"


def _elided(old: Item, new: Item) -> bool:
    if isinstance(old, ToolResult) and isinstance(new, ToolResult):
        return old.call_id == new.call_id and "[elided: " in new.text
    return isinstance(old, AssistantMessage) and isinstance(new, AssistantMessage) and old.calls == new.calls


def _attempts(board: Board) -> str | None:
    """No more attempts of a step (or of a resume of a paused turn) in a row than the setting allows."""
    most = board.task.settings.max_attempts
    return f"attempt {board.state.attempt} of at most {most}" if board.state.attempt > most else None


def _legal(board: Board) -> str | None:
    """The newest request is legal on each wire; a paused turn is one only with parts that its provider made."""
    fresh = board.asked is not None and board.legal_through < len(board.requests)
    if board.asked is None or board.asked.paused is not None or not fresh:
        return None
    for transport in TRANSPORT_IDS:
        payload: Any = json.loads(adapter(transport).render(board.asked, stream=True))
        found = codec(transport).judge(payload)
        if found:
            return f"{transport}: {found[0].rule} at {found[0].pointer}: {found[0].message}"
    board.legal_through = len(board.requests)
    return None


def _one_end(board: Board) -> str | None:
    ends = [one for one in board.finished if one.status is not Status.SUSPENDED]
    told = {(one.status, one.reason, one.message, one.counters, len(one.conversation)) for one in ends}
    if len(told) > 1:
        return f"the run ended in {len(told)} ways"
    if ends and board.busy:
        return "the run ended and still waits for something"
    if ends and ends[0].reason == Reason.INTERNAL_ERROR:
        return f"the machine broke: {ends[0].details}"
    return None if ends or board.busy or board.finished else "the run waits for nothing and has not ended"


def _fatal_is_fatal(board: Board) -> str | None:
    """After a fault that nobody may repeat there is no other attempt."""
    last = board.play[-1] if board.play else None
    if last is None or not isinstance(last.what, ModelFault) or board.asked is None:
        return None
    return f"an attempt follows {last.what}" if last.what.stream_had_output else None


PROMISES: tuple[Promise, ...] = (
    ("loop.context.pure", _pure),
    ("loop.context.pure", _rebuilt),
    ("loop.tools.every-call-answered", _answered),
    ("loop.budget.fit-before-dispatch", _within_limits),
    ("loop.budget.accounting", _counted),
    ("loop.budget.refusal-is-a-result", _refused_never_run),
    ("loop.crash.effect-watermark", _effect_once),
    ("loop.approval.suspend", _approved_first),
    ("loop.breaker.threshold", _below_threshold),
    ("loop.breaker.no-extra-allowance", _synthesis_last),
    ("loop.synthesis.no-leak", _no_leak),
    ("loop.context.prefix-frozen", _prefix),
    ("loop.model.one-owner", _attempts),
    ("loop.model.transient-only", _fatal_is_fatal),
    ("wire.legal", _legal),
    ("loop.budget.hard-stop", _one_end),
)
