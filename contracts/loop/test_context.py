"""Excerpts, views and elision: what the model sees, and what stays whole (loop.md section 5)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.loop.elision import fit
from harness.loop.excerpt import allowances, excerpt_batch, excerpt_text
from harness.loop.history import History, Log
from harness.loop.text import byte_length, well_formed, well_formed_json
from harness.vocabulary.content import AssistantMessage, Item, Opaque, Text, ToolCall, ToolResult, UserMessage


def _result(call_id: str, text: str) -> ToolResult:
    return ToolResult(call_id=call_id, tool="read", content=(Text(text),))


def _turn(call_id: str) -> AssistantMessage:
    return AssistantMessage((Opaque("anthropic-messages", {"signature": call_id}), ToolCall(call_id, "read", "{}")))


def _history(*sizes: int) -> History:
    items: list[Item] = [UserMessage((Text("go"),))]
    for place, size in enumerate(sizes):
        items += [_turn(f"c{place}"), _result(f"c{place}", "x" * size)]
    return History(Log()).append(items)


@given(st.text(max_size=400), st.integers(min_value=0, max_value=300))
def test_an_excerpt_keeps_head_and_tail_at_code_point_boundaries(text: str, limit: int) -> None:
    text = well_formed(text)
    short = excerpt_text(text, limit)
    if byte_length(text) <= limit:
        assert short == text
        return
    head, rest = short.split("\n[excerpt: ", 1) if text.count("\n[excerpt: ") == 0 else ("", "")
    assert text.startswith(head)
    assert byte_length(head) <= limit * 0.6
    assert rest == "" or text.endswith(rest.split("left out]\n", 1)[1])


def test_a_large_excerpt_stays_within_four_fifths_and_its_marker() -> None:
    short = excerpt_text("é" * 50_000, 10_000)
    assert short.startswith("é" * 3000 + "\n[excerpt: ")
    assert short.endswith("\n" + "é" * 1000)
    assert "92000 of 100000 bytes left out" in short


@given(st.lists(st.integers(min_value=0, max_value=1000), max_size=8), st.integers(min_value=0, max_value=4000))
def test_allowances_share_a_limit_and_spare_the_small(sizes: list[int], total: int) -> None:
    granted = allowances(sizes, total)
    assert sum(granted) <= max(total, 0)
    assert all(0 <= got <= wanted for got, wanted in zip(granted, sizes, strict=True))
    if sum(sizes) <= total:
        assert granted == sizes


def test_four_large_results_of_one_batch_fit_the_joint_limit() -> None:
    batch = [_result(f"c{place}", "y" * 60_000) for place in range(4)]
    shown = excerpt_batch(batch, max_result=65_536, max_batch=100_000)
    assert sum(byte_length(result.text) for result in shown) < 100_000
    assert all("bytes left out" in result.text for result in shown)


def test_a_view_is_not_changed_by_what_is_appended_later() -> None:
    first = _history(10)
    second = first.append([_turn("c9")])
    assert len(first) == 3 and len(second) == 4
    assert second.same_prefix(first) and not first.same_prefix(second)
    branch = first.append([_turn("other")])
    assert branch[3] != second[3] and branch.log is not second.log


def test_the_oldest_seen_results_become_pointers_and_no_more_than_needed() -> None:
    history = _history(4000, 4000, 4000)
    fitted = fit(history, seen=len(history) - 2, fixed_bytes=0, budget_tokens=2200)
    assert fitted.fits and fitted.elided == 1
    shown = list(fitted.history)
    assert isinstance(shown[2], ToolResult) and shown[2].text.startswith(
        "[elided: result of read for call c0, 4000 bytes"
    )
    assert isinstance(shown[4], ToolResult) and shown[4].text == "x" * 4000
    assert fitted.history.whole[2] == history[2], "the conversation keeps whole results"


def test_a_result_is_never_elided_before_the_model_has_seen_it() -> None:
    history = _history(4000)
    fitted = fit(history, seen=1, fixed_bytes=0, budget_tokens=10)
    assert not fitted.fits and fitted.elided == 0


def test_what_was_elided_stays_elided() -> None:
    fitted = fit(_history(4000, 10), seen=5, fixed_bytes=0, budget_tokens=500)
    again = fit(fitted.history, seen=5, fixed_bytes=0, budget_tokens=100_000)
    assert again.elided == 0 and again.history[2] == fitted.history[2]


def test_reasoning_bound_to_an_elided_part_goes_with_it_and_later_reasoning_stays() -> None:
    fitted = fit(_history(4000, 10), seen=5, fixed_bytes=0, budget_tokens=500)
    later = fitted.history.append([_turn("new")])
    reasoning = [any(isinstance(part, Opaque) for part in item.content) for item in later if hasattr(item, "calls")]
    assert reasoning == [True, False, True], "before the elided result, behind it, and made after the elision"


@given(st.lists(st.integers(min_value=0, max_value=3000), max_size=6), st.integers(min_value=10, max_value=4000))
def test_the_running_size_equals_a_fresh_count(sizes: list[int], budget: int) -> None:
    history = _history(*sizes)
    fitted = fit(history, seen=len(history), fixed_bytes=0, budget_tokens=budget)
    shown = sum(byte_length(item.text) for item in fitted.history if isinstance(item, ToolResult))
    fresh = sum(byte_length(item.text) for item in history if isinstance(item, ToolResult))
    assert history.shown_bytes - fitted.history.shown_bytes == fresh - shown
    if fitted.elided:
        assert shown < fresh


@pytest.mark.parametrize(
    ("raw", "mended"),
    [
        (r'{"t":"\ud99c end"}', r'{"t":"\ufffd end"}'),
        (r'{"t":"\uDF00"}', r'{"t":"\ufffd"}'),
        (r'{"t":"\ud83d\ude00"}', r'{"t":"\ud83d\ude00"}'),
        (r'{"t":"\ud83d\ud83d\ude00"}', r'{"t":"\ufffd\ud83d\ude00"}'),
        (r'{"t":"\\ud83d"}', r'{"t":"\\ud83d"}'),
        ('{"t":"\udc00"}', '{"t":"\ufffd"}'),
    ],
)
def test_lone_surrogates_in_arguments_become_the_replacement_character(raw: str, mended: str) -> None:
    assert well_formed_json(raw) == mended
