"""`harness detect`: which streaks of recorded tool calls were retries, progress, or a loop that should have stopped."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.errors import CommandError, Exit

if TYPE_CHECKING:
    from harness.loop.detect import Detector, Streak

_STDIN = "-"
_SHOWN = 40


@click.command()
@click.argument("file", type=click.Path(allow_dash=True))
@click.option("--threshold", type=click.IntRange(2), default=5, show_default=True, help="The loop's own threshold.")
@click.option("--explain", is_flag=True, help="Say of each streak why, and list all of them.")
@click.option("--format", "form", type=click.Choice(["pretty", "json"]), default="pretty", show_default=True)
def detect(file: str, threshold: int, explain: bool, form: str) -> int:
    """Tell retry, progress and recursion apart in recorded tool calls.

    FILE is JSON Lines (one call a line: tool, arguments, outcome {class, text}, trace_id, span_id, latency_ms), what
    `harness run --calls FILE` writes (signature and outcome {class, hash} instead), an OTLP JSON export, or - for
    standard input. Calls are counted from 1.

    Exit codes: 0 no recursion, 1 recursion was found, 2 the file cannot be read, 5 it holds no call.
    """
    found = _detected(file, threshold)
    if found.calls == 0:
        raise CommandError(f"{_shown(file)}: no tool call was found", Exit.NOTHING_RAN)
    streaks = found.streaks()
    if form == "json":
        click.echo(json.dumps({"calls": found.calls, "streaks": [_row(one) for one in streaks]}, indent=2))
    else:
        sys.stdout.write("\n".join(_lines(found.calls, streaks, explain)) + "\n")
    return Exit.BROKEN if any(one.verdict == "recursion" for one in streaks) else Exit.KEPT


def _detected(file: str, threshold: int) -> "Detector":
    from harness.loop.detect import Detector
    from harness.recording.call_records import CallRecordError, read_calls

    detector = Detector(threshold=threshold)
    try:
        for one in read_calls(_text_lines(file), _shown(file)):
            detector.feed(one.call, one.tokens)
    except CallRecordError as error:
        raise CommandError(str(error)) from None
    return detector


def _text_lines(file: str) -> Iterator[str]:
    """The file's lines, one at a time."""
    try:
        if file == _STDIN and sys.stdin is None:
            raise CommandError("standard input is closed; pipe the calls into it, or name a file")
        if file == _STDIN:
            yield from (line.decode("utf-8-sig") for line in sys.stdin.buffer)
            return
        with Path(file).open(encoding="utf-8-sig") as lines:
            yield from lines
    except UnicodeDecodeError as error:
        raise CommandError(f"{_shown(file)}: not UTF-8 ({error.reason}); write the calls as UTF-8 text") from None
    except OSError as error:
        raise CommandError(f"{file}: cannot be read: {error.strerror}") from None


def _shown(file: str) -> str:
    return "standard input" if file == _STDIN else file


def _row(streak: "Streak") -> dict[str, Any]:
    return {
        "tool": streak.tool,
        "verdict": streak.verdict.value,
        "from": streak.first,
        "to": streak.last,
        "stop_at": streak.stop_at,
        "saved_calls": streak.saved_calls,
        "saved_tokens": streak.saved_tokens,
        "calls": streak.calls,
        "trace_id": streak.trace_id,
        "why": streak.why,
    }


def _lines(calls: int, streaks: "list[Streak]", explain: bool) -> Iterator[str]:
    worst = sorted(streaks, key=lambda one: (one.verdict != "recursion", one.first))
    for one in worst if explain else worst[:_SHOWN]:
        where = f"calls {one.first} to {one.last}" + (f" of {one.trace_id}" if one.trace_id else "")
        yield f"{one.verdict.upper():<9}  {one.tool}  {one.calls} calls, {where}"
        if one.stop_at is not None:
            saved = f"{one.saved_calls} calls and about {one.saved_tokens} tokens would have been saved"
            yield f"           should have stopped after call {one.stop_at}; {saved}"
        if explain:
            yield f"           {one.why}"
    if len(worst) > _SHOWN and not explain:
        yield f"… and {len(worst) - _SHOWN} streaks more; --explain lists all"
    loops = [one for one in streaks if one.stop_at is not None]
    if streaks:
        yield ""
    if loops:
        saved_calls, saved_tokens = (
            sum(getattr(one, name) for one in loops) for name in ("saved_calls", "saved_tokens")
        )
        saved = f"{saved_calls} calls and about {saved_tokens} tokens too many"
        yield f"RECURSION  in {len(loops)} of {len(streaks)} streaks of {calls} calls; {saved}"
    else:
        yield f"NO RECURSION  in {calls} calls; {len(streaks)} streaks of repeated calls"
