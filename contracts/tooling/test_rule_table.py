"""The checked-in table of rules is the one that the rules make."""

from harness.data_root import data_root
from harness.reports.rule_table import FILE, rule_table, write
from harness.wire.catalogue import rules


def test_the_checked_in_table_is_not_stale() -> None:
    kept = data_root() / "reports" / FILE
    assert kept.read_text(encoding="utf-8") == rule_table(), f"{kept} is stale: run `make tables`"


def test_every_rule_stands_in_the_table_with_its_answer_and_source(tmp_path) -> None:  # type: ignore[no-untyped-def]
    lines = write(tmp_path).read_text(encoding="utf-8").splitlines()
    for rule in rules().values():
        slug = rule.id.rpartition(".")[2]
        said = [line for line in lines if line.startswith(f"| {slug} | {rule.level} |")]
        assert any(str(rule.status) in line and rule.source.replace("|", "\\|") in line for line in said), rule.id


def test_every_rule_that_is_not_native_is_of_some_dialect() -> None:
    assert "in no dialect" not in rule_table()
