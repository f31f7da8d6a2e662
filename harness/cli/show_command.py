"""`harness show`: a scenario with what it proves and how it goes, or a requirement with what proves it."""

import click

from harness.cli.errors import CommandError
from harness.cli.list_command import loaded, requirement_rows


@click.command()
@click.argument("name", metavar="ID")
def show(name: str) -> None:
    """Show a scenario (its file, its promises, its requests in short) or a requirement."""
    from harness.suite.promises import requirements

    lines = _requirement(name) if name in requirements() else _scenario(name)
    click.echo("\n".join(lines))


def _requirement(name: str) -> list[str]:
    (row,) = requirement_rows((name,))
    lines = [f"{row['id']}  [{row['level']}]  {row['source']}", "", f"  {row['statement']}", ""]
    checks = ", ".join(row["checks"]) or "none yet"
    return [*lines, f"  check      {checks} ({row['status']})", *_column("scenarios", row["scenarios"] or ["none"])]


def _column(head: str, entries: list[str]) -> list[str]:
    return [f"  {head if place == 0 else '':<10} {entry}" for place, entry in enumerate(entries)]


def _scenario(name: str) -> list[str]:
    found = loaded((name,))
    if len(found) != 1:
        raise CommandError(f"{name!r} fits {len(found)} scenarios; show takes one id")
    one, scenario = found[0]
    from harness.suite.promises import requirements

    known = requirements()
    lines = [scenario.title, "", f"  file       {one.file}"]
    lines += _column("proves", [f"{rule}  {known[rule].statement}" for rule in scenario.proves])
    lines += _column("sources", list(scenario.sources)) if scenario.sources else []
    return [*lines, "", *_play(scenario)]


def _play(scenario: object) -> list[str]:
    """How the reference loop goes through it, without a wire."""
    from harness.scenario.runner import run_scenario
    from harness.suite.promises import requirements
    from harness.suite.subjects import subject_named
    from harness.suite.timeline import timeline_lines

    run = run_scenario(scenario, subject_named("reference"), requirements=requirements())  # type: ignore[arg-type]
    return ["the reference loop, without a wire:", *timeline_lines(run.trace)]
