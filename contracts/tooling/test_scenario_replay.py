"""A run id leads back to its run."""

import pytest

from harness.scenario.arms import ARMS, Arm, matching, named
from harness.scenario.document import Document
from harness.scenario.format import Scenario
from harness.scenario.replay import NoSuchRun, find_run


def scenario(name: str, arms: str = "[]") -> Scenario:
    text = f"{{id: {name}, title: t, proves: [r], user: u, script: [{{say: a}}], arms: {arms}, expect: {{steps: 1}}}}"
    return Scenario.model_validate(Document(text).value)


def name(scenario: Scenario, arm: Arm) -> str:
    return f"{scenario.id}-{arm.name}".upper()


def test_a_code_finds_its_run_in_either_letter_case() -> None:
    one, two = scenario("one"), scenario("two")
    assert find_run("two-openai-chat-plain", [one, two], name) == (two, named("openai-chat-plain"))


def test_the_beginning_of_a_code_is_enough_if_only_one_run_has_it() -> None:
    one = scenario("one", "[sim, openai-chat-stream]")
    assert find_run("one-s", [one], name) == (one, Arm("sim"))
    with pytest.raises(NoSuchRun, match=r"2 runs are called 'one-': one\[openai-chat-stream\], one\[sim\]"):
        find_run("one-", [one], name)


@pytest.mark.parametrize(("code", "words"), [("ab", "too short"), ("absent", "no run of 9 is called 'absent'")])
def test_a_code_without_a_run_says_so(code: str, words: str) -> None:
    with pytest.raises(NoSuchRun, match=words):
        find_run(code, [scenario("one")], name)


def test_arms_are_named_by_transport_and_streaming() -> None:
    assert len({arm.name for arm in ARMS}) == 9
    assert [arm.name for arm in matching(["anthropic-*", "sim"])] == [
        "anthropic-messages-stream",
        "anthropic-messages-plain",
        "sim",
    ]
    with pytest.raises(ValueError, match="no arm is called 'http'"):
        named("http")
