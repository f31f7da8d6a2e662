"""The `harness` command: a table of commands, each loaded when it is called, and one place where errors become words.

It holds no judgement of its own: pytest runs the cases, the run record holds the verdicts.
"""

import gc
import sys
from collections.abc import Callable
from errno import ENOSPC
from typing import Any

import click

from harness.cli.errors import CommandError, Exit, fault_words


def _run() -> click.Command:
    from harness.cli.run_command import run

    return run


def _list() -> click.Command:
    from harness.cli.list_command import list_scenarios

    return list_scenarios


def _show() -> click.Command:
    from harness.cli.show_command import show

    return show


def _replay() -> click.Command:
    from harness.cli.run_command import replay

    return replay


def _lint() -> click.Command:
    from harness.cli.lint_command import lint

    return lint


def _detect() -> click.Command:
    from harness.cli.detect_command import detect

    return detect


def _drift() -> click.Command:
    from harness.cli.drift_command import drift

    return drift


def _compare() -> click.Command:
    from harness.cli.compare_command import compare

    return compare


def _serve() -> click.Command:
    from harness.cli.serve_command import serve

    return serve


def _doctor() -> click.Command:
    from harness.cli.doctor_command import doctor

    return doctor


def _schema() -> click.Command:
    from harness.cli.schema_command import schema

    return schema


COMMANDS: dict[str, tuple[str, Callable[[], click.Command]]] = {
    "run": ("Run scenarios against a subject and judge them.", _run),
    "list": ("List the scenarios, or the requirements.", _list),
    "show": ("Show a scenario, or a requirement and what proves it.", _show),
    "replay": ("Run one failing case again, by its code.", _replay),
    "lint": ("Judge captured provider traffic.", _lint),
    "compare": ("Compare two runs: what fails now and did not.", _compare),
    "drift": ("Tell how SDK types and recordings differ from what is written here.", _drift),
    "detect": ("Tell retry, progress and recursion apart in recorded tool calls.", _detect),
    "serve": ("Play scenarios on a loopback URL, for any client in any language.", _serve),
    "doctor": ("Tell what is installed and where each setting comes from.", _doctor),
    "schema": ("Print the JSON Schema of a machine-readable output.", _schema),
}


class _Commands(click.Group):
    """Loads a command when it is called: `harness list` must not pay for an SDK."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return COMMANDS[cmd_name][1]() if cmd_name in COMMANDS else None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"commands: {', '.join(COMMANDS)}"
            raise click.UsageError(f"no command is called {args[0]!r}; {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, words) for name, (words, _) in COMMANDS.items()])


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="run-loop-harness", prog_name="harness")
def command_line() -> None:
    """Does an agent run loop keep its promises, on every provider wire it speaks?

    Exit codes: 0 all promises kept, 1 a promise broken, 2 usage or configuration, 3 baseline stale, 4 harness fault,
    5 nothing ran.
    """


def run_command_line(arguments: list[str] | None = None) -> int:
    """Run a command; the exit code. No exception leaves it, and no traceback is printed."""
    gc.disable()
    try:
        code = command_line.main(args=arguments, prog_name="harness", standalone_mode=False)
    except click.Abort:
        return _say("interrupted", Exit.INTERRUPTED)
    except click.ClickException as error:
        error.show()
        return Exit.USAGE
    except CommandError as error:
        return _say(str(error), error.code)
    except BrokenPipeError:
        return _closed_pipe()
    except Exception as error:
        if isinstance(error, OSError) and error.errno == ENOSPC:
            return _say(f"{error.filename or 'the output'}: no space is left to write to", Exit.USAGE)
        return _say(fault_words(error), Exit.HARNESS_FAULT)
    return code if isinstance(code, int) else Exit.KEPT


def _say(message: str, code: Exit) -> int:
    click.echo(f"harness: {message}", err=True)
    return code


def _closed_pipe() -> int:
    # Whoever read the output has gone (`| head`): nothing more can be said, and Python must not try at exit.
    sys.stdout = open("/dev/null", "w") if sys.platform != "win32" else open("nul", "w")  # noqa: SIM115 - kept to the end
    return Exit.BROKEN
