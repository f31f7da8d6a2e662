"""`harness compare`: two run records, and what changed from one to the other."""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.errors import CommandError, Exit

if TYPE_CHECKING:
    from harness.reports.compare import Comparison
    from harness.reports.record import RunRecord

_SHOWN = 20


@click.command()
@click.argument("before", type=click.Path())
@click.argument("after", type=click.Path())
@click.option("--format", "form", type=click.Choice(["pretty", "json"]), default="pretty", show_default=True)
def compare(before: str, after: str, form: str) -> int:
    """Compare two runs: BEFORE and AFTER are run.jsonl files, or the folders that hold one.

    Exit codes: 0 nothing new fails, 1 something new fails or a record was cut, 2 a record cannot be read.
    """
    from harness.reports.compare import compare as compared

    found = compared(_record(before), _record(after))
    if form == "json":
        click.echo(json.dumps(asdict(found), indent=2, ensure_ascii=False))
    else:
        sys.stdout.write("\n".join(_lines(found)) + "\n")
    return Exit.BROKEN if found.worse else Exit.KEPT


def _record(name: str) -> "RunRecord":
    from harness.reports.record import RecordError, read_record
    from harness.suite.session import RECORD_NAME

    path = Path(name) / RECORD_NAME if Path(name).is_dir() else Path(name)
    try:
        return read_record(path)
    except RecordError as error:
        raise CommandError(str(error)) from None


def _lines(found: "Comparison") -> Iterator[str]:
    for label, promises in (
        ("NEWLY FAILING", found.newly_failing),
        ("NEWLY PASSING", found.newly_passing),
        ("STILL FAILING", found.still_failing),
    ):
        yield from _listed(label, [f"{one.check}  {one.item}" for one in promises])
    yield from _listed("APPEARED", found.appeared)
    yield from _listed("DISAPPEARED", found.disappeared)
    yield from _listed("SLOWER", [f"{one.item}  {one.before:.2f} s -> {one.after:.2f} s" for one in found.slower])
    if not found.complete:
        yield "INCOMPLETE  a record was cut: what it lacks is not compared"
    word = "WORSE" if found.worse else "NOT WORSE"
    counts = f"{len(found.newly_failing)} newly failing, {len(found.newly_passing)} newly passing"
    yield f"{word}  {counts}, {len(found.still_failing)} still failing, {len(found.slower)} slower"


def _listed(label: str, lines: "list[str] | tuple[str, ...]") -> Iterator[str]:
    yield from (f"{label}  {line}" for line in lines[:_SHOWN])
    if len(lines) > _SHOWN:
        yield f"{label}  … and {len(lines) - _SHOWN} more; --format json has all"
