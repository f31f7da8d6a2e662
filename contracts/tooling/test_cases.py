"""The table of public faults: each case has a scenario or a test that can fail for it, or a reason why it has none."""

import json
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from harness.checks.requirements import load_requirements
from harness.data_root import data_root
from harness.scenario.format import Scenario
from harness.scenario.load import load_all, scenario_files

ROOT = data_root()
FILE = ROOT / "contracts" / "cases.toml"
PUBLISHED = ROOT.parent / "shared" / "cases" / "runtime-faults.jsonl"
KEYS = {"id", "kind", "fault", "scenarios", "contract", "departs", "because", "out_of_scope", "opposite"}
RUN_KINDS = {"loop", "budget", "tool_choice", "resume", "retry_usage", "empty_stop", "cancel_denial", "orphan"}
CASE = re.compile(r"B\d{3}")
NODE = re.compile(r"(?P<file>contracts/[a-z_/]+\.py)::(?P<test>test_[a-z0-9_]+)(?:\[(?P<one>.+)\])?")

ROWS: list[dict[str, Any]] = tomllib.loads(FILE.read_text(encoding="utf-8"))["case"]
TABLE = {row["id"]: row for row in ROWS}


@cache
def scenarios() -> dict[str, Scenario]:
    return {one.id: one for one in load_all(scenario_files([ROOT / "scenarios"])).values()}


def missing_from(table: dict[str, dict[str, Any]], published: dict[str, str]) -> dict[str, str]:
    """The published cases that the table does not have, or has under another kind."""
    return {name: kind for name, kind in published.items() if table.get(name, {}).get("kind") != kind}


def faults_of(row: dict[str, Any], known: dict[str, Scenario], rules: set[str], root: Path = ROOT) -> list[str]:
    """What is wrong with one row of the table."""
    found = [f"unknown key {key}" for key in sorted(set(row) - KEYS)]
    covered = bool(row.get("scenarios") or row.get("contract"))
    if ("out_of_scope" in row) == covered:
        found.append("is covered and out of scope" if covered else "is neither covered nor out of scope")
    if ("departs" in row) != ("because" in row):
        found.append("`departs` and `because` go together")
    if "departs" in row and row["departs"] not in rules:
        found.append(f"departs by the unknown rule {row['departs']}")
    found += [f"{key} says nothing" for key in ("fault", "because", "out_of_scope") if row.get(key, "x").strip() == ""]
    for name in row.get("scenarios", []):
        if name not in known:
            found.append(f"the scenario {name} does not exist")
        elif row["id"] not in known[name].sources:
            found.append(f"the scenario {name} does not name it in its sources")
    return found + [f"no such test: {node}" for node in row.get("contract", []) if not exists(node, root)]


def exists(node: str, root: Path) -> bool:
    """Whether a test stands where a node id says; the case in brackets must stand in its file as well."""
    parts = NODE.fullmatch(node)
    if parts is None or not (root / parts["file"]).is_file():
        return False
    text = (root / parts["file"]).read_text(encoding="utf-8")
    return f"def {parts['test']}(" in text and (parts["one"] is None or f'"{parts["one"]}"' in text)


@cache
def rules() -> set[str]:
    return set(load_requirements(ROOT / "contracts" / "requirements"))


def test_every_published_case_stands_in_the_table() -> None:
    if not PUBLISHED.is_file():
        pytest.skip("the published cases are not beside this checkout")
    lines = PUBLISHED.read_text(encoding="utf-8").splitlines()
    published = {case["id"]: case["kind"] for case in map(json.loads, lines)}
    assert missing_from(TABLE, published) == {}
    assert set(TABLE) == set(published), "a row of the table is no published case"


def test_no_case_stands_twice_and_the_ids_are_in_no_doubt() -> None:
    assert len(TABLE) == len(ROWS)
    assert [name for name in TABLE if not CASE.fullmatch(name)] == []


@pytest.mark.parametrize("name", TABLE)
def test_a_case_is_covered_or_out_of_scope_and_says_so_truly(name: str) -> None:
    assert faults_of(TABLE[name], scenarios(), rules()) == []


def test_every_case_that_a_scenario_names_stands_in_its_row() -> None:
    named = {(source, one.id) for one in scenarios().values() for source in one.sources if CASE.fullmatch(source)}
    told = {(row["id"], name) for row in ROWS for name in row.get("scenarios", [])}
    assert named - told == set()


def test_a_case_of_a_run_has_a_scenario_unless_a_wire_alone_shows_it() -> None:
    """A run's fault that only bytes can show has its test among the provider contracts."""
    bare = [row for row in ROWS if row["kind"] in RUN_KINDS and not {"scenarios", "out_of_scope"} & set(row)]
    assert [row["id"] for row in bare if not all("contracts/provider/" in node for node in row["contract"])] == []


def test_opposite_cases_are_both_kept_by_scenarios_of_their_own() -> None:
    pairs = [(row, TABLE[other]) for row in ROWS for other in row.get("opposite", [])]
    assert pairs
    for one, other in pairs:
        assert one.get("scenarios") and other.get("scenarios"), (one["id"], other["id"])
        assert one["scenarios"] != other["scenarios"], (one["id"], other["id"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"scenarios": ["nowhere"]}, "the scenario nowhere does not exist"),
        ({"id": "B999"}, "the scenario cycle-of-three does not name it in its sources"),
        ({"out_of_scope": "It does not matter."}, "is covered and out of scope"),
        ({"scenarios": []}, "is neither covered nor out of scope"),
        ({"departs": "loop.turn.order"}, "`departs` and `because` go together"),
        ({"departs": "loop.no.rule", "because": "So."}, "departs by the unknown rule loop.no.rule"),
        ({"fault": " "}, "fault says nothing"),
        ({"contract": ["contracts/loop/test_budgets.py::test_no"]}, "contracts/loop/test_budgets.py::test_no"),
        ({"reason": "So."}, "unknown key reason"),
    ],
)
def test_a_wrong_row_is_found(change: dict[str, Any], said: str) -> None:
    row = {"id": "B006", "kind": "loop", "fault": "A cycle.", "scenarios": ["cycle-of-three"]}
    assert faults_of(row, scenarios(), rules()) == []
    assert any(said in fault for fault in faults_of({**row, **change}, scenarios(), rules()))


def test_a_case_that_is_missing_or_of_another_kind_is_found() -> None:
    assert missing_from(TABLE, {"B001": "loop"}) == {}
    assert missing_from(TABLE, {"B001": "budget", "B998": "loop"}) == {"B001": "budget", "B998": "loop"}
