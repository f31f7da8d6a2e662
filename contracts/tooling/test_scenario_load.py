"""Scenario files: what is accepted, and that every bad file is refused with its line and a mend."""

import time
from pathlib import Path

import jsonschema_rs
import pytest

from harness.data_root import data_root
from harness.scenario.document import Document, DocumentError
from harness.scenario.format import scenario_schema
from harness.scenario.load import load_all, load_scenario, parse_scenario, scenario_files
from harness.scenario.problems import ScenarioError

GOOD = """\
id: good
title: A good scenario
proves: [loop.tools.unknown]
user: Do it.
tools:
  fetch:
    parameters: {type: object, properties: {n: {type: integer}}}
    answers: [{text: "page {n}", repeat: always}]
script:
  - repeat: 2
    calls: [{tool: fetch, arguments: {n: 1}}]
  - say: Done.
expect: {outcome: completed}
"""
RULES = ("loop.tools.unknown", "loop.turn.order")


def problems(text: str, stem: str = "good") -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(text, "good.yaml", stem, RULES)
    return str(caught.value).splitlines()


def test_a_good_file_is_a_scenario_with_the_page_s_defaults() -> None:
    scenario = parse_scenario(GOOD, "good.yaml", "good", RULES)
    assert (scenario.id, scenario.script[0].repeat, scenario.limits.max_steps) == ("good", 2, 32)
    assert scenario.tools["fetch"].effect == "non_idempotent"


BAD = {
    "unknown key": (
        GOOD.replace("outcome: completed", "outcom: completed"),
        ["good.yaml:13: unknown key `outcom` in `expect`; did you mean `outcome`?"],
    ),
    "unknown key in a list": (
        GOOD.replace("calls: [{tool: fetch,", "calls: [{tols: fetch, tool: fetch,"),
        ["good.yaml:11: unknown key `tols` in `script.0.calls.0`; did you mean `tool`?"],
    ),
    "unknown key in a tool that has a key's name": (
        GOOD.replace("  fetch:\n", "  script:\n").replace("tool: fetch", "tool: script").replace("answers:", "answer:"),
        ["good.yaml:8: unknown key `answer` in `tools.script`; did you mean `answers`?"],
    ),
    "missing key": (GOOD.replace("user: Do it.\n", ""), ["good.yaml:1: `user` is missing; add `user`"]),
    "wrong type": (
        GOOD.replace("repeat: 2", "repeat: two"),
        ["good.yaml:10: `script.0.repeat` is 'two'; write a whole number"],
    ),
    "wrong type of two kinds": (
        GOOD.replace("repeat: always", "repeat: [1]"),
        ["good.yaml:8: `tools.fetch.answers.0.repeat` is [1]; write a whole number or 'always'"],
    ),
    "a number is no text": (
        GOOD.replace("say: Done.", "say: 5"),
        ["good.yaml:12: `script.1.say` is 5; write a text (quote it)"],
    ),
    "a word outside its list": (
        GOOD.replace("completed", "complete"),
        ["good.yaml:13: `expect.outcome` is 'complete'; write 'completed', 'failed', 'cancelled' or 'suspended'"],
    ),
    "repeat below 1": (
        GOOD.replace("repeat: 2", "repeat: 0"),
        ["good.yaml:10: `script.0.repeat` is 0; it should be greater than or equal to 1"],
    ),
    "id other than the file": (
        GOOD.replace("id: good", "id: better"),
        ["good.yaml:1: `id` is 'better' in a file called 'good'; write `id: good` or rename the file"],
    ),
    "id outside its pattern": (
        GOOD.replace("id: good", "id: Good_one"),
        [
            "good.yaml:1: `id` is 'Good_one'; it should match pattern '^[a-z0-9-]{1,80}$'",
            "good.yaml:1: `id` is 'Good_one' in a file called 'good'; write `id: good` or rename the file",
        ],
    ),
    "unknown rule": (
        GOOD.replace("loop.tools.unknown", "loop.tools.unknwn"),
        [
            "good.yaml:3: no requirement is called `loop.tools.unknwn`; did you mean `loop.tools.unknown`?",
        ],
    ),
    "tool that is not declared": (
        GOOD.replace("{tool: fetch", "{tool: fetsh").replace("loop.tools.unknown", "loop.turn.order"),
        ["good.yaml:11: the tool `fetsh` is not declared; declare it under `tools`, or prove loop.tools.unknown"],
    ),
    "request beyond the script": (
        GOOD.replace("{outcome: completed}", "{requests: [{at: 4, control: none}]}"),
        ["good.yaml:13: request 4 of a script with 3 turns; write at most 3, or `last`"],
    ),
    "limit that cannot be": (
        GOOD.replace("script:", "limits: {max_steps: 2, synthesis_reserve_steps: 2}\nscript:"),
        ["good.yaml:9: `limits`: synthesis_reserve_steps is 2; it must be strictly below max_steps (2)"],
    ),
    "cost limit without a price": (
        GOOD.replace("script:", "limits:\n  max_cost: 0.5\nscript:"),
        ["good.yaml:10: `max_cost` is set, but the model 'sim-model' has no price; add it to `settings.prices`"],
    ),
    "tool that hangs for ever": (
        GOOD.replace('{text: "page {n}", repeat: always}', "{hangs: true}"),
        [
            "good.yaml:8: an answer that hangs, with nothing that ends it; give the tool a `timeout`, or the run a "
            "`deadline`"
        ],
    ),
    "answer that is never reached": (
        GOOD.replace("repeat: always}", "repeat: always}, {text: two}"),
        [
            "good.yaml:8: an answer that is never reached: the one before it is given always; put it first, or give "
            "the other a `when`"
        ],
    ),
    "answer of two kinds": (
        GOOD.replace("{text:", "{error: bad, text:"),
        [
            "good.yaml:8: `tools.fetch.answers.0` holds text and error; write exactly one of text, json, large, image, "
            "error, empty, noop, raises, hangs, sequence"
        ],
    ),
    "turn that says nothing": (
        GOOD.replace("say: Done.", "when: {control: none}"),
        ["good.yaml:12: `script.1` says nothing; write `say`, `calls`, `refusal`, `fail` or `raw`, or `empty: true`"],
    ),
    "pause on a wire without pauses": (
        GOOD.replace("say: Done.", "say: Done.\n    stop: pause"),
        ['good.yaml:13: only Anthropic pauses a turn; write `arms: ["anthropic-messages-*", sim]`'],
    ),
    "arm that does not exist": (
        GOOD.replace("script:", "arms: [openai-chat-streem]\nscript:"),
        ["good.yaml:9: no arm fits `openai-chat-streem`; did you mean `openai-chat-stream`?"],
    ),
    "moment that does not exist": (
        GOOD.replace("script:", "interventions: [{at: aproval_requested, do: cancel}]\nscript:"),
        ["good.yaml:9: no moment or event is called `aproval_requested`; did you mean `approval_requested`?"],
    ),
    "decision at a moment without a person": (
        GOOD.replace("script:", "interventions: [{at: tool_started, do: approve}]\nscript:"),
        [
            "good.yaml:9: `interventions.0` `do: approve` is said to a suspended run; write `at: approval_requested`",
        ],
    ),
    "call that the script does not make": (
        GOOD.replace("{outcome: completed}", "{results: [{call: call_3, is_error: true}]}"),
        ["good.yaml:13: the script makes no call `call_3`; its calls are call_1 to call_2"],
    ),
    "unknown capability": (
        GOOD.replace("user:", "requires: [aproval]\nuser:"),
        ["good.yaml:4: no capability is called `aproval`; did you mean `approval`?"],
    ),
    "unknown event": (
        GOOD.replace("{outcome: completed}", "{events: [run.complete]}"),
        ["good.yaml:13: no event is called `run.complete`; did you mean `run.completed`?"],
    ),
    "unknown reason": (
        GOOD.replace("{outcome: completed}", "{outcome: failed, reason: budget_exceded}"),
        ["good.yaml:13: no failure has the reason `budget_exceded`; did you mean `budget_exceeded`?"],
    ),
    "duplicate key": (
        GOOD + "title: Another\n",
        ["good.yaml:14: the key `title` stands here a second time; keep one (first: 2)"],
    ),
    "broken YAML": (
        GOOD + "  bad: [\n",
        ["good.yaml:14: not YAML: did not find expected key; mend the line, or the indentation above it"],
    ),
    "a tag": (
        GOOD.replace("user: Do it.", "user: !!python/object:os.system Do it."),
        ["good.yaml:4: the tag 'tag:yaml.org,2002:python/object:os.system'; leave it out: a scenario holds plain data"],
    ),
    "a merge key": (
        GOOD.replace("user: Do it.", "<<: {user: Do it.}"),
        ["good.yaml:4: a merge key (<<); write the keys out: each line stands for itself"],
    ),
    "not a mapping": ("- one\n", ["good.yaml:1: the scenario is ['one']; write a mapping"]),
    "empty": ("", ["good.yaml:1: the file is empty; write a scenario"]),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_told_with_line_and_mend(name: str) -> None:
    text, expected = BAD[name]
    assert problems(text) == expected


def test_all_problems_of_a_file_are_told_together_in_the_order_of_their_lines() -> None:
    text = GOOD.replace("proves:", "prooves:").replace("repeat: 2", "repeat: two").replace("say: Done.", "sai: Done.")
    lines = [line.split(":")[1] for line in problems(text)]
    assert lines == ["1", "3", "10", "12"]


def test_a_tool_that_nobody_declared_may_be_called_to_prove_just_that() -> None:
    text = GOOD.replace("{tool: fetch", "{tool: fetsh")
    assert parse_scenario(text, "good.yaml", "good", RULES).script[0].calls[0].tool == "fetsh"


def test_only_json_s_words_have_a_meaning() -> None:
    value = Document("a: no\nb: on\nc: 1:30\nd: 2026-01-01\ne: 0x10\nf: true\ng: null\nh: 1.50\ni: '1'\nj: 010\n").value
    assert value == {
        "a": "no", "b": "on", "c": "1:30", "d": "2026-01-01", "e": "0x10", "f": True, "g": None, "h": 1.5, "i": "1",
        "j": 10,
    }  # fmt: skip


def test_a_document_that_grows_through_aliases_is_refused() -> None:
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    rows += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(DocumentError, match="more than 200000 values"):
        Document("\n".join(rows))


def test_two_files_with_one_id_are_refused(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "good.yaml").write_text(GOOD, encoding="utf-8")
    with pytest.raises(ScenarioError, match=r"two/good.yaml:1: the id `good` stands in .*one/good.yaml already"):
        load_all([tmp_path])


def test_a_file_that_cannot_be_read_is_a_problem_of_that_file(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_bytes(b"id: \xff\n")
    for path, words in ((tmp_path / "none.yaml", "No such file"), (bad, "not UTF-8")):
        with pytest.raises(ScenarioError, match=words):
            load_scenario(path)


def test_the_project_s_scenarios_fit_the_published_schema() -> None:
    validator = jsonschema_rs.validator_for(scenario_schema())
    files = scenario_files([data_root() / "scenarios"])
    assert len(files) >= 12
    for path in files:
        validator.validate(Document(path.read_text(encoding="utf-8")).value)


def test_the_published_schema_refuses_an_unknown_key() -> None:
    validator = jsonschema_rs.validator_for(scenario_schema())
    assert validator.is_valid(Document(GOOD).value)
    assert not validator.is_valid({**Document(GOOD).value, "extra": 1})


def test_two_hundred_files_are_read_in_well_under_a_second() -> None:
    parse_scenario(GOOD, "good.yaml")
    begun = time.process_time()
    for _ in range(200):
        parse_scenario(GOOD, "good.yaml", "good", RULES)
    assert time.process_time() - begun < 0.5


def test_half_a_character_can_be_written_and_two_halves_are_one() -> None:
    text = GOOD.replace("user: Do it.", r'user: "half \ud83d, whole \ud83d\ude00, long \U0000DC00"')
    scenario = parse_scenario(text, "good.yaml", "good", RULES)
    assert scenario.user == "half \ud83d, whole \U0001f600, long \udc00"
    assert problems(text.replace("title: A good scenario", "titel: x"))[0].startswith("good.yaml:1: `title` is missing")


def test_a_text_that_is_none_is_still_refused() -> None:
    assert "write a text (quote it)" in problems(GOOD.replace("user: Do it.", "user: 7"))[0]
