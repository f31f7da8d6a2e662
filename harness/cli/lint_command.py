"""`harness lint`: captured provider traffic, judged exchange by exchange."""

import json
import sys
from pathlib import Path
from typing import Any

import click

from harness.cli.errors import CommandError, Exit, fault_words

_STDIN = "-"
_STDIN_NAME = "standard input"


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(allow_dash=True))
@click.option("--transport", metavar="T", help="The wire that the captures speak, where they do not tell.")
@click.option("--dialect", metavar="D", help="The dialect of the server, where the captures' hosts do not tell.")
@click.option(
    "--minimum",
    type=click.FloatRange(0, 100),
    default=98.0,
    show_default=True,
    metavar="PERCENT",
    help="Share of the exchanges answered 2xx that must parse and round-trip.",
)
@click.option("--all", "everything", is_flag=True, help="Print every finding, not the first of each kind.")
@click.option("--explain", metavar="RULE", help="Say what a rule demands and what the provider answers; reads nothing.")
@click.option("--format", "form", type=click.Choice(["pretty", "json"]), default="pretty", show_default=True)
def lint(
    paths: tuple[str, ...],
    transport: str | None,
    dialect: str | None,
    minimum: float,
    everything: bool,
    explain: str | None,
    form: str,
) -> int:
    """Judge captured traffic: is each request legal, can each answer be read, does both survive the way back?

    PATHS are JSON Lines, vcr cassettes, HAR files, payloads (.json), event streams (.sse), folders of them, or - for
    standard input.

    Exit codes: 0 all well; 1 less than the minimum parses and round-trips, a request without an answer is illegal, or
    a recorded success is rejected here; 2 a capture cannot be read; 4 this judge itself failed at an exchange; 5 no
    exchange was found.
    """
    if explain is not None:
        return _explained(explain)
    if not paths:
        raise CommandError("name at least one capture: harness lint PATH..., or - for standard input")
    from harness.guard.process import guard_process

    guard = guard_process()
    try:
        code = _linted(paths, _known(transport), _spoken(dialect), minimum, everything, form)
        denied = guard.take()
    finally:
        guard.close()
    if denied:
        raise CommandError("the network guard denied: " + "; ".join(denied), Exit.HARNESS_FAULT)
    return code


def _known(transport: str | None) -> str | None:
    from harness.wire.registry import CODEC_IDS

    if transport is None or transport in CODEC_IDS:
        return transport
    raise CommandError(f"no transport is called {transport!r}; transports: {', '.join(CODEC_IDS)}")


def _spoken(dialect: str | None) -> str | None:
    from harness.wire.dialects import DialectError, load

    if dialect is not None:
        try:
            load(dialect)
        except DialectError as error:
            raise CommandError(str(error)) from None
    return dialect


def _linted(
    paths: tuple[str, ...], transport: str | None, dialect: str | None, minimum: float, everything: bool, form: str
) -> int:
    from harness.recording.lint import lint as judge_all

    captures = _captures(paths, transport)
    for broken in captures.broken:
        click.echo(f"harness: {broken}", err=True)
    if not captures.exchanges:
        if captures.broken:
            return Exit.USAGE
        raise CommandError(_nothing(paths, captures), Exit.NOTHING_RAN)
    result = judge_all(captures.exchanges, dialect=dialect)
    failed = result.share < minimum or result.unanswered_rejected > 0 or result.total["recorded_ok_rejected"] > 0
    if form == "json":
        click.echo(json.dumps(result.as_json(), indent=2, ensure_ascii=True))
    else:
        from harness.recording.lint_words import lines

        shown = lines(result, captures, minimum=minimum, failed=failed, everything=everything)
        sys.stdout.write("\n".join(shown) + "\n")
    for exchange, error in result.faults:
        click.echo(f"harness: {exchange.place}: {fault_words(error)}", err=True)
    if result.faults:
        return Exit.HARNESS_FAULT
    if captures.broken:
        return Exit.USAGE
    return Exit.BROKEN if failed else Exit.KEPT


def _captures(paths: tuple[str, ...], transport: str | None) -> Any:
    from harness.recording.captures import NoSuchCapture, read_captures, read_text

    files = [Path(path) for path in paths if path != _STDIN]
    try:
        captures = read_captures(files, transport)
    except NoSuchCapture as error:
        raise CommandError(str(error)) from None
    if _STDIN in paths:
        pasted = read_text(_standard_input(), _STDIN_NAME, transport)
        captures.exchanges += pasted.exchanges
        captures.skipped += pasted.skipped
        captures.broken += pasted.broken
    return captures


def _standard_input() -> str:
    if sys.stdin is None:
        raise CommandError(f"{_STDIN_NAME} is closed; pipe a capture into it, or name a file")
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CommandError(f"{_STDIN_NAME}: not UTF-8 ({error}); give the text as UTF-8") from None


def _nothing(paths: tuple[str, ...], captures: Any) -> str:
    if not captures.skipped:
        return f"no exchange was found in {', '.join(paths)}"
    first = captures.skipped[0]
    more = f" (and {len(captures.skipped) - 1} more)" if len(captures.skipped) > 1 else ""
    return f"no exchange was found; {first.place}: {first.why}{more}"


def _explained(name: str) -> int:
    from difflib import get_close_matches

    from harness.wire.catalogue import rules
    from harness.wire.lifecycle import stream_rules

    known, streams = rules(), stream_rules()
    if name in streams:
        row = streams[name]
        click.echo(f"rule     {row.id}\ndemands  {row.statement}\nsource   {row.source}")
        return Exit.KEPT
    if name not in known:
        near = get_close_matches(name, [*known, *streams], 1)
        hint = f"did you mean {near[0]!r}?" if near else "`harness lint` names the rules in its findings"
        raise CommandError(f"no wire rule is called {name!r}; {hint}")
    rule = known[name]
    answer = [f"status {rule.status}", rule.type, *([f"param {rule.param}"] if rule.param else [])]
    rows = (
        ("rule", rule.id),
        ("demands", rule.statement),
        ("answer", ", ".join(answer)),
        ("message", rule.message),
        ("mend", rule.mend),
        ("source", rule.source),
    )
    click.echo("\n".join(f"{label:<9}{words}" for label, words in rows))
    return Exit.KEPT
