"""`harness serve`: the simulated providers on a loopback port, a scenario behind each path, until it is interrupted."""

import json
import signal
from collections.abc import Callable
from threading import Event
from typing import Any

import click

from harness.cli.errors import CommandError, Exit
from harness.cli.settings import configuration, scenario_folders
from harness.suite.selection import SelectionError, select


@click.command()
@click.argument("names", nargs=-1)
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="0 takes a free one.")
@click.option("--pace", type=click.FloatRange(0, 60), default=0.0, metavar="SECONDS", help="Time between two chunks.")
@click.option("--format", "form", type=click.Choice(["pretty", "json"]), default="pretty", show_default=True)
def serve(names: tuple[str, ...], port: int, pace: float, form: str) -> int:
    """Serve scenarios (NAMES as in `harness run`; default: all of them) on 127.0.0.1 until Ctrl-C.

    Point a client at http://127.0.0.1:PORT/<scenario>/v1 (OpenAI) or http://127.0.0.1:PORT/<scenario> (Anthropic); any
    API key will do. GET /<scenario> tells what a run came to. On exit each run's verdict is printed.

    Exit codes: 0 every request was legal and every script was played, 1 not so, 2 usage, 4 a fault of the harness, 5
    nobody asked for anything.
    """
    from harness.provider.loopback import LoopbackServer
    from harness.scenario.served import ServedScenarios

    served = ServedScenarios(_scenarios(names))
    stop = Event()
    restore = _until(stop)
    try:
        with LoopbackServer(served, port=port, pace=pace) as server:
            click.echo(f"serving on {server.url}  (GET / lists the scenarios, Ctrl-C stops)", err=form == "json")
            stop.wait()
    except OSError as error:
        raise CommandError(f"--port {port}: cannot be served: {error.strerror}; choose another, or 0") from None
    finally:
        restore()
    return _told(served, form)


def _until(stop: Event) -> Callable[[], None]:
    """Let Ctrl-C and a termination end the serving; returns what puts the handlers back."""
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in kept:
        signal.signal(number, lambda *_: stop.set())

    def restore() -> None:
        for number, handler in kept.items():
            signal.signal(number, handler)

    return restore


def _scenarios(names: tuple[str, ...]) -> dict[str, Any]:
    from harness.scenario.load import load_all
    from harness.scenario.problems import ScenarioError
    from harness.suite.promises import requirements

    try:
        chosen = select(names, scenario_folders(configuration()))
        loaded = load_all([one.file for one in chosen], requirements().keys())
    except (SelectionError, ScenarioError) as error:
        raise CommandError(str(error)) from None
    return {scenario.id: scenario for scenario in loaded.values()}


def _told(served: Any, form: str) -> int:
    if served.faults:
        raise CommandError(f"the simulated provider failed: {served.faults[0]!r}", Exit.HARNESS_FAULT)
    verdicts = served.verdicts()
    if form == "json":
        click.echo(json.dumps(verdicts, indent=2, ensure_ascii=False))
    else:
        for one in verdicts:
            click.echo("\n".join(_lines(one)))
    if not verdicts:
        return Exit.NOTHING_RAN
    return Exit.KEPT if all(one["kept"] for one in verdicts) else Exit.BROKEN


def _lines(one: dict[str, Any]) -> list[str]:
    word = "KEPT  " if one["kept"] else "BROKEN"
    made = [f"{word}  {one['run']}  {one['transport']}  {one['requests']} requests"]
    made += [
        f"        request {bad['request']}  {bad['rule']}  {bad['where']}  {bad['message']}" for bad in one["breaches"]
    ]
    made += [f"        off script: {message}" for message in one["off_script"]]
    if one["unplayed"]:
        made.append(f"        {one['unplayed']} replies were never asked for")
    return made
