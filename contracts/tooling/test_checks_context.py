"""Checkers of loop.md section 5: prefixes, pure building, elision, excerpts, overflow."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from harness.checks.history import Mirror, compare
from harness.vocabulary.content import AssistantMessage, Item, Opaque, Text, ToolCall, ToolResult, UserMessage
from harness.vocabulary.outcome import Status
from harness.vocabulary.tools import OutcomeClass, ToolDefinition
from harness.vocabulary.turn import FaultKind, StopReason
from harness.vocabulary.verdict import VerdictName

Run = Callable[..., Any]
FROZEN = "loop.context.prefix-frozen"
PURE = "loop.context.pure"
ELIDE = "loop.context.elide-oldest"
EXCERPT = "loop.context.excerpt"
VIEW = "loop.context.view-only"
REFETCH = "loop.context.refetch-counts"
OVERFLOW = "loop.context.overflow"
SURROGATES = "loop.context.well-formed-text"
BIG = "x" * 4_000


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


def test_an_item_that_nobody_said_fails(run: Run, platform: Any) -> None:
    trace = run().step(("fetch", {"u": 1}))
    trace.items.append(platform("By the way."))
    assert "only the turn and its results are new; actual also SystemMessage" in trace.answer().failure(FROZEN)


def test_a_failed_attempt_adds_nothing(run: Run, platform: Any) -> None:
    trace = run().request().fault()
    trace.items.append(platform("Try again."))
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


# --- elide-oldest, refetch-counts, view-only, overflow ---


def pointer(result: ToolResult, text: str | None = None) -> ToolResult:
    digest = hashlib.sha256(result.text.encode()).hexdigest()[:16]
    words = f"[elided: {result.tool} {result.call_id}, {len(result.text.encode())} bytes, sha256 {digest}]"
    return replace(result, content=(Text(words if text is None else text),))


def full(run: Run, steps: int = 2, budget: int = 1_500, **more: Any) -> Any:
    """Steps with results of 1,000 tokens each, and room for one of them."""
    trace = run(settings={"context_budget_tokens": budget, **more.pop("settings", {})}, **more)
    trace.whole = []
    for place in range(steps):
        trace.request(items=view(trace)).reply(trace.call("fetch", {"u": place})).execute(text=f"{place}{BIG}").join()
    return trace


def view(trace: Any, keep: int = 1) -> list[Item]:
    """The history with all but the last results elided."""
    places = [place for place, one in enumerate(trace.items) if isinstance(one, ToolResult)]
    old = set(places[: len(places) - keep])
    return [pointer(one) if place in old else one for place, one in enumerate(trace.items)]


def finish(trace: Any, items: list[Item], mode: str | None = None) -> Any:
    return trace.request(mode, items=items).reply(say="Done.").checkpoint("final").end()


def test_the_oldest_seen_result_becomes_a_pointer(run: Run) -> None:
    trace = full(run)
    finish(trace, view(trace))
    for rule in (ELIDE, FROZEN, VIEW):
        assert trace.verdict(rule) is VerdictName.PASS


def test_what_was_elided_stays_elided(run: Run) -> None:
    trace = full(run, 3)
    items = view(trace)
    items[2] = trace.items[2]
    assert "what was elided stays elided" in finish(trace, items).failure(ELIDE)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[elided: c1, 4001 bytes, sha256 {sha}]", "the pointer names fetch"),
        ("[elided: fetch c1, 4000 bytes, sha256 {sha}]", "4001 bytes and a sha256 prefix"),
        ("[elided: fetch c1, 4001 bytes, sha256 0123456789abcdef]", "4001 bytes and a sha256 prefix"),
    ],
)
def test_a_pointer_that_does_not_tell_what_it_stands_for_fails(run: Run, text: str, says: str) -> None:
    trace = full(run)
    items = view(trace)
    sha = hashlib.sha256(trace.items[2].text.encode()).hexdigest()[:16]
    items[2] = pointer(trace.items[2], text.format(sha=sha))
    assert says in finish(trace, items).failure(ELIDE)


def test_eliding_a_newer_result_first_fails(run: Run) -> None:
    trace = run(settings={"context_budget_tokens": 2_500})
    for place in range(3):
        trace.step(("fetch", {"u": place}), text=f"{place}{BIG}")
    items = [*trace.items[:4], pointer(trace.items[4]), *trace.items[5:]]
    assert "the result at /items/2 is elided first" in finish(trace, items).failure(ELIDE)


def test_eliding_an_unseen_result_fails(run: Run) -> None:
    trace = full(run)
    assert "is whole when the model first sees it; actual it is a pointer" in finish(
        trace, view(trace, keep=0)
    ).failure(ELIDE)


def test_needless_elision_fails(run: Run) -> None:
    trace = run()
    for place in range(2):
        trace.step(("fetch", {"u": place}), text=f"{place}{BIG}")
    assert "no elision: the request is within 100000 tokens" in finish(trace, view(trace)).failure(ELIDE)


def test_an_old_result_left_whole_over_the_budget_fails(run: Run) -> None:
    trace = full(run)
    finish(trace, trace.items)
    assert "results seen before are elided" in trace.failure(ELIDE)
    assert "no request over 1500 tokens" in trace.failure(OVERFLOW)


def test_reasoning_may_go_with_an_elided_result(run: Run) -> None:
    trace = run(settings={"context_budget_tokens": 1_500})
    thought = Opaque("anthropic-messages", {"type": "thinking"})
    for place in range(2):
        trace.request(items=view(trace)).reply(trace.call("fetch", {"u": place})).execute(text=f"{place}{BIG}")
        trace.join(said=AssistantMessage((thought, *trace.calls)))
    items = view(trace)
    items[1] = AssistantMessage(items[1].calls)  # type: ignore[union-attr]
    assert finish(trace, items).verdict(FROZEN) is VerdictName.PASS
    items[2] = trace.items[2]
    assert "another: AssistantMessage" in replay_last(trace, items).failure(FROZEN)


def replay_last(trace: Any, items: list[Item]) -> Any:
    """The same run with another last request."""
    del trace.trace[-4:]
    trace.n -= 1
    return finish(trace, items)


def test_a_checkpoint_of_the_view_fails(run: Run) -> None:
    trace = full(run)
    items = view(trace)
    trace.request(items=items).reply(say="Done.").checkpoint("final", items=items).end()
    assert "checkpoint final holds the whole result of call 1 (fetch, c1)" in trace.failure(VIEW)


def test_an_outcome_of_the_view_fails(run: Run) -> None:
    trace = full(run)
    items = view(trace)
    trace.request(items=items).reply(say="Done.").end(conversation=items)
    assert "the outcome holds the whole result" in trace.failure(VIEW)


def test_a_run_without_shortening_is_no_occasion_of_views(run: Run) -> None:
    assert run().step(("fetch", {})).answer().verdict(VIEW) is VerdictName.UNTESTABLE


def refetched(run: Run, mode: str | None) -> Any:
    trace = run(settings={"context_budget_tokens": 1_500, "identical_call_threshold": 3})
    for url in (1, 2, 1):
        trace.request(items=view(trace)).reply(trace.call("fetch", {"u": url})).execute(text=f"{url}{BIG}").join()
    return finish(trace, view(trace), mode)


def test_reading_an_elided_source_again_counts(run: Run) -> None:
    assert refetched(run, "repeated_tool_calls").verdict(REFETCH) is VerdictName.PASS
    assert "actual no control" in refetched(run, None).failure(REFETCH)


def test_a_repeat_without_elision_is_no_refetch(run: Run) -> None:
    trace = run(settings={"identical_call_threshold": 3}).step(("fetch", {})).step(("fetch", {}))
    assert trace.answer(mode="repeated_tool_calls").verdict(REFETCH) is VerdictName.UNTESTABLE


def test_what_cannot_fit_fails_the_run(run: Run) -> None:
    trace = run(settings={"context_budget_tokens": 500}).step(("fetch", {}), text=BIG)
    assert trace.fail("context_overflow", "ContextOverflow").verdict(OVERFLOW) is VerdictName.PASS


def test_an_overflow_of_what_fits_fails(run: Run) -> None:
    trace = run().step(("fetch", {}), text=BIG).fail("context_overflow", "ContextOverflow")
    assert "the next request fits" in trace.failure(OVERFLOW)


def too_long(run: Run) -> Any:
    trace = run()
    for place in range(2):
        trace.step(("fetch", {"u": place}), text=f"{place}{BIG}")
    return trace.request().fault(FaultKind.CONTEXT_LENGTH, status=400)


def test_a_provider_limit_leads_to_one_rebuild(run: Run) -> None:
    trace = too_long(run)
    assert finish(trace, view(trace)).verdict(OVERFLOW) is VerdictName.PASS
    assert trace.verdict(ELIDE) is VerdictName.PASS


def test_a_rebuild_that_leaves_old_results_whole_fails(run: Run) -> None:
    trace = too_long(run)
    assert "has everything elided; actual a result is whole" in finish(trace, trace.items).failure(OVERFLOW)


def test_a_second_rebuild_fails(run: Run) -> None:
    trace = too_long(run)
    trace.request(items=view(trace)).fault(FaultKind.CONTEXT_LENGTH, status=400)
    assert "one rebuild for a request" in finish(trace, view(trace)).failure(OVERFLOW)


def test_another_end_of_an_overflow_fails(run: Run) -> None:
    trace = too_long(run)
    trace.request(items=view(trace)).fault(FaultKind.CONTEXT_LENGTH, status=400)
    assert trace.fail("context_overflow", "ContextOverflow").verdict(OVERFLOW) is VerdictName.PASS
    trace.trace.pop()
    assert trace.fail("model_permanent_error", "ModelPermanentError").verdict(OVERFLOW) is VerdictName.FAIL


# --- excerpt ---


def cut(text: str, largest: int, head: float = 0.6, tail: float = 0.2) -> str:
    return text[: int(largest * head)] + "\n[... cut ...]\n" + text[len(text) - int(largest * tail) :]


def excerpted(run: Run, text: str, shown: str, **settings: int) -> Any:
    trace = run(settings={"max_result_bytes": 1_000, **settings}).request()
    trace.reply(trace.call("fetch")).execute(text=text).join()
    shown_items = [*trace.items[:2], replace(trace.items[2], content=(Text(shown),))]
    return trace.request(items=shown_items).reply(say="Done.").end()


LONG = "".join(f"line {place:04d} of the long page\n" for place in range(200))


def test_a_result_over_its_limit_is_head_marker_and_tail(run: Run) -> None:
    trace = excerpted(run, LONG, cut(LONG, 1_000))
    assert trace.verdict(EXCERPT) is VerdictName.PASS
    assert trace.verdict(VIEW) is VerdictName.PASS


def test_a_result_at_its_limit_is_whole(run: Run) -> None:
    assert excerpted(run, LONG[:1_000], LONG[:1_000]).verdict(EXCERPT) is VerdictName.PASS
    assert "whole: 1000 bytes, at most 1000" in excerpted(run, LONG[:1_000], cut(LONG[:1_000], 1_000)).failure(EXCERPT)


@pytest.mark.parametrize(
    ("shown", "says"),
    [
        (LONG, "in 1000 bytes"),
        (LONG[:1_000], "60 % head, marker, 20 % tail"),
        (cut(LONG, 1_000, head=0.5), "60 % head"),
        (cut(LONG, 1_000, tail=0.1), "20 % tail"),
        (LONG[:600] + LONG[-200:][4:], "20 % tail"),
    ],
)
def test_another_excerpt_fails(run: Run, shown: str, says: str) -> None:
    assert says in excerpted(run, LONG, shown).failure(EXCERPT)


def test_shares_end_at_code_points(run: Run) -> None:
    text = "é€😀" * 400
    raw = text.encode()
    head = raw[:600].decode(errors="ignore")
    tail = raw[-200:].decode(errors="ignore")
    assert excerpted(run, text, f"{head} … {tail}").verdict(EXCERPT) is VerdictName.PASS


def test_a_short_result_that_changed_fails(run: Run) -> None:
    assert "whole: 10 bytes" in excerpted(run, "Same page.", "Same").failure(EXCERPT)


def test_a_batch_keeps_its_joint_limit(run: Run) -> None:
    def joint(size: int) -> Any:
        trace = run(settings={"max_batch_bytes": 1_000}).request()
        trace.reply(trace.call("fetch", {"u": 1}), trace.call("fetch", {"u": 2})).execute(text="y" * 600).join()
        shown = [replace(one, content=(Text("y" * size),)) for one in trace.items[2:]]
        return trace.request(items=[*trace.items[:2], *shown]).reply(say="Done.").end()

    assert joint(500).verdict(EXCERPT) is VerdictName.PASS
    assert "at most 1000 bytes of results in the batch; actual 1200 bytes" in joint(600).failure(EXCERPT)


def test_an_error_keeps_its_platform_line_beside_the_excerpt(run: Run) -> None:
    trace = run(settings={"max_result_bytes": 1_000}).request()
    trace.reply(trace.call("fetch")).execute(text=LONG, outcome=OutcomeClass.ERROR).join()
    shown = replace(trace.items[2], content=(Text("[tool.failed]\n" + cut(LONG, 1_000)),))
    assert trace.request(items=[*trace.items[:2], shown]).reply(say="D").end().verdict(EXCERPT) is VerdictName.PASS


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
    assert sum(view.walked for view in views) - last < 12 * once


def replace_items(record: Any, items: Log) -> Any:
    return replace(record, request=replace(record.request, items=items))
