"""Checkers of loop.md section 5: prefixes, pure building, elision, excerpts, overflow."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from harness.checks.history import Mirror, compare
from harness.vocabulary.content import AssistantMessage, Item, SystemMessage, Text, ToolCall, UserMessage
from harness.vocabulary.outcome import Status
from harness.vocabulary.tools import ToolDefinition
from harness.vocabulary.turn import StopReason
from harness.vocabulary.verdict import VerdictName

Run = Callable[..., Any]
FROZEN = "loop.context.prefix-frozen"
PURE = "loop.context.pure"
SURROGATES = "loop.context.well-formed-text"


# --- prefix-frozen ---


def test_requests_that_extend_each_other_pass(run: Run) -> None:
    assert run().step(("fetch", {"u": 1})).step(("list", {})).answer().verdict(FROZEN) is VerdictName.PASS


def test_one_request_is_no_occasion(run: Run) -> None:
    assert run().answer().verdict(FROZEN) is VerdictName.UNTESTABLE


def test_another_system_text_fails(run: Run) -> None:
    found = run().step(("fetch", {})).request(system="Be brief.").reply(say="D").end().findings(FROZEN)[0]
    assert (found.verdict, found.request, found.pointer) == (VerdictName.FAIL, 2, "/system")


@pytest.mark.parametrize("change", ["dropped", "order", "keys", "description"])
def test_other_tools_fail(run: Run, tool: Any, change: str) -> None:
    schema = {"type": "object", "required": []}
    trace = run(tools=[tool("fetch", schema), tool("list")]).step(("fetch", {}))
    fetch, other = (one.definition for one in trace.tools)
    tools = {
        "dropped": (fetch,),
        "order": (other, fetch),
        "keys": (replace(fetch, parameters={"required": [], "type": "object"}), other),
        "description": (replace(fetch, description="Fetch."), other),
    }[change]
    assert trace.request(tools=tools).reply(say="D").end().findings(FROZEN)[0].pointer == "/tools"


def test_equal_tools_in_other_objects_pass(run: Run) -> None:
    trace = run().step(("fetch", {}))
    copies = tuple(
        ToolDefinition(name=one.name, description=one.name, parameters={"type": "object"}) for one in trace.tools
    )
    assert trace.request(tools=copies).reply(say="D").end().verdict(FROZEN) is VerdictName.PASS


def test_a_rewritten_item_fails(run: Run) -> None:
    trace = run().step(("fetch", {"u": 1}))
    trace.items[0] = UserMessage((Text("Audit!"),))
    assert "another: UserMessage 'Audit!'" in trace.answer().failure(FROZEN)


def test_a_missing_item_fails(run: Run) -> None:
    trace = run().step(("fetch", {"u": 1})).step(("fetch", {"u": 2}))
    assert trace.request(items=trace.items[:2]).reply(say="D").end().verdict(FROZEN) is VerdictName.FAIL


def test_an_item_that_nobody_said_fails(run: Run) -> None:
    trace = run().step(("fetch", {"u": 1}))
    trace.items.append(SystemMessage("By the way."))
    assert "only the turn and its results are new; actual also SystemMessage" in trace.answer().failure(FROZEN)


def test_a_failed_attempt_adds_nothing(run: Run) -> None:
    trace = run().request().fault()
    trace.items.append(SystemMessage("Try again."))
    assert "adds nothing to the history" in trace.answer().failure(FROZEN)


@pytest.mark.parametrize("transport", ["sim", "openai-chat", "anthropic-messages"])
def test_a_misquoted_turn_fails(run: Run, transport: str) -> None:
    def quoted(*parts: Any) -> Any:
        trace = run(transport=transport).request()
        trace.reply(trace.call("fetch", '{"a": 1, "b": 2}'), say="Looking.").execute()
        return trace.join(said=AssistantMessage(parts)).answer()

    assert quoted(Text("Looking."), ToolCall("c1", "fetch", '{"b":2,"a":1.0}')).verdict(FROZEN) is VerdictName.PASS
    assert "stands there as fetch" in quoted(Text("Looking."), ToolCall("c1", "fetch", '{"a":1}')).failure(FROZEN)
    assert "stands there as list" in quoted(Text("Looking."), ToolCall("c1", "list", '{"a":1,"b":2}')).failure(FROZEN)
    assert "its text stands there as ''" in quoted(ToolCall("c1", "fetch", '{"a":1,"b":2}')).failure(FROZEN)
    assert "0 of its 1 calls stand there" in quoted(Text("Looking.")).failure(FROZEN)


def test_a_wire_may_drop_blank_text(run: Run) -> None:
    trace = run(transport="anthropic-messages").request()
    trace.reply(trace.call("fetch"), say=" \n").execute().join(said=AssistantMessage(trace.calls))
    assert trace.answer().verdict(FROZEN) is VerdictName.PASS


@pytest.mark.parametrize(
    ("name", "stored", "verdict"),
    [
        ("bank.transfer!", "invalid_name_1", VerdictName.PASS),
        ("", "nameless", VerdictName.PASS),
        ("n" * 65, "invalid_name_1", VerdictName.PASS),
        ("bank.transfer!", "fetch", VerdictName.FAIL),
        ("transfer", "invalid_name_1", VerdictName.FAIL),
    ],
)
def test_a_name_that_no_wire_takes_may_be_replaced_but_not_by_that_of_a_tool(
    run: Run, name: str, stored: str, verdict: VerdictName
) -> None:
    trace = run(transport="openai-chat").request()
    call = trace.call(name, "{}")
    trace.reply(call).error(call, "[tool.unknown]\nNo such tool.").join(
        said=AssistantMessage((replace(call, name=stored),))
    )
    assert trace.answer().verdict(FROZEN) is verdict


def test_undecodable_arguments_may_be_replayed_as_an_empty_object(run: Run) -> None:
    trace = run().request()
    call = trace.call("fetch", '{"a":')
    trace.reply(call).error(call, "[tool.arguments_invalid]\nNot JSON.").join(
        said=AssistantMessage((replace(call, arguments="{}"),))
    )
    assert trace.answer().verdict(FROZEN) is VerdictName.PASS


def test_ids_may_be_rewritten(run: Run) -> None:
    trace = run().request()
    trace.reply(trace.call("fetch", {"u": 1}, ""), trace.call("fetch", {"u": 2}, ""))
    made = [ToolCall(f"made-{n}", "fetch", call.arguments) for n, call in enumerate(trace.calls)]
    trace.execute(*made)
    trace.items.extend([AssistantMessage(tuple(made)), *trace.results.values()])
    assert trace.answer().verdict(FROZEN) is VerdictName.PASS
    assert trace.verdict("loop.tools.every-call-answered") is VerdictName.PASS
    assert trace.verdict("loop.budget.accounting") is VerdictName.PASS


def test_the_xml_fallback_may_lose_white_space(run: Run) -> None:
    trace = run(transport="xml-fallback").request()
    call = trace.call("fetch", {"u": 1}, "script-id")
    trace.reply(call, say="Looking.\n\n").execute(ToolCall("x1", "fetch", call.arguments))
    trace.items.extend([AssistantMessage((Text("Looking."), ToolCall("x1", "fetch", '{"u":1}'))), trace.results["x1"]])
    trace.answer()
    assert trace.verdict(FROZEN) is VerdictName.PASS
    assert trace.verdict("loop.budget.accounting") is VerdictName.PASS


def test_a_resumed_pause_joins_as_one_turn(run: Run) -> None:
    trace = run().request().reply(say="First, ", stop=StopReason.PAUSE)
    trace.request(paused=trace.turn.message).reply(trace.call("fetch"), say="then.").execute()
    trace.join(said=AssistantMessage((Text("First, "), Text("then."), *trace.calls)))
    assert trace.answer().verdict(FROZEN) is VerdictName.PASS


class Log(Sequence[Item]):
    """A view of a shared log that vouches for its prefix, truly or not."""

    def __init__(self, log: list[Item], length: int, honest: bool = True) -> None:
        self.log, self.length, self.walked = log, length, 0
        self.honest = honest

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, place: Any) -> Any:
        self.walked += 1
        if place >= self.length:
            raise IndexError(place)
        return self.log[place]

    def same_prefix(self, earlier: "Log") -> bool:
        return not self.honest or self.log is earlier.log


def said(text: str) -> Item:
    return UserMessage((Text(text),))


def test_a_vouched_prefix_is_not_walked() -> None:
    log = [said(str(place)) for place in range(1000)]
    before, after = Log(log, 998), Log(log, 1000)
    assert compare(before, after).grown == (log[998], log[999])
    assert after.walked < 5


def test_a_view_is_held_to_its_word() -> None:
    log, forged = [said(str(place)) for place in range(6)], [said(str(place)) for place in range(6)]
    forged[1], forged[3] = said("forged"), log[3]
    mirror = Mirror()
    views = [Log(log, 2), Log(log, 4), Log(forged, 6, honest=False)]
    last: Sequence[Item] = ()
    for view in views:
        mirror.follow(last, view, compare(last, view))
        last = view
    assert mirror.differences(last) == (1,)


# --- pure ---


def test_a_retry_sends_the_same_bytes(run: Run) -> None:
    trace = run().request(payload=b'{"a":1}').fault().request(payload=b'{"a":1}').reply(say="D").end()
    assert trace.verdict(PURE) is VerdictName.PASS
    trace = run().request(payload=b'{"a":1}').fault().request(payload=b'{"a":2}').reply(say="D").end()
    assert "they differ from byte 5 on" in trace.failure(PURE)


def test_a_retry_without_a_wire_builds_the_same_request(run: Run) -> None:
    assert run().request().fault().answer().verdict(PURE) is VerdictName.PASS
    assert "another request" in run().request().fault().request(max_output_tokens=9).reply(say="D").end().failure(PURE)


def test_a_resume_after_a_crash_builds_the_same_request(run: Run) -> None:
    trace = (
        run().request(payload=b"1").intervene("crash").intervene("resume").request(payload=b"1").reply(say="D").end()
    )
    assert trace.verdict(PURE) is VerdictName.PASS


def test_another_control_is_another_state(run: Run) -> None:
    trace = run(limits={"max_model_calls": 2, "synthesis_reserve_model_calls": 1}).request(payload=b"1").fault()
    assert trace.request("model_calls", payload=b"2").reply(say="D").end().verdict(PURE) is VerdictName.UNTESTABLE


# --- well-formed-text ---


def test_lone_surrogates_are_replaced(run: Run) -> None:
    def told(shown: str) -> Any:
        trace = run().request()
        trace.reply(trace.call("fetch")).execute(text="bad \ud800 text").join()
        trace.items[2] = replace(trace.items[2], content=(Text(shown),))
        return trace.answer()

    assert told("bad \ufffd text").verdict(SURROGATES) is VerdictName.PASS
    assert "the surrogate itself" in told("bad \ud800 text").failure(SURROGATES)


def test_a_surrogate_in_the_answer_fails(run: Run) -> None:
    assert "in the answer" in run().request().reply(say="\udfff").end(message="\udfff").failure(SURROGATES)


def test_a_surrogate_of_the_user_is_an_occasion(run: Run) -> None:
    trace = run(user="\ud800")
    trace.items[0] = UserMessage((Text("\ufffd"),))
    assert trace.answer().verdict(SURROGATES) is VerdictName.PASS


def test_a_suspended_run_is_read_too(run: Run) -> None:
    trace = run().step(("fetch", {})).end(Status.SUSPENDED).intervene("resume")
    assert trace.answer().verdict(FROZEN) is VerdictName.PASS


def test_a_long_run_is_read_once(run: Run) -> None:
    """Each request of a shared log costs a few reads, however long the run is."""
    trace = run(limits={"max_steps": 500, "max_model_calls": 500, "max_tool_calls": 500})
    views: list[Log] = []

    def share() -> Log:
        views.append(Log(trace.items, len(trace.items)))
        return views[-1]

    for place in range(300):
        trace.request().reply(trace.call("fetch", {"u": place})).execute(text=f"page {place}").join()
        trace.trace[-4] = replace_items(trace.trace[-4], Log(trace.items, len(trace.items) - 2))
        views.append(trace.trace[-4].request.items)
        trace.checkpoint("tool_call")
        trace.trace[-1] = replace(trace.trace[-1], conversation=share())
    trace.answer()
    trace.trace[-3] = replace_items(trace.trace[-3], share())
    assert trace.verdict(FROZEN) is VerdictName.PASS
    once = 302 + len(trace.items)  # one look at each request's last old item, and each item as it is new
    last = views[-1].walked  # the last request is walked whole, to hold the views to their word
    assert once < sum(view.walked for view in views) - last < 12 * once


def replace_items(record: Any, items: Log) -> Any:
    return replace(record, request=replace(record.request, items=items))
