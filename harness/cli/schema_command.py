"""`harness schema`: the published JSON Schema of a machine-readable output, or of the scenario format."""

import json

import click

from harness.cli.errors import CommandError


@click.command()
@click.argument("name", required=False)
def schema(name: str | None) -> None:
    """Print the JSON Schema called NAME; without NAME, the names."""
    from harness.reports.schema_files import schema as published
    from harness.reports.schema_files import schema_names

    names = sorted([*schema_names(), "scenario"])
    if name is None:
        click.echo("\n".join(names))
        return
    if name not in names:
        raise CommandError(f"no schema is called {name!r}; there are: {', '.join(names)}")
    if name == "scenario":
        from harness.scenario.format import scenario_schema

        click.echo(json.dumps(scenario_schema(), indent=2, ensure_ascii=False))
        return
    click.echo(json.dumps(published(name), indent=2, ensure_ascii=False))
