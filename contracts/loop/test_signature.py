"""Signatures: equal for one call however it is written, different for different calls (loop.md section 3)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.loop.signature import NotJson, call_signature, canonical, decode_json, outcome_hash, without_parts
from harness.vocabulary.content import Text
from harness.vocabulary.tools import OutcomeClass, ToolDeclaration, ToolDefinition, ToolOutcome

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a": 1, "b": 2}', '{"b":2,"a":1}'),
        ('{"n": 1}', '{"n": 1.0}'),
        ('{"n": 100}', '{"n": 1e2}'),
        ('{"n": -0.0}', '{"n": 0}'),
        ('{"s": "e\\u0301"}', '{"s": "\\u00e9"}'),
        ("", "{}"),
    ],
)
def test_one_call_written_two_ways_has_one_signature(one: str, other: str) -> None:
    assert call_signature("t", one) == call_signature("t", other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"n": 9007199254740993}', '{"n": 9007199254740992}'),
        ('{"n": 1}', '{"n": true}'),
        ('{"n": 1}', '{"n": "1"}'),
        ('{"a": [1, 2]}', '{"a": [2, 1]}'),
        ('{"a": null}', "{}"),
        ('{"a": 1, "a": 1}', '{"a": 1}'),
        ('{"n": 10}', '{"n": 1}'),
    ],
)
def test_different_calls_have_different_signatures(one: str, other: str) -> None:
    assert call_signature("t", one) != call_signature("t", other)


def test_the_tool_is_part_of_the_signature() -> None:
    assert call_signature("a", "{}") != call_signature("b", "{}")


@pytest.mark.parametrize("text", ['{"a":1,"a":2}', "NaN", "[Infinity]", "{", "", "[" * 100_000])
def test_what_is_not_one_json_value_is_refused(text: str) -> None:
    with pytest.raises(NotJson):
        decode_json(text)


def test_undecodable_arguments_are_signed_by_their_raw_text() -> None:
    assert call_signature("t", "{oops") == call_signature("t", "{oops")
    assert call_signature("t", "{oops") != call_signature("t", "{oops ")


def test_a_very_long_integer_keeps_its_value() -> None:
    digits = "7" * 5000
    assert canonical(decode_json(digits)) == digits
    assert call_signature("t", f'{{"n":{digits}}}') != call_signature("t", f'{{"n":{digits[:-1]}8}}')


def test_declared_volatile_arguments_are_left_out() -> None:
    volatile = ("/attempt", "/meta/nonce", "/list/1")
    one = call_signature("t", '{"q":1,"attempt":1,"meta":{"nonce":"a","k":1},"list":[1,2]}', volatile)
    other = call_signature("t", '{"q":1,"attempt":9,"meta":{"nonce":"b","k":1},"list":[1,3]}', volatile)
    assert one == other
    assert one != call_signature("t", '{"q":2,"attempt":1,"meta":{"nonce":"a","k":1},"list":[1,2]}', volatile)


def test_a_pointer_to_nothing_changes_nothing() -> None:
    assert without_parts({"a": 1}, ("/b", "/a/b", "/0")) == {"a": 1}


@given(json_values)
def test_canonical_text_survives_another_writing(value: object) -> None:
    once = canonical(decode_json(json.dumps(value)))
    spaced = json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False)
    assert canonical(decode_json(spaced)) == once


def _tool(**more: object) -> ToolDeclaration:
    return ToolDeclaration(definition=ToolDefinition(name="t", description="", parameters={}), **more)  # type: ignore[arg-type]


def test_an_outcome_is_hashed_by_class_and_content_without_volatile_parts() -> None:
    ok = ToolOutcome(outcome=OutcomeClass.OK, content=(Text("x"),))
    error = ToolOutcome(outcome=OutcomeClass.ERROR, content=(Text("x"),))
    assert outcome_hash(ok, _tool()) != outcome_hash(error, _tool())
    early, late = ({"state": "up", "at": at} for at in (1, 2))
    tool = _tool(volatile_outcome=("/at",))
    one, other = (outcome_hash(ToolOutcome(outcome=OutcomeClass.OK, data=data), tool) for data in (early, late))
    assert one == other


@pytest.mark.parametrize("data", [{"x": float("nan")}, [float("inf")], {"x": {1, 2}}])
def test_an_outcome_that_json_cannot_hold_has_a_hash_all_the_same(data: object) -> None:
    outcome = ToolOutcome(outcome=OutcomeClass.OK, data=data)
    assert outcome_hash(outcome, None) == outcome_hash(outcome, None)
    assert outcome_hash(outcome, None) != outcome_hash(ToolOutcome(outcome=OutcomeClass.OK, data={"x": 1}), None)
