"""`harness list`: the scenarios with what they prove, or the requirements with what proves them."""

import json
from pathlib import Path
from typing import Any

import click

from harness.cli.errors import CommandError, Exit
from harness.cli.settings import configuration, scenario_folders
from harness.suite.selection import Selected, SelectionError, select


@click.command(name="list")
@click.argument("names", nargs=-1)
@click.option("--requirements", is_flag=True, help="List the promises and what proves each.")
@click.option("--json", "as_json", is_flag=True, help="One JSON array on standard output.")
def list_scenarios(names: tuple[str, ...], requirements: bool, as_json: bool) -> None:
    """List scenarios (NAMES as in `harness run`), or requirements."""
    rows = requirement_rows(names) if requirements else scenario_rows(names)
    if not rows:
        raise CommandError("nothing to list", Exit.NOTHING_RAN)
    if as_json:
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    for row in rows:
        click.echo(_requirement_line(row) if requirements else f"{row['area']:<10} {row['id']:<44} {row['title']}")


def loaded(names: tuple[str, ...]) -> list[tuple[Selected, Any]]:
    """The selected files and their scenarios. Raises CommandError."""
    from harness.scenario.load import load_scenario
    from harness.scenario.problems import ScenarioError
    from harness.suite.promises import requirements

    try:
        chosen = select(names, scenario_folders(configuration()))
        return [(one, load_scenario(one.file, requirements().keys())) for one in chosen]
    except (SelectionError, ScenarioError) as error:
        raise CommandError(str(error)) from None


def scenario_rows(names: tuple[str, ...]) -> list[dict[str, Any]]:
    """`list --json`: one object a scenario."""
    from harness.scenario.arms import matching

    return [
        {
            "id": scenario.id,
            "title": scenario.title,
            "area": one.file.parent.name,
            "file": _shown(one.file),
            "proves": list(scenario.proves),
            "requires": list(scenario.requires),
            "sources": list(scenario.sources),
            "items": [f"{scenario.id}[{arm.name}]" for arm in matching(scenario.arms)],
        }
        for one, scenario in loaded(names)
    ]


def requirement_rows(names: tuple[str, ...]) -> list[dict[str, Any]]:
    """`list --requirements --json`: one object a promise."""
    from harness.suite.promises import requirements

    proven: dict[str, list[str]] = {}
    for _, scenario in loaded(()):
        for rule in scenario.proves:
            proven.setdefault(rule, []).append(scenario.id)
    known = requirements()
    wanted = [rule for rule in known if not names or any(_fits(rule, name) for name in names)]
    if not wanted:
        raise CommandError(f"no requirement is called {', '.join(names)}; `harness list --requirements` shows them all")
    return [_requirement_row(known[rule], proven.get(rule, [])) for rule in wanted]


def _fits(rule: str, name: str) -> bool:
    from fnmatch import fnmatchcase

    return fnmatchcase(rule, name)


def _requirement_row(rule: Any, scenarios: list[str]) -> dict[str, Any]:
    status = "planned" if rule.planned else ("proven" if scenarios else "checked")
    return {
        "id": rule.id,
        "level": rule.level,
        "statement": rule.statement,
        "source": rule.source,
        "checks": [rule.check] if rule.check else [],
        "scenarios": scenarios,
        "status": status,
    }


def _requirement_line(row: dict[str, Any]) -> str:
    return f"{row['level']:<6} {row['id']:<46} {row['status']:<8} {len(row['scenarios']):>3} scenarios  {row['source']}"


def _shown(file: Path) -> str:
    from harness.data_root import data_root

    for base in (Path.cwd(), data_root()):
        if file.absolute().is_relative_to(base):
            return file.absolute().relative_to(base).as_posix()
    return str(file)
