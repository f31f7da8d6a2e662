"""`harness drift`: whatever the SDK's types or recorded traffic add, drop or change is found and given its kind."""

import copy
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from harness.contract.wire_facts import own_secret
from harness.recording.drift import Change, Difference, compare, drift, every, ground
from harness.recording.drift_sides import answers, written
from harness.recording.reliance import relied_on
from harness.recording.shapes import Ground, Shape
from harness.reports.schema_files import schema
from harness.wire.registry import CODEC_IDS
from harness.wire.schema import PARTS, Part, sdk_schema

Found = tuple[str, Change, tuple[str, ...], str, bool]


def found(
    transport: str,
    part: Part,
    *,
    types: Callable[[Any], None] = lambda schema: None,
    recorded: Callable[[Any], Any] | None = None,
) -> set[Found]:
    """The differences after a change of the SDK's types or of traffic, without those that there are anyway."""
    changed = copy.deepcopy(dict(sdk_schema(transport, part)))
    types(changed)
    before = _compared(transport, part, ground(transport, part), (lambda one: one) if recorded else None)
    after = _compared(transport, part, Ground(changed, closed=part != "request"), recorded)
    return {_key(one) for one in after} - {_key(one) for one in before}


def _compared(transport: str, part: Part, types: Ground, recorded: Callable[[Any], Any] | None) -> list[Difference]:
    ours, heard = Shape(types), Shape(types)
    for document in written(transport, part):
        ours.add(document)
        if recorded:
            heard.add(recorded(copy.deepcopy(document)))
    return compare(transport, part, types, ours, heard if recorded else None, relied_on(transport, part, every(ours)))


def _key(one: Difference) -> Found:
    return one.place, one.change, one.sides, one.name, one.breaks


def choice(schema: Any) -> Any:
    return schema["$defs"]["Choice"]["properties"]


def added(schema: Any) -> None:
    schema["properties"]["carbon"] = {"anyOf": [{"type": "number"}, {"type": "null"}]}


def demanded(schema: Any) -> None:
    schema["properties"]["carbon"] = {"type": "number"}
    schema["required"] = [*schema["required"], "carbon"]


def removed(schema: Any) -> None:
    del choice(schema)["finish_reason"]


def retyped(schema: Any) -> None:
    schema["properties"]["created"] = {"type": "string"}


def one_more_value(schema: Any) -> None:
    choice(schema)["finish_reason"]["enum"].append("tired")


def one_value_less(schema: Any) -> None:
    choice(schema)["finish_reason"]["enum"].remove("length")


SDK_CHANGES: dict[Callable[[Any], None], Found] = {
    added: ("/carbon", Change.NEW_FIELD, ("sdk",), "", False),
    demanded: ("/carbon", Change.NEW_REQUIRED, ("sdk",), "", True),
    removed: ("/choices/*/finish_reason", Change.REMOVED_FIELD, ("sdk",), "", True),
    retyped: ("/created", Change.TYPE, ("sdk",), "", True),
    one_more_value: ("/choices/*/finish_reason", Change.NEW_VALUE, ("sdk",), "tired", False),
    one_value_less: ("/choices/*/finish_reason", Change.REMOVED_VALUE, ("sdk",), "length", True),
}


@pytest.mark.parametrize("change", SDK_CHANGES, ids=lambda change: change.__name__)
def test_a_change_of_the_sdks_types_is_classified(change: Callable[[Any], None]) -> None:
    assert SDK_CHANGES[change] in found("openai-chat", "answer", types=change)


def test_an_event_that_the_sdk_drops_breaks_what_reads_it() -> None:
    def without_delta(schema: Any) -> None:
        schema["oneOf" if "oneOf" in schema else "anyOf"] = [
            one
            for one in schema.get("oneOf", schema.get("anyOf"))
            if not one["$ref"].endswith("RawContentBlockDeltaEvent")
        ]

    rows = found("anthropic-messages", "stream", types=without_delta)
    assert ("", Change.REMOVED_MEMBER, ("sdk",), "content_block_delta", True) in rows


def test_a_field_that_a_request_type_no_longer_names_breaks_what_sends_it() -> None:
    def without_system(schema: Any) -> None:
        for one in schema["$defs"].values():
            one.get("properties", {}).pop("system", None)

    rows = found("anthropic-messages", "request", types=without_system)
    assert ("/system", Change.REMOVED_FIELD, ("sdk",), "", True) in rows


def with_usage(**more: Any) -> Callable[[Any], Any]:
    return lambda one: one | {"usage": one["usage"] | more}


def without(name: str) -> Callable[[Any], Any]:
    return lambda one: {key: value for key, value in one.items() if key != name}


def with_stop(reason: str) -> Callable[[Any], Any]:
    return lambda one: one | {"stop_reason": reason}


def with_block(kind: str) -> Callable[[Any], Any]:
    return lambda one: one | {"content": [*one["content"], {"type": kind}]}


TRAFFIC: list[tuple[Callable[[Any], Any], Found]] = [
    (with_usage(carbon=1), ("/usage/carbon", Change.NEW_FIELD, ("recorded",), "", False)),
    (with_usage(inference_geo="eu"), ("/usage/inference_geo", Change.NEW_FIELD, ("sdk", "recorded"), "", False)),
    (without("stop_reason"), ("/stop_reason", Change.REMOVED_FIELD, ("recorded",), "", True)),
    (without("stop_details"), ("/stop_details", Change.REMOVED_FIELD, ("recorded",), "", False)),
    (with_usage(input_tokens="7"), ("/usage/input_tokens", Change.TYPE, ("recorded",), "", True)),
    (with_stop("tired"), ("/stop_reason", Change.NEW_VALUE, ("recorded",), "tired", False)),
    (with_block("hologram"), ("/content/*", Change.NEW_MEMBER, ("recorded",), "hologram", False)),
]


@pytest.mark.parametrize(("change", "expected"), TRAFFIC, ids=[f"{row[1]}{row[0]}-{row[3]}" for _, row in TRAFFIC])
def test_a_change_in_recorded_answers_is_classified(change: Callable[[Any], Any], expected: Found) -> None:
    assert expected in found("anthropic-messages", "answer", recorded=change)


def test_a_new_event_in_recorded_streams_is_reported() -> None:
    rows = found("openai-responses", "stream", recorded=lambda one: one | {"type": "response.dreaming"})
    assert ("", Change.NEW_MEMBER, ("recorded",), "response.dreaming", False) in rows


def test_traffic_that_still_has_what_the_sdks_types_do_not_name_breaks_nothing() -> None:
    rows = found("openai-chat", "answer", types=removed, recorded=lambda one: one)
    assert ("/choices/*/finish_reason", Change.REMOVED_FIELD, ("sdk",), "", False) in rows
    assert not any(row[-1] for row in rows)


@pytest.mark.parametrize("transport", CODEC_IDS)
@pytest.mark.parametrize("part", PARTS)
def test_our_own_answers_as_recordings_are_no_news(transport: str, part: Part) -> None:
    """Nothing differs from itself: what is reported is what the SDK's types have."""
    rows = _compared(transport, part, ground(transport, part), lambda one: one)
    assert [one for one in rows if "recorded" in one.sides or one.breaks] == []


@pytest.mark.parametrize("transport", CODEC_IDS)
def test_the_parsers_rely_on_the_end_of_an_answer_and_on_no_ornament(transport: str) -> None:
    places = ("/id", "/created", "/created_at", "/service_tier", "/model", "/usage")
    relied = relied_on(transport, "answer", frozenset(places))
    assert relied == {"/id", "/usage"}
    assert next(answers(transport, "answer"))


def test_nothing_of_the_installed_sdks_breaks_what_is_written_here() -> None:
    assert [one for one in drift(CODEC_IDS) if one.breaks] == []


def run(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "harness", "drift", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def record(answer: dict[str, Any], status: int = 200) -> str:
    request = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    return json.dumps(
        {
            "id": "one",
            "transport": "openai-chat",
            "streaming": False,
            "status": status,
            "request": request,
            "response": answer,
        }
    )


def answer() -> dict[str, Any]:
    (document,) = next(answers("openai-chat", "answer"))
    return dict(document)


def test_the_command_reports_news_and_exits_0(tmp_path: Path) -> None:
    file = tmp_path / "one.jsonl"
    file.write_text(record(answer() | {"carbon": 3}) + "\n", encoding="utf-8")
    ran = run(file, "--format", "json")
    assert ran.returncode == 0, ran.stderr + ran.stdout
    result = json.loads(ran.stdout)
    jsonschema.validate(result, schema("drift"))
    assert (result["recorded"], result["transports"]) == (1, ["openai-chat"])
    (row,) = [one for one in result["differences"] if one["place"] == "/carbon"]
    assert (row["change"], row["sides"], row["theirs"]) == ("new-optional-field", ["recorded"], ["integer"])
    assert row["example"].endswith("one.jsonl:1")


def test_the_command_names_what_breaks_and_exits_1(tmp_path: Path) -> None:
    file = tmp_path / "one.jsonl"
    file.write_text(record(answer() | {"usage": None} | {"choices": {"0": {}}}) + "\n", encoding="utf-8")
    ran = run(file)
    assert ran.returncode == 1, ran.stderr
    assert "BREAKS  openai-chat answer  /choices: type-changed (recorded) is object, here array" in ran.stdout
    assert f"see {file}:1" in ran.stdout


def test_the_command_needs_something_to_compare(tmp_path: Path) -> None:
    refused, broken = tmp_path / "refused.jsonl", tmp_path / "broken.jsonl"
    refused.write_text(record({"error": {"message": "no"}}, 400) + "\n", encoding="utf-8")
    broken.write_text("{half\n", encoding="utf-8")
    for words, code, says in (
        ((refused,), 5, "no exchange answered 2xx"),
        ((broken,), 2, "broken.jsonl:1"),
        ((tmp_path / "none",), 2, "no such file"),
        (("--transport", "smoke"), 2, "no transport is called 'smoke'"),
    ):
        ran = run(*words)
        assert (ran.returncode, says in ran.stderr) == (code, True), ran.stderr
        assert "Traceback" not in ran.stderr


def test_what_recordings_name_is_shown_without_secrets_and_control_characters(tmp_path: Path) -> None:
    file = tmp_path / "one.jsonl"
    changed = answer() | {own_secret(): 1, "\x1b[31mred\ud800": 2, "long" * 1000: 3}
    file.write_text(record(changed) + "\n", encoding="utf-8")
    for words in ((file, "--all"), (file, "--format", "json")):
        ran = run(*words)
        assert ran.returncode == 0, ran.stderr
        assert own_secret() not in ran.stdout
        assert "\x1b" not in ran.stdout
        assert max(map(len, ran.stdout.splitlines())) < 1000
