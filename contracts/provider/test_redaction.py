"""What may never be written is taken out, and a scanner that shares nothing with the scrubber agrees."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.redaction.scan import find_secrets
from harness.redaction.scrub import MARK, message, redact, redact_headers, short

TAIL = "Zx9Yw8Vu7Ts6Rq5Po4Nm3Lk2Ji1Hg0"
KEYS = {
    "anthropic": "sk-ant-api03-" + TAIL,
    "openai": "sk-" + TAIL,
    "openai project": "sk-proj-" + TAIL,
    "google": "AIza" + TAIL + "abcdef",
    "github": "ghp_" + TAIL,
    "hugging face": "hf_" + TAIL,
    "groq": "gsk_" + TAIL,
    "slack": "xoxb-" + TAIL,
    "aws": "AKIA" + "ABCDEFGHIJKLMNOP",
    "organisation": "org-" + TAIL,
    "project": "proj_" + TAIL,
}
PLACES = [
    "{}",
    "Incorrect API key provided: {}. You can find it on the page.",
    "x-api-key: {}",
    '{{"headers": {{"x-api-key": ["{}"]}}}}',
    "x-api-key:\n    - {}\nstatus: 200",
    "https://host/v1?key={}&page=2",
    "authorization: Bearer {}",
    "'{}'",
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", KEYS)
def test_a_planted_key_is_found_and_taken_out(name: str, place: str) -> None:
    text = place.format(KEYS[name])
    clean = redact(text, environ={})
    assert find_secrets(text, environ={})
    assert KEYS[name] not in clean and TAIL not in clean and MARK in clean
    assert find_secrets(clean, environ={}) == []


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Bearer abc.def.0123456789", "abc.def.0123456789"),
        ("Authorization: Basic dXNlcjpwYXNzMTIz", "dXNlcjpwYXNzMTIz"),
        ("cookie: session=abcdef123456; theme=dark", "abcdef123456"),
        ("openai-organization: acme-2026-inc1", "acme-2026-inc1"),
        ("https://user:pa55word@host/path", "pa55word"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.c2lnbmF0dXJl", "eyJzdWIiOiIxMjM0NSJ9"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----", "MIIabc"),
        ("-----BEGIN PRIVATE KEY-----\nMIIabc (cut", "MIIabc"),
        ("aws_secret_access_key = wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY1", "wJalrXUtnFEMI"),
        ("Your organization (123e4567-e89b-12d3-a456-426614174000) has no access", "123e4567"),
    ],
)
def test_a_secret_without_a_shape_of_its_own_is_known_by_what_stands_before_it(text: str, secret: str) -> None:
    clean = redact(text, environ={})
    assert MARK in clean
    assert secret not in clean


@pytest.mark.parametrize(
    "text",
    [
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        "Missing bearer authentication in header",
        "a risk-assessment of task-force two, desk-top and disk-drive",
        "anthropic-ratelimit-tokens-remaining: 12",
        "tokens: 4096, key: value",
        "EqQBCkgIARABGAIiQL2UoU0b1OHYi+6vtQFm1SLqFHmb2Rj7uTQzN9fWY3tXU0Ew/Zg==",
        "call_a1b2c3d4e5f6g7h8 toolu_01A09q90qw90lq917835lq9",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert redact(text, environ={}) == text
    assert find_secrets(text, environ={}) == []


def test_values_of_secret_variables_are_taken_out_and_found() -> None:
    environ = {"CORP_TOKEN": "correct horse", "DB_PASSWORD": "battery-staple", "HOME": "/somewhere/else", "X_KEY": "no"}
    text = "correct horse, battery-staple, /somewhere/else, no"
    assert redact(text, environ=environ) == f"{MARK}, {MARK}, /somewhere/else, no"
    assert [secret.kind for secret in find_secrets(text, environ=environ)] == [
        "value of CORP_TOKEN",
        "value of DB_PASSWORD",
    ]


def test_a_known_secret_without_any_shape_is_taken_out() -> None:
    assert redact("key test-key refused", known=("test-key",), environ={}) == f"key {MARK} refused"


def test_secret_headers_lose_their_value_and_others_keep_it() -> None:
    headers = {
        "Authorization": "Bearer x",
        "X-Api-Key": "y",
        "Set-Cookie": "a=b",
        "anthropic-organization-id": "z",
        "x-corp-token": "w",
        "content-type": "application/json",
        "x-ratelimit-remaining-tokens": "12",
    }
    kept = {"content-type": "application/json", "x-ratelimit-remaining-tokens": "12"}
    assert redact_headers(headers) == {name: kept.get(name, MARK) for name in headers}


def test_a_message_is_one_short_line_and_no_cut_key_survives_at_its_end() -> None:
    text = "line one\nline two " + "x" * 270 + " sk-ant-api03-" + TAIL
    said = message(text)
    assert said.startswith("line one line two ") and len(said) <= 300
    assert "sk-ant" not in said


@given(st.text(max_size=60), st.integers(1, 40))
def test_short_never_passes_its_limit_and_marks_a_cut(text: str, limit: int) -> None:
    said = short(text, limit)
    assert len(said) <= limit
    assert said == text or (len(text) > limit and said.endswith("…"))


FRAGMENTS = st.sampled_from(
    [*KEYS.values(), "authorization", "x-api-key", ":", " ", "\n", "- ", "[", '"', "Bearer ", "?key=", "abc", MARK]
)


@given(st.lists(FRAGMENTS | st.text(max_size=5), max_size=12).map("".join))
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = redact(text, environ={})
    assert redact(once, environ={}) == once


def test_a_finding_says_where_and_never_what() -> None:
    (found,) = find_secrets("see " + KEYS["openai"], environ={})
    assert (found.start, found.end) == (4, 4 + len(KEYS["openai"]))
    assert TAIL not in repr(found)
