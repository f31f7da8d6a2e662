"""Properties of the loop over generated runs: whatever models, tools and people do, the budgets hold, every call is
answered once and in order, the history only grows, and each request is legal on every wire.

What is expected is counted here from the trace, by the words of the rules; the last property asks the judges.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from harness.checks.registry import judge
from harness.checks.requirements import load_requirements
from harness.contract.generated_runs import GeneratedRun, Move, Surroundings, limits, moves, surroundings
from harness.data_root import data_root
from harness.transports.registry import TRANSPORT_IDS, adapter
from harness.vocabulary.content import AssistantMessage, Item, ToolResult
from harness.vocabulary.control import ReasonCode
from harness.vocabulary.outcome import Reason, RunOutcome, Status
from harness.vocabulary.settings import RunLimits, RunSettings
from harness.vocabulary.tools import OutcomeClass
from harness.vocabulary.trace import Intervened, RequestSent
from harness.vocabulary.turn import ModelFault, ModelTurn
from harness.vocabulary.verdict import VerdictName
from harness.wire.codec import Circumstances
from harness.wire.registry import codec

REQUIREMENTS = load_requirements(data_root() / "contracts" / "requirements")
runs = st.builds(GeneratedRun, moves, surroundings, limits())
CENT = Decimal("0.01")


def cost(replies: Sequence[ModelTurn | ModelFault]) -> Decimal:
    """By the price of the runs: one cent a token in, two a token out."""
    return sum(
        (CENT * ((one.usage.input_tokens or 0) + 2 * (one.usage.output_tokens or 0)) for one in replies), CENT * 0
    )


def turns_with_calls(replies: Sequence[ModelTurn | ModelFault]) -> int:
    return sum(isinstance(one, ModelTurn) and bool(one.message.calls) for one in replies)


def tools_before(run: GeneratedRun, request: RequestSent) -> int:
    place = run.trace.index(request)
    return sum(one in run.started for one in run.trace[:place])


def results(outcome: RunOutcome) -> list[ToolResult]:
    return [item for item in outcome.conversation if isinstance(item, ToolResult)]


@given(runs)
def test_a_run_ends_within_its_limits(run: GeneratedRun) -> None:
    """loop.budget.fit-before-dispatch, loop.budget.hard-stop: on every axis, and nothing begins behind the deadline."""
    outcome, bounds = run.play(), run.bounds
    assert outcome.status in (Status.COMPLETED, Status.FAILED, Status.CANCELLED)
    assert outcome.reason != Reason.INTERNAL_ERROR
    assert len(run.started) <= bounds.max_tool_calls
    assert len(run.requests) <= bounds.max_model_calls
    assert outcome.counters.steps <= bounds.max_steps
    for n, request in enumerate(run.requests):
        assert bounds.max_cost is None or cost(run.replies[:n]) < bounds.max_cost
        assert bounds.deadline is None or request.at < bounds.deadline
    assert bounds.deadline is None or all(one.at < bounds.deadline for one in run.started if one.tool != "read")


@given(runs)
def test_the_counters_are_what_the_trace_shows(run: GeneratedRun) -> None:
    """loop.budget.accounting, loop.budget.attempts-count, loop.budget.cost."""
    outcome = run.play()
    counters, replies = outcome.counters, run.replies
    assert counters.model_calls == len(run.requests) == len(replies)
    assert counters.tool_calls == len(run.started)
    assert counters.refused_calls == sum(one.reason_code == ReasonCode.BUDGET_EXHAUSTED for one in results(outcome))
    assert counters.steps == turns_with_calls(replies) + (outcome.status is Status.COMPLETED)
    assert counters.cost == cost(replies)
    reported = [one.usage.input_tokens for one in replies if one.usage.input_tokens is not None]
    assert outcome.usage.input_tokens == (sum(reported) if reported else None)
    assert outcome.effects == Counter(one.tool for one in run.started if one.tool != "read")


@given(runs)
def test_every_call_is_answered_once_and_in_order(run: GeneratedRun) -> None:
    """loop.tools.every-call-answered, loop.tools.ids: in every outcome, whatever ended the run, and in each request."""
    outcome = run.play()
    for items in (outcome.conversation, *(one.request.items for one in run.requests)):
        answered(list(items))
    asked = sum(len(one.message.calls) for one in run.replies if isinstance(one, ModelTurn))
    assert len(results(outcome)) == asked


def answered(items: list[Item]) -> None:
    place, seen = 0, set[str]()
    while place < len(items):
        item = items[place]
        assert not isinstance(item, ToolResult), "a result without its call"
        calls = item.calls if isinstance(item, AssistantMessage) else ()
        following = items[place + 1 : place + 1 + len(calls)]
        assert [getattr(one, "call_id", None) for one in following] == [call.call_id for call in calls]
        assert not seen & {call.call_id for call in calls}
        seen |= {call.call_id for call in calls}
        place += 1 + len(calls)


@given(runs)
def test_only_calls_that_ran_have_a_result_of_their_own(run: GeneratedRun) -> None:
    """loop.budget.refusal-is-a-result, loop.approval.once: nothing runs twice, nothing refused or denied runs."""
    outcome = run.play()
    ran = Counter(one.call_id for one in run.started)
    assert set(ran.values()) <= {1}
    own = {None, ReasonCode.FAILED, ReasonCode.TIMED_OUT, ReasonCode.OUTCOME_UNKNOWN}
    assert {one.call_id for one in results(outcome) if one.reason_code in own} == set(ran)


@given(runs)
def test_the_first_calls_that_fit_are_dispatched(run: GeneratedRun) -> None:
    """loop.budget.fit-before-dispatch: behind a refused call of a batch no other call runs."""
    outcome = run.play()
    ran, refused = {one.call_id for one in run.started}, False
    for item in outcome.conversation:
        refused = refused and not isinstance(item, AssistantMessage)
        if isinstance(item, ToolResult):
            assert not (refused and item.call_id in ran)
            refused = refused or item.reason_code == ReasonCode.BUDGET_EXHAUSTED


@given(runs)
def test_the_history_only_grows_and_the_prefix_is_frozen(run: GeneratedRun) -> None:
    """loop.context.prefix-frozen; a run this small elides nothing."""
    run.play()
    requests = [one.request for one in run.requests]
    for before, after in pairwise(requests):
        assert after.items[: len(before.items)] == before.items
        assert (after.system, after.tools) == (before.system, before.tools)


@given(runs)
def test_each_request_is_legal_on_every_wire(run: GeneratedRun) -> None:
    """wire.legal: whatever the model did, nothing is sent that a provider would refuse."""
    run.play()
    for request in [one.request for one in run.requests]:
        resuming = Circumstances(resuming=request.paused is not None)
        for transport in TRANSPORT_IDS:
            payload = json.loads(adapter(transport).render(request, stream=True))
            assert codec(transport).judge(payload, resuming) == []


@given(runs)
def test_on_each_wire_a_payload_goes_on_from_the_one_before(run: GeneratedRun) -> None:
    """loop.context.prefix-frozen on the wire: but for the control and a paused turn, which come and go."""
    run.play()
    lasting = [replace(one.request, control=None, tool_choice=None, paused=None) for one in run.requests]
    for transport in TRANSPORT_IDS:
        sent = [json.loads(adapter(transport).render(request, stream=True)) for request in lasting]
        for before, after in pairwise(sent):
            assert extends(before, after), transport


def extends(before: dict[str, Any], after: dict[str, Any]) -> bool:
    growing = "input" if "input" in before else "messages"
    same = {key: value for key, value in before.items() if key != growing}
    return same == {key: value for key, value in after.items() if key != growing} and (
        after[growing][: len(before[growing])] == before[growing]
    )


def due(run: GeneratedRun, n: int) -> str | None:
    """The budget control of the `n`th request, from what was charged before it (loop.budget.reserve-is-synthesis)."""
    bounds, replies = run.bounds, run.replies[:n]
    tools = tools_before(run, run.requests[n])
    left = {
        "steps": bounds.max_steps - turns_with_calls(replies),
        "model_calls": bounds.max_model_calls - n,
        "tool_calls": bounds.max_tool_calls - tools,
        "cost": None if bounds.max_cost is None else bounds.max_cost - cost(replies),
    }
    if tools >= bounds.max_tool_calls:
        return "tool_calls"
    reserves = {name: bounds.reserve(name) for name in left}
    low = [name for name, rest in left.items() if rest is not None and reserves[name] and rest <= reserves[name]]
    return low[0] if low else None


@given(runs)
def test_a_control_is_named_for_the_first_dimension_that_is_low(run: GeneratedRun) -> None:
    """loop.budget.reserve-is-synthesis, loop.breaker.overlap: this control when it is due, no other budget's."""
    run.play()
    for n, sent in enumerate(run.requests):
        control = sent.request.control.name if sent.request.control else None
        assert control == due(run, n) or (due(run, n) is None and control == "repeated_tool_calls")
        assert sent.request.tool_choice == ("none" if control else None)


@given(runs)
def test_no_ordinary_request_follows_a_synthesis_one(run: GeneratedRun) -> None:
    """loop.breaker.no-extra-allowance, loop.budget.reserve-violation: a call that comes back ends the run unheard."""
    run.play()
    modes = [one.request.tool_choice for one in run.requests]
    assert modes == sorted(modes, key=lambda mode: mode is not None)
    if "none" in modes:
        place = run.trace.index(run.requests[modes.index("none")])
        assert not any(one in run.started for one in run.trace[place:])


PAY = ("pay", '{"n":1}')


@given(moves, surroundings, st.integers(1, 6), st.integers(2, 6))
def test_no_signature_runs_as_often_as_the_threshold(
    made: list[Move], around: Surroundings, times: int, threshold: int
) -> None:
    """loop.breaker.hard-limit-before-dispatch, for a tool that is no observation: nothing restarts its count."""
    bounds = RunLimits(max_steps=20, max_model_calls=20, max_tool_calls=60)
    settings = RunSettings(identical_call_threshold=threshold)
    run = GeneratedRun([(PAY,) * times, *made], around._replace(stop=None), bounds, settings)
    outcome = run.play()
    paid = sum(one.tool == "pay" and json.loads(one.arguments) == {"n": 1} for one in run.started if one.arguments)
    assert paid < threshold
    if times >= threshold:
        assert (paid, outcome.reason) == (0, Reason.TOOL_LOOP_DETECTED)


@given(runs)
def test_nothing_begins_when_somebody_has_cancelled(run: GeneratedRun) -> None:
    """loop.cancel.points: but for the other calls of a group that was under way."""
    run.play()
    stop = next((n for n, one in enumerate(run.trace) if isinstance(one, Intervened) and one.do == "cancel"), None)
    later = [] if stop is None else run.trace[stop:]
    assert not any(isinstance(one, RequestSent) for one in later)
    assert not any(one in run.started and one.tool != "read" for one in later)


@given(runs)
def test_two_runs_of_one_world_are_equal(run: GeneratedRun) -> None:
    """The machine holds no clock and no randomness."""
    again = GeneratedRun(run.moves, run.around, run.bounds)
    one, other = run.play(), again.play()
    assert list(one.conversation) == list(other.conversation)
    assert replace(one, conversation=()) == replace(other, conversation=())


ROOMY = RunLimits(max_steps=9, max_model_calls=9, max_tool_calls=8)
ASK, READ = ("ask", '{"n":1}'), ("read", '{"n":1}')


@given(runs)
@example(GeneratedRun([(ASK, ASK)], Surroundings(people=(True, None)), ROOMY))
@example(GeneratedRun([(READ, READ)], Surroundings(outcomes=(OutcomeClass.UNCERTAIN,)), ROOMY))
def test_no_judge_finds_a_broken_promise(run: GeneratedRun) -> None:
    """Every check of the requirements, over whatever happened."""
    run.play()
    found = judge(run.trace, proves=(), requirements=REQUIREMENTS)
    assert [one for one in found if one.verdict is VerdictName.FAIL] == []
