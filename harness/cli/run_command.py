"""`harness run` and `harness replay`: select, run, write the reports, say the verdict."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from harness.cli.errors import CommandError, Exit
from harness.cli.settings import configuration, scenario_folders
from harness.config import Configuration
from harness.suite.plan import RunPlan
from harness.suite.selection import Selected, SelectionError, select

_FORMATS = click.Choice(["pretty", "json", "markdown"])


def _options(command: Any) -> Any:
    """The options that `run` and `replay` share."""
    for option in reversed(
        [
            click.option("--subject", help="What to put under test (default: reference)."),
            click.option("--level", type=click.Choice(["must", "should"]), default="must", show_default=True),
            click.option("--seed", type=int, help="Seed of everything random; part of each case's code."),
            click.option("--expected-failures", type=click.Path(), help="Baseline of known failures (TOML)."),
            click.option("--format", "form", type=_FORMATS, default="pretty", show_default=True),
            click.option("--output", type=click.Path(), help="Folder of the record and reports."),
            click.option("--calls", type=click.Path(), help="Write one JSON line a tool call, without its arguments."),
        ]
    ):
        command = option(command)
    return command


@click.command()
@click.argument("names", nargs=-1)
@click.option("--transport", "transports", multiple=True, metavar="T", help="Only this transport; may be repeated.")
@click.option("--stream/--no-stream", "streaming", default=None, help="Only streaming, or only plain answers.")
@click.option("--depth", type=click.Choice(["sim", "wire", "http"]), default="wire", show_default=True)
@click.option("--crash", is_flag=True, help="Kill a run after each of its effects, resume it, and compare (depth sim).")
@click.option("--jobs", type=click.IntRange(1, 64), default=1, show_default=True, help="Processes to run in.")
@_options
def run(
    names: tuple[str, ...],
    transports: tuple[str, ...],
    streaming: bool | None,
    depth: str,
    crash: bool,
    jobs: int,
    **rest: Any,
) -> int:
    """Run scenarios: NAMES are ids, globs over ids, item ids, files or folders (default: all of them)."""
    known = _known_transports(transports)
    if depth == "http":
        raise CommandError("depth http is for subjects in other processes; the reference loop runs at sim and wire")
    if crash or (names and all(name.endswith("[sim]") for name in names)):
        depth = "sim"
    mode = "both" if streaming is None else ("stream" if streaming else "plain")
    return _perform(names, rest, jobs, transports=known, streaming=mode, depth=depth, crash=crash)


@click.command()
@click.argument("code")
@_options
def replay(code: str, **rest: Any) -> int:
    """Run one case again: CODE is the code of a failure block, an item id, or a scenario file."""
    config = configuration(**_flags(rest))
    item = _item_of(code, config)
    depth = "sim" if item.endswith("[sim]") else "wire"
    return _perform((item,), rest, 1, depth=depth)


def _known_transports(names: Sequence[str]) -> tuple[str, ...]:
    from difflib import get_close_matches

    from harness.scenario.arms import ARMS

    known = list(dict.fromkeys(arm.transport for arm in ARMS if arm.wire))
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"transports: {', '.join(known)}"
            raise CommandError(f"no transport is called {name!r}; {hint}")
    return tuple(names)


def _flags(rest: dict[str, Any]) -> dict[str, Any]:
    return {name: rest.get(name) for name in ("subject", "seed", "expected_failures")}


def _item_of(code: str, config: Configuration) -> str:
    from harness.reports.case import Case, is_run_id, run_id
    from harness.scenario.replay import NoSuchRun, find_run

    if not is_run_id(code):
        return code
    scenarios = _loaded(select((), scenario_folders(config)))
    try:
        found, arm = find_run(
            code,
            scenarios,
            lambda scenario, arm: run_id(
                Case(scenario.id, arm.transport, arm.streaming if arm.wire else None), config["subject"], config["seed"]
            ),
        )
    except NoSuchRun as error:
        recorded = _recorded(code, config)
        if recorded is None:
            raise CommandError(f"{error}; give --seed and --subject as in the failing run") from None
        return recorded
    return f"{found.id}[{arm.name}]"


def _recorded(code: str, config: Configuration) -> str | None:
    """The case of this code in the latest record: it may come from a file outside the configured folders."""
    from harness.reports.record import RecordError, read_record
    from harness.suite.session import RECORD_NAME

    try:
        record = read_record(config["reports"] / "latest" / RECORD_NAME)
    except RecordError:
        return None
    return next((result.node for result in record.results if result.run == code.upper() and result.node), None)


def _loaded(chosen: Sequence[Selected]) -> list[Any]:
    """Read the chosen files now, so that a bad one is said before anything runs."""
    from harness.scenario.load import load_all
    from harness.scenario.problems import ScenarioError
    from harness.suite.promises import requirements

    try:
        return list(load_all([one.file for one in chosen], requirements().keys()).values())
    except ScenarioError as error:
        raise CommandError(str(error)) from None


def _perform(names: tuple[str, ...], rest: dict[str, Any], jobs: int, **arms: Any) -> int:
    config = configuration(**_flags(rest))
    folders = scenario_folders(config)
    try:
        chosen = select(names, folders)
    except SelectionError as error:
        raise CommandError(str(error)) from None
    scenarios = _loaded(chosen)
    output = Path(rest["output"]) if rest["output"] else config["reports"] / "latest"
    plan = RunPlan(
        folders=tuple({str(folder): None for folder in (*folders, *(one.file.parent for one in chosen))}),
        level=rest["level"],
        subject=config["subject"],
        seed=config["seed"],
        output=str(output.absolute()),
        expected_failures=str(config["expected_failures"] or ""),
        calls=str(Path(rest["calls"]).absolute()) if rest["calls"] else "",
        **arms,
    )
    _checked(plan, output)
    total = _count(plan, chosen, scenarios)
    if total == 0:
        raise CommandError("no case was selected: no scenario runs on these arms", Exit.NOTHING_RAN)
    from harness.cli.engine import run_engine
    from harness.cli.verdict import say_verdict
    from harness.reports.lock import sole_writer
    from harness.reports.record import RecordError

    try:
        with sole_writer(output):
            code, front = run_engine(plan, chosen, jobs, total)
            return say_verdict(code, front, plan, output, rest["form"], sys.stdout)
    except RecordError as error:
        raise CommandError(str(error)) from None


def _checked(plan: RunPlan, output: Path) -> None:
    """Say what is wrong with subject, baseline, output folder and the file of the calls before anything runs."""
    from harness.reports.baseline import BaselineError
    from harness.reports.record import RecordError, check_writable
    from harness.suite.runner import CaseRunner
    from harness.suite.session import RECORD_NAME
    from harness.suite.subjects import UnknownSubject

    runner = CaseRunner(plan, None)
    try:
        _ = runner.subject, runner.baseline
        check_writable(output / RECORD_NAME)
    except (UnknownSubject, BaselineError, RecordError) as error:
        raise CommandError(str(error)) from None
    if plan.calls:
        from harness.recording.told_calls import CallFile, CallFileError

        try:
            CallFile(Path(plan.calls))
        except CallFileError as error:
            raise CommandError(str(error)) from None


def _count(plan: RunPlan, chosen: Sequence[Selected], scenarios: Sequence[Any]) -> int:
    from harness.scenario.arms import matching

    own = {scenario.id: {arm.name for arm in matching(scenario.arms)} for scenario in scenarios}
    wanted = [arm.name for arm in plan.arms()]
    total = 0
    for one in chosen:
        items = [f"{one.file.stem}[{name}]" for name in wanted if name in own[one.file.stem]]
        total += items.count(one.item) if one.item else len(items)
    return total
