"""What happens to a run from outside: decisions about calls, time that passes, a cancel, a kill."""

import pytest

from harness.scenario.clock import SimulatedClock
from harness.scenario.crash import CrashPlan, SimulatedCrash
from harness.scenario.delivered import Delivered
from harness.scenario.format_outside import Crash, Intervention
from harness.scenario.interventions import Action, Interventions, Ruling
from harness.vocabulary.content import AssistantMessage, ToolCall
from harness.vocabulary.request import ModelRequest
from harness.vocabulary.trace import ApprovalAsked, EventEmitted, Intervened, Record, RequestSent, ToolStarted


def given(transport: str = "sim", history: tuple[AssistantMessage, ...] = ()) -> Delivered:
    delivered = Delivered(transport, history)
    delivered.add([ToolCall("call_1", "pay", "{}"), ToolCall("mine", "pay", "{}"), ToolCall("call_3", "read", "{}")])
    return delivered


class Outside:
    """Interventions with what they recorded."""

    def __init__(self, *specs: Intervention, transport: str = "sim") -> None:
        self.records: list[Record] = []
        self.clock = SimulatedClock()
        self.interventions = Interventions(specs, given(transport), self.records.append, self.clock)

    def hear(self, *records: Record) -> str | None:
        for record in records:
            self.interventions.hear(record)
        return self.interventions.cancelled()

    def suspend(self, *waiting: str) -> Action:
        return self.interventions.at_suspension(waiting)


def asked(call: str) -> ApprovalAsked:
    return ApprovalAsked(call_id=call, tool="pay")


def started(call: str, tool: str = "pay") -> ToolStarted:
    return ToolStarted(call_id=call, tool=tool, arguments="{}")


def test_nobody_decides_where_the_scenario_says_nothing() -> None:
    assert Outside().suspend("call_1") == Action()


def test_a_decision_is_for_the_call_that_it_names() -> None:
    approve = Intervention(at="approval_requested", call="mine", do="approve", by="ann")
    deny = Intervention(at="approval_requested", call="call_1", do="deny", reason="too much")
    action = Outside(approve, deny).suspend("call_1", "mine")
    assert action == Action(
        rulings=(Ruling("call_1", False, "too much", ""), Ruling("mine", True, None, "ann")), times=1
    )


def test_a_call_may_be_named_by_its_number_and_its_tool() -> None:
    second = Intervention(at="approval_requested", call="call_2", do="approve")
    assert [ruling.call_id for ruling in Outside(second).suspend("call_1", "mine").rulings] == ["mine"]
    any_pay = Intervention(at="approval_requested", call="pay", do="approve")
    assert [ruling.call_id for ruling in Outside(any_pay).suspend("call_1", "mine").rulings] == ["call_1", "mine"]


def test_on_the_xml_fallback_the_adapter_s_ids_are_understood() -> None:
    second = Intervention(at="approval_requested", call="mine", do="approve")
    assert [ruling.call_id for ruling in Outside(second, transport="xml-fallback").suspend("x1", "x2").rulings] == [
        "x2"
    ]


def test_ids_of_the_xml_fallback_count_the_calls_of_the_history() -> None:
    earlier = AssistantMessage((ToolCall("old", "read", "{}"),))
    assert given("xml-fallback", (earlier,)).fits("x2", None, "call_1")


def test_a_decision_may_be_for_one_time_only() -> None:
    outside = Outside(Intervention(at="approval_requested", nth=2, do="approve"))
    assert outside.suspend("call_1").rulings == ()
    assert len(outside.suspend("call_1").rulings) == 1


def test_each_decision_counts_its_own_occasions() -> None:
    """The second request for `pay` is approved and the third denied, whoever decides the first."""
    outside = Outside(
        Intervention(at="approval_requested", call="pay", nth=1, do="deny"),
        Intervention(at="approval_requested", call="pay", nth=2, do="approve"),
    )
    rulings = outside.suspend("call_1", "mine").rulings
    assert [(one.call_id, one.approve) for one in rulings] == [("call_1", False), ("mine", True)]


def test_an_expired_request_is_a_denial_with_that_reason() -> None:
    (ruling,) = Outside(Intervention(at="approval_requested", do="expire")).suspend("call_1").rulings
    assert (ruling.approve, ruling.reason) == (False, "expired")


def test_a_run_may_be_resumed_twice_with_the_same_decisions() -> None:
    approve = Intervention(at="approval_requested", do="approve")
    outside = Outside(approve, Intervention(at="run.suspended", do="resume_twice"))
    action = outside.suspend("call_1")
    assert (action.times, len(action.rulings)) == (2, 1)
    assert [one.do for one in outside.records if isinstance(one, Intervened)] == ["approve", "resume_twice"]


def test_a_bare_resume_decides_nothing() -> None:
    assert Outside(Intervention(at="run.suspended", do="resume")).suspend("call_1") == Action(times=1)


@pytest.mark.parametrize(
    ("spec", "quiet", "due"),
    [
        (Intervention(at="tool_started", call="call_3", do="cancel"), started("call_1"), started("call_3", "read")),
        (Intervention(at="tool_started", call="read", do="cancel"), started("call_1"), started("z9", "read")),
        (Intervention(at="tool_started", nth=2, do="cancel"), started("call_1"), started("call_1")),
        (
            Intervention(at="step.started", do="cancel"),
            EventEmitted(name="run.started"),
            EventEmitted(name="step.started", fields={"step": 1}),
        ),
        (Intervention(at="approval_requested", do="cancel"), started("call_1"), asked("call_1")),
    ],
)
def test_a_cancel_comes_at_its_moment_and_not_before(spec: Intervention, quiet: Record, due: Record) -> None:
    outside = Outside(spec)
    assert outside.hear(quiet) is None
    assert outside.hear(due) == "cancelled by the scenario"


def test_a_cancel_at_a_suspension_ends_the_suspended_run() -> None:
    outside = Outside(Intervention(at="run.suspended", do="cancel", reason="gone home"))
    outside.hear(EventEmitted(name="run.suspended", fields={"waiting_for": ["call_1"]}))
    assert outside.suspend("call_1") == Action(cancel="gone home")


def test_time_passes_at_its_moment() -> None:
    outside = Outside(Intervention(at="request_sent", nth=2, do="advance_clock", by=30))
    request = ModelRequest(model="m", system="", tools=(), items=())
    outside.hear(RequestSent(n=1, request=request))
    assert outside.clock.now() == 0.0
    outside.hear(RequestSent(n=2, request=request))
    assert outside.clock.now() == 30.0


def test_a_clock_never_goes_back() -> None:
    clock = SimulatedClock(5.0)
    clock.reach(3.0)
    assert clock.now() == 5.0
    with pytest.raises(ValueError, match="does not go back"):
        clock.advance(-1.0)


EFFECTS = [("emit", "run.started"), ("write_checkpoint", "tool_pending"), ("run_tool", "call_1"), ("run_tool", "mine")]


@pytest.mark.parametrize(
    ("spec", "dies_at"),
    [
        (Crash(after="emit"), 1),
        (Crash(after="write_checkpoint", call="tool_pending"), 2),
        (Crash(after="run_tool", nth=2), 4),
        (Crash(after="run_tool", call="call_2"), 4),
        (Crash(after="run_tool", call="pay"), 3),
        (Crash(after="wait"), None),
    ],
)
def test_a_run_is_killed_once_after_the_effect_that_is_named(spec: Crash, dies_at: int | None) -> None:
    plan, died = CrashPlan(spec, given()), []
    for _ in range(2):
        for effect, about in EFFECTS:
            try:
                plan.performed(effect, about)
            except SimulatedCrash:
                died.append(plan.effects)
    assert died == ([] if dies_at is None else [dies_at])


def test_a_kill_is_no_exception_that_a_subject_may_catch_by_accident() -> None:
    assert not issubclass(SimulatedCrash, Exception)
