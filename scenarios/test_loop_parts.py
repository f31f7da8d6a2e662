"""Properties of the loop's parts: signatures, fitting and elision, excerpts, evidence resets, and the verdict on a
history. Each is stated from the rule, not from the code."""

import json
from collections import Counter
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from harness.contract.strategies import objects
from harness.loop.breaker import Breaker, record
from harness.loop.detect import classify
from harness.loop.elision import fit
from harness.loop.excerpt import excerpt_batch, excerpt_text
from harness.loop.history import History, Log
from harness.loop.signature import call_signature
from harness.vocabulary.content import AssistantMessage, Item, Text, ToolCall, ToolResult
from harness.vocabulary.settings import RunSettings
from harness.vocabulary.tools import CallRecord, Effect, OutcomeClass, Repetition, ToolDeclaration, ToolDefinition


def tool(effect: Effect) -> ToolDeclaration:
    return ToolDeclaration(definition=ToolDefinition(name="t", description="", parameters={}), effect=effect)


def called(signature: str, outcome: OutcomeClass = OutcomeClass.OK, told: str = "h", step: int = 1) -> CallRecord:
    return CallRecord("t", signature, outcome, told, True, step)


good = st.builds(called, st.sampled_from("abc"), told=st.sampled_from("xyz"))
any_call = st.builds(called, st.sampled_from("abc"), st.sampled_from(list(OutcomeClass)), st.sampled_from("xyz"))


@given(objects, st.randoms(use_true_random=False), st.integers(0, 4))
def test_a_signature_is_blind_to_the_order_of_keys_and_to_white_space(
    value: dict[str, object], random: Random, indent: int
) -> None:
    keys = list(value)
    random.shuffle(keys)
    other = json.dumps({key: value[key] for key in keys}, indent=indent)
    assert call_signature("t", json.dumps(value)) == call_signature("t", other)


@given(objects, st.integers())
def test_a_volatile_argument_tells_no_call_from_another_and_any_other_does(value: dict[str, object], n: int) -> None:
    plain, marked = json.dumps({**value, "nonce": 0}), json.dumps({**value, "nonce": n})
    assert call_signature("t", plain, ("/nonce",)) == call_signature("t", marked, ("/nonce",))
    assert (call_signature("t", plain) == call_signature("t", marked)) == (n == 0)


@given(st.lists(st.integers(1, 900), min_size=1, max_size=12), st.integers(0, 24), st.integers(1, 900))
def test_elision_takes_the_oldest_seen_results_keeps_pairs_and_stays(sizes: list[int], seen: int, budget: int) -> None:
    items: list[Item] = []
    for place, size in enumerate(sizes):
        items.append(AssistantMessage((ToolCall(f"c{place}", "t", "{}"),)))
        items.append(ToolResult(call_id=f"c{place}", tool="t", content=(Text("r" * size),)))
    whole = History(Log()).append(items)
    fitted = fit(whole, seen=seen, fixed_bytes=0, budget_tokens=budget)
    shown = list(fitted.history)
    changed = [place for place, item in enumerate(shown) if item != items[place]]
    assert [getattr(item, "call_id", None) for item in shown] == [getattr(item, "call_id", None) for item in items]
    assert len(changed) == fitted.elided and all(place < seen for place in changed)
    candidates = [place for place in range(min(seen, len(items))) if whole.elides(place)]
    assert changed == candidates[: len(changed)]
    assert fitted.fits or changed == candidates
    assert list(fitted.history.whole) == items
    again = fit(fitted.history, seen=seen, fixed_bytes=0, budget_tokens=10**9)
    assert list(again.history) == shown


@given(st.text(st.characters(codec="utf-8"), max_size=600), st.integers(256, 700))
def test_an_excerpt_is_whole_or_a_head_and_a_tail_of_the_text(text: str, limit: int) -> None:
    short = excerpt_text(text, limit)
    if len(text.encode()) <= limit:
        assert short == text
        return
    head, _, rest = short.partition("\n[excerpt: ")
    tail = rest.partition(" bytes left out]\n")[2]
    assert text.startswith(head) and text.endswith(tail)
    assert len(head.encode()) <= limit * 0.6 and len(tail.encode()) <= limit * 0.2


@given(st.lists(st.integers(0, 3000), min_size=1, max_size=6), st.integers(256, 2000), st.integers(256, 4000))
def test_a_batch_of_excerpts_keeps_its_pairs_and_leaves_small_batches_alone(
    sizes: list[int], most: int, joint: int
) -> None:
    results = [ToolResult(call_id=f"c{n}", tool="t", content=(Text("x" * size),)) for n, size in enumerate(sizes)]
    shown = excerpt_batch(results, most, joint)
    assert [one.call_id for one in shown] == [one.call_id for one in results]
    if max(sizes) <= most and sum(sizes) <= joint:
        assert list(shown) == results


@given(st.lists(any_call, max_size=40), st.integers(0, 5))
def test_resets_keep_their_cap_and_only_new_good_outcomes_of_an_observation_make_one(
    history: list[CallRecord], cap: int
) -> None:
    settings, breaker = RunSettings(evidence_reset_cap=cap), Breaker()
    last: dict[str, str | None] = {}
    for call in history:
        after = record(breaker, call, tool(Effect.READ_ONLY), settings)
        known = call.outcome is OutcomeClass.OK
        fresh = known and call.signature in last and last[call.signature] != call.outcome_hash
        assert after.resets - breaker.resets == (fresh and breaker.resets < cap)
        if after.resets > breaker.resets:
            assert after.count(call.signature) == 1
        else:
            assert after.count(call.signature) == breaker.count(call.signature) + 1
        if known:
            last[call.signature] = call.outcome_hash
        breaker = after
    assert breaker.resets <= cap


@given(st.lists(any_call, max_size=40))
def test_a_tool_with_effects_is_counted_strictly(history: list[CallRecord]) -> None:
    breaker = Breaker()
    for call in history:
        breaker = record(breaker, call, tool(Effect.NON_IDEMPOTENT), RunSettings())
    times = Counter(call.signature for call in history)
    assert {name: breaker.count(name) for name in times} == times and breaker.resets == 0


@given(st.lists(good, max_size=30), st.integers(2, 6))
def test_the_verdict_is_recursion_exactly_where_an_unchanged_observation_reached_the_synthesis_level(
    history: list[CallRecord], threshold: int
) -> None:
    streaks: Counter[str] = Counter()
    last: dict[str, str | None] = {}
    reached: Counter[str] = Counter()
    for call in history:
        name = call.signature
        streaks[name] = 1 if name in last and last[name] != call.outcome_hash else streaks[name] + 1
        last[name] = call.outcome_hash
        reached[name] = max(reached[name], streaks[name])
    times = Counter(call.signature for call in history)
    repeated = [name for name, count in times.items() if count > 1]
    wanted = {}
    if repeated:
        loops = any(reached[name] >= threshold - 1 for name in repeated)
        wanted = {"t": Repetition.RECURSION if loops else Repetition.PROGRESS}
    assert classify(history, threshold=threshold) == wanted


@given(st.lists(any_call, max_size=30), st.integers(2, 5), st.integers(2, 5))
def test_a_wider_threshold_never_makes_a_loop(history: list[CallRecord], one: int, other: int) -> None:
    narrow, wide = sorted((one, other))
    loops = classify(history, threshold=wide).get("t") is Repetition.RECURSION
    assert not loops or classify(history, threshold=narrow).get("t") is Repetition.RECURSION
