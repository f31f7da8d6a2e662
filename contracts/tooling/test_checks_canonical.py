"""The judge's own signature of a call (loop.md section 3)."""

import pytest

from harness.checks.canonical import Undecodable, canonical, decode, same_arguments, signature, without

SAME = [
    ('{"b":1,"a":2}', '{ "a" : 2 , "b" : 1 }'),
    ('{"n":1}', '{"n":1.0}'),
    ('{"n":100}', '{"n":1e2}'),
    ('{"n":0}', '{"n":-0.0}'),
    ('{"n":0.10}', '{"n":1E-1}'),
    ('{"s":"\\u00e9"}', '{"s":"e\\u0301"}'),
    ('{"\\u00e9":1}', '{"e\\u0301":1}'),
    ('{"s":"/"}', '{"s":"\\/"}'),
    ("{}", ""),
    ('{"n":123456789012345678901234567890}', '{"n":123456789012345678901234567890.0}'),
]
DIFFERENT = [
    ('{"n":1}', '{"n":true}'),
    ('{"n":1}', '{"n":"1"}'),
    ('{"n":9007199254740992}', '{"n":9007199254740993}'),
    ('{"n":0.1}', '{"n":0.1000000000000000055}'),
    ('{"n":1e400}', '{"n":1e401}'),
    ('{"a":[1,2]}', '{"a":[2,1]}'),
    ('{"a":null}', "{}"),
    ('{"a":1,"a":1}', '{"a":1}'),
    ("not json", "not  json"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_spelling_does_not_tell_calls_apart(one: str, other: str) -> None:
    assert signature("fetch", one) == signature("fetch", other)
    assert same_arguments(one, other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_values_tell_calls_apart(one: str, other: str) -> None:
    assert signature("fetch", one) != signature("fetch", other)


def test_the_tool_is_part_of_the_signature() -> None:
    assert signature("fetch", "{}") != signature("list", "{}")


def test_keys_are_sorted_by_code_point() -> None:
    assert (
        canonical(decode('{"\\ue000":1,"\\ud83d\\ude00":2,"Z":3,"a":4}')) == '{"Z":3,"a":4,"\ue000":1,"\U0001f600":2}'
    )


@pytest.mark.parametrize(
    "text", ['{"a":1,"a":2}', '{"\\u00e9":1,"e\\u0301":2}', "NaN", "Infinity", "-Infinity", "{", "[" * 100_000]
)
def test_what_is_not_one_value_does_not_decode(text: str) -> None:
    with pytest.raises(Undecodable):
        decode(text)


def test_undecodable_arguments_are_their_own_signature() -> None:
    assert signature("fetch", '{"a":') == ("fetch", '{"a":')


def test_numbers_of_any_length_decode() -> None:
    assert canonical(decode("1" + "0" * 10_000)) == "1e10000"


@pytest.mark.parametrize(
    ("pointers", "left"),
    [
        (("/nonce",), '{"at":{"day":1,"hour":2},"list":[1,2,3]}'),
        (("/at/hour", "/nonce"), '{"at":{"day":1},"list":[1,2,3]}'),
        (("/list/0", "/list/2"), '{"at":{"day":1,"hour":2},"list":[2],"nonce":"x"}'),
        (("/absent/deep", "/list/9"), '{"at":{"day":1,"hour":2},"list":[1,2,3],"nonce":"x"}'),
        (("",), "null"),
    ],
)
def test_volatile_parts_are_left_out(pointers: tuple[str, ...], left: str) -> None:
    value = decode('{"nonce":"x","at":{"day":1,"hour":2},"list":[1,2,3]}')
    assert canonical(without(value, pointers)) == left


def test_pointer_escapes_are_read() -> None:
    assert canonical(without(decode('{"a/b":1,"c~d":2}'), ("/a~1b", "/c~0d"))) == "{}"


def test_leaving_out_does_not_change_the_value() -> None:
    value = decode('{"a":{"b":1}}')
    without(value, ("/a/b",))
    assert canonical(value) == '{"a":{"b":1}}'


def test_lone_surrogates_are_told_apart_from_nothing_but_themselves() -> None:
    assert signature("fetch", '{"s":"\\ud800"}') == signature("fetch", '{"s":"\ufffd"}')


@pytest.mark.parametrize(("value", "text"), [(1.5, "15e-1"), (2, "2"), (True, "true"), (None, "null"), (1e25, "1e25")])
def test_structured_outcomes_are_canonical_too(value: object, text: str) -> None:
    assert canonical(value) == text


def test_a_structured_outcome_without_a_number_is_undecodable() -> None:
    with pytest.raises(Undecodable):
        canonical(float("nan"))
