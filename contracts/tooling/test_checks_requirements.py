"""Requirements as data: the files of the project, and what their loader says of wrong ones."""

from pathlib import Path

import pytest

from harness.checks.registry import CHECKS
from harness.checks.requirements import RequirementError, load_requirements, unproven
from harness.data_root import data_root
from harness.vocabulary.verdict import Requirement

GOOD = {
    "id": '"loop.budget.cost"',
    "level": '"MUST"',
    "statement": '"S."',
    "source": '"API"',
    "check": '"loop.budget.cost"',
}


def write(folder: Path, **changes: str | None) -> Path:
    rows = {key: value for key, value in {**GOOD, **changes}.items() if value is not None}
    text = "[[requirement]]\n" + "".join(f"{key} = {value}\n" for key, value in rows.items())
    (folder / "budget.toml").write_text(text, encoding="utf-8")
    return folder


def test_every_rule_of_the_project_is_tied_to_a_check_or_planned() -> None:
    known = load_requirements(data_root() / "contracts" / "requirements")
    assert unproven(known, CHECKS) == []
    assert len(known) == 70


def test_a_requirement_is_read_with_its_defaults(tmp_path: Path) -> None:
    known = load_requirements(write(tmp_path, requires='["usage"]', boundary="true"))
    assert known == {
        "loop.budget.cost": Requirement(
            id="loop.budget.cost",
            level="MUST",
            statement="S.",
            source="API",
            check="loop.budget.cost",
            requires=frozenset({"usage"}),
            boundary=True,
        )
    }


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"level": '"must"'}, "level is 'must'; write MUST or SHOULD"),
        ({"level": None}, "`level` is missing or empty"),
        ({"statement": '"  "'}, "`statement` is missing or empty"),
        ({"source": "3"}, "`source` is missing or empty"),
        ({"id": None}, "requirement 1: `id` is missing or empty"),
        ({"id": '"Loop.Budget"'}, "not of the form"),
        ({"id": '"loop.breaker.counts"', "check": '"loop.breaker.counts"'}, "move it to breaker.toml"),
        ({"check": None}, "write either `check`"),
        ({"planned": '"budget"'}, "write either `check`"),
        ({"check": '"loop.budget.other"'}, "a check has the id of its requirement"),
        ({"check": None, "planned": '""'}, "`planned` is empty"),
        ({"requires": '["usages"]'}, "did you mean 'usage'?"),
        ({"requires": '"usage"'}, "write a list of capabilities"),
        ({"boundary": '"yes"'}, "`boundary` is not true or false"),
        ({"sources": '"x"'}, "unknown key 'sources' (did you mean 'source'?)"),
    ],
)
def test_a_wrong_requirement_is_refused_with_file_id_and_mend(
    tmp_path: Path, changes: dict[str, str | None], says: str
) -> None:
    with pytest.raises(RequirementError) as error:
        load_requirements(write(tmp_path, **changes))
    assert says in str(error.value)
    assert str(tmp_path / "budget.toml") in str(error.value)


def test_one_id_stands_in_one_place(tmp_path: Path) -> None:
    write(tmp_path)
    text = (tmp_path / "budget.toml").read_text(encoding="utf-8")
    (tmp_path / "budget.toml").write_text(text + text, encoding="utf-8")
    with pytest.raises(RequirementError, match=r"loop\.budget\.cost: stands in budget\.toml already"):
        load_requirements(tmp_path)


@pytest.mark.parametrize("text", ["not toml", "", "other = 1\n", "requirement = 3\n"])
def test_a_file_of_another_form_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "budget.toml").write_text(text, encoding="utf-8")
    with pytest.raises(RequirementError, match=r"budget\.toml"):
        load_requirements(tmp_path)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequirementError, match="no requirement file"):
        load_requirements(tmp_path)


def test_permitted_differences_are_no_requirements(tmp_path: Path) -> None:
    (write(tmp_path) / "permitted-differences.toml").write_text("difference = 1\n", encoding="utf-8")
    assert set(load_requirements(tmp_path)) == {"loop.budget.cost"}


def rule(name: str, **more: str) -> Requirement:
    return Requirement(id=name, level="MUST", statement="S.", source="API", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("known", "checks", "says"),
    [
        ([], ["a.b"], "a.b: a check without a requirement"),
        ([rule("a.b")], [], "a.b: neither `check` nor `planned`"),
        ([rule("a.b", check="a.b")], [], "a.b: names a check that does not exist"),
        ([rule("a.b", planned="later")], ["a.b"], "a.b: planned, though a check exists"),
    ],
)
def test_what_is_not_tied_together_is_named(known: list[Requirement], checks: list[str], says: str) -> None:
    gaps = unproven({one.id: one for one in known}, checks)
    assert len(gaps) == 1
    assert gaps[0].startswith(says)


def test_a_planned_rule_is_no_gap() -> None:
    assert unproven({"a.b": rule("a.b", planned="later")}, []) == []
