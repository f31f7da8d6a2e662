"""Checkers of loop.md section 5 that measure: elision, overflow, excerpts, and that all of them are views."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from harness.vocabulary.content import AssistantMessage, Item, Opaque, Text, ToolResult
from harness.vocabulary.tools import OutcomeClass
from harness.vocabulary.turn import FaultKind
from harness.vocabulary.verdict import VerdictName

Run = Callable[..., Any]
FROZEN = "loop.context.prefix-frozen"
ELIDE = "loop.context.elide-oldest"
EXCERPT = "loop.context.excerpt"
VIEW = "loop.context.view-only"
REFETCH = "loop.context.refetch-counts"
OVERFLOW = "loop.context.overflow"
BIG = "x" * 4_000


# --- elide-oldest, refetch-counts, view-only, overflow ---


def pointer(result: ToolResult, text: str | None = None) -> ToolResult:
    digest = hashlib.sha256(result.text.encode()).hexdigest()[:16]
    words = f"[elided: {result.tool} {result.call_id}, {len(result.text.encode())} bytes, sha256 {digest}]"
    return replace(result, content=(Text(words if text is None else text),))


def full(run: Run, steps: int = 2, budget: int = 1_500, **more: Any) -> Any:
    """Steps with results of 1,000 tokens each, and room for one of them."""
    trace = run(settings={"context_budget_tokens": budget, **more.pop("settings", {})}, **more)
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


def thinking(run: Run) -> Any:
    """Three steps with a thought each; the second request passes the budget, the third one elides."""
    trace = run(settings={"context_budget_tokens": 1_500})
    for place in range(2):
        thought = Opaque("sim", {"thinking": place})
        trace.request(items=view(trace)).reply(trace.call("fetch", {"u": place})).execute(text=f"{place}{BIG}")
        trace.join(said=AssistantMessage((thought, *trace.calls)))
    return trace


def bare(one: Item) -> Item:
    return AssistantMessage(one.calls) if isinstance(one, AssistantMessage) else one


def test_reasoning_behind_an_elided_result_goes_with_it(run: Run) -> None:
    trace = thinking(run)
    right = [*view(trace)[:3], bare(view(trace)[3]), *view(trace)[4:]]
    assert finish(trace, right).verdict(ELIDE) is VerdictName.PASS
    trace = thinking(run)
    failure = finish(trace, view(trace)).failure(ELIDE)
    assert "reasoning behind the elided result at /items/2 is dropped with it; actual it is replayed" in failure


def test_reasoning_before_an_elided_result_stays(run: Run) -> None:
    trace = thinking(run)
    failure = finish(trace, [bare(one) for one in view(trace)]).failure("loop.model.reasoning-verbatim")
    assert "reasoning stays as long as nothing before it is elided" in failure


def test_no_more_is_elided_than_the_budget_asks_for(run: Run) -> None:
    def ten(elided: int, told: int | None) -> Any:
        trace = run(settings={"context_budget_tokens": 10_000})
        for place in range(10):
            trace.step(("fetch", {"u": place}), text=f"{place}{BIG}")
        if told is not None:
            trace.event("context.elided", results=elided, estimate_tokens=told)
        return finish(trace, view(trace, keep=10 - elided))

    assert ten(1, 9_600).verdict(ELIDE) is VerdictName.PASS
    assert "no more elision than 10000 tokens ask for" in ten(2, 8_700).failure(ELIDE)
    assert ten(2, None).verdict(ELIDE) is VerdictName.PASS
    assert "no more elision than 10000 tokens ask for" in ten(9, None).failure(ELIDE)


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
