"""`harness doctor`: versions, settings and where they come from, and whether the parts that a run needs work here."""

import platform
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import click

from harness.cli.errors import CommandError, Exit
from harness.cli.settings import configuration, scenario_folders
from harness.config import KEYS

_SDKS = ("anthropic", "openai", "httpx2", "pydantic")
_PACKAGES = (*_SDKS, "pytest", "pytest-xdist", "hypothesis", "respx", "vcrpy", "syrupy")


@click.command()
def doctor() -> int:
    """Tell what is installed, each setting with its origin, and what is wrong, if anything is."""
    config = configuration()
    click.echo(f"harness    {version('run-loop-harness')} on Python {platform.python_version()} ({sys.executable})")
    for name in _PACKAGES:
        click.echo(f"package    {name} {_version(name)}")
    for key in KEYS:
        setting = config.settings[key]
        shown = setting.value if setting.value is not None else "built in" if key == "scenarios" else "none"
        click.echo(f"setting    {key} = {_words(shown)}  (from {setting.origin})")
    problems = [
        *_problems(scenario_folders(config)),
        *_subject_problems(config["subject"]),
        *_baseline_problems(config["expected_failures"]),
    ]
    for problem in problems:
        click.echo(f"PROBLEM    {problem}")
    if problems:
        raise CommandError(f"{len(problems)} problems found", Exit.USAGE)
    click.echo("all well")
    return Exit.KEPT


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "is missing"


def _words(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _subject_problems(name: str) -> Iterator[str]:
    from harness.suite.subjects import UnknownSubject, subject_named

    try:
        subject_named(name)
    except UnknownSubject as error:
        yield str(error)


def _baseline_problems(file: Path | None) -> Iterator[str]:
    if file is not None and not file.is_file():
        yield f"{file}: no such baseline; mend `expected_failures`"


def _problems(folders: tuple[object, ...]) -> Iterator[str]:
    from harness.checks.requirements import RequirementError
    from harness.scenario.load import load_all
    from harness.scenario.problems import ScenarioError
    from harness.suite.promises import requirements

    yield from (f"{name} is not installed" for name in _PACKAGES if _version(name) == "is missing")
    missing = [folder for folder in folders if not Path(str(folder)).is_dir()]
    yield from (f"{folder}: no such scenario folder" for folder in missing)
    try:
        found = load_all([Path(str(folder)) for folder in folders if folder not in missing], requirements().keys())
        click.echo(f"data       {len(found)} scenarios, {len(requirements())} requirements")
    except (RequirementError, ScenarioError) as error:
        yield str(error)
    yield from _guard_problems()


def _guard_problems() -> Iterator[str]:
    from harness.guard.decision import is_allowed

    # Asked, not tried: nothing is sent anywhere to find out.
    outside, inside = (None, ("203.0.113.7", 443)), (None, ("127.0.0.1", 443))
    if is_allowed("socket.connect", outside) or not is_allowed("socket.connect", inside):
        yield "the network guard decides wrongly"
    else:
        click.echo("guard      denies every address beyond loopback")
