"""`harness drift`: the installed SDKs' types and recorded traffic, beside what this project renders and encodes."""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.errors import CommandError, Exit

if TYPE_CHECKING:
    from harness.recording.drift import Difference
    from harness.recording.exchange import Exchange

_SHOWN = 6
"""Differences of one kind that are listed."""
_LONGEST = 500
"""Characters of a name or place that recordings chose."""


@click.command()
@click.argument("paths", nargs=-1, type=click.Path())
@click.option("--transport", metavar="T", help="One wire only; also the wire of recordings that do not tell theirs.")
@click.option("--all", "everything", is_flag=True, help="Print every name, also of what only the SDK's types have.")
@click.option("--format", "form", type=click.Choice(["pretty", "json"]), default="pretty", show_default=True)
def drift(paths: tuple[str, ...], transport: str | None, everything: bool, form: str) -> int:
    """Tell how the SDKs' types and recorded traffic differ from what is written here.

    Without PATHS the installed SDKs' types are laid beside the payloads and answers that this project writes. PATHS
    are recordings, as `harness lint` reads them: their answers of status 2xx and those requests are a third side.

    Exit codes: 0 nothing breaks (new optional fields and values are reported), 1 something that is relied on was
    removed or changed, 2 a recording cannot be read, 5 there is nothing to compare.
    """
    known = _known(transport)
    exchanges = _recorded(paths, transport) if paths else None
    if exchanges is not None:
        spoken = {one.transport for one in exchanges}
        known = tuple(one for one in known if one in spoken)
        if not known:
            raise CommandError(f"no exchange answered 2xx was found in {', '.join(paths)}", Exit.NOTHING_RAN)
    from harness.recording.drift import drift as measure
    from harness.wire.schema import sdk_version

    found = measure(known, exchanges)
    breaks = any(one.breaks for one in found)
    types = list(dict.fromkeys(map(sdk_version, known)))
    if form == "json":
        result = {"sdks": types, "transports": known, "recorded": len(exchanges or ()), "breaks": breaks}
        click.echo(json.dumps(result | {"differences": [_row(one) for one in found]}, indent=2))
    else:
        recorded = None if exchanges is None else len(exchanges)
        from harness.reports.wording import shown

        sys.stdout.write("\n".join(map(shown, _lines(found, types, recorded, everything))) + "\n")
    return Exit.BROKEN if breaks else Exit.KEPT


def _known(transport: str | None) -> tuple[str, ...]:
    from harness.wire.registry import CODEC_IDS

    if transport is None:
        return CODEC_IDS
    if transport not in CODEC_IDS:
        raise CommandError(f"no transport is called {transport!r}; transports: {', '.join(CODEC_IDS)}")
    return (transport,)


def _recorded(paths: tuple[str, ...], transport: str | None) -> "list[Exchange]":
    from harness.recording.captures import NoSuchCapture, read_captures
    from harness.recording.drift_sides import taken

    try:
        captures = read_captures([Path(path) for path in paths], transport)
    except NoSuchCapture as error:
        raise CommandError(str(error)) from None
    if captures.broken:
        raise CommandError("\nharness: ".join(map(str, captures.broken)))
    return taken(captures.exchanges)


def _row(one: "Difference") -> dict[str, Any]:
    from harness.redaction.scrub import message

    told = {"place": message(one.place, limit=_LONGEST), "name": message(one.name, limit=_LONGEST)}
    return asdict(one) | {"change": one.change.value} | told


def _lines(found: "list[Difference]", types: list[str], recorded: int | None, everything: bool) -> Iterator[str]:
    breaking = [one for one in found if one.breaks]
    for one in breaking:
        yield f"BREAKS  {one.transport} {one.part}  {_place(one)}: {_said(one)}"
        if one.example:
            yield f"        see {one.example}"
    told = [one for one in found if not one.breaks and (everything or _worth_a_line(one))]
    for (transport, part, change, sides), group in groupby(sorted(told, key=_group), key=_group):
        ones = list(group)
        yield f"{change}  {transport} {part}, {' and '.join(sides)}: {len(ones)}"
        for one in ones if everything else ones[:_SHOWN]:
            yield f"        {_place(one)}{_types(one)}" + (f"  ({one.example})" if one.example else "")
        if len(ones) > _SHOWN and not everything:
            yield f"        … and {len(ones) - _SHOWN} more; --all lists them"
    unspoken = len(found) - len(breaking) - len(told)
    if found:
        yield ""
    beside = "what is written here" + ("" if recorded is None else f" and {recorded} recorded exchanges")
    more = f"; {unspoken} that only the SDK's types have are not shown (--all)" if unspoken else ""
    verdict = f"DRIFT  {len(breaking)} of {len(found)} differences break" if breaking else f"NO BREAK  in {len(found)}"
    yield f"{verdict}: {', '.join(types)} beside {beside}{more}"


def _worth_a_line(one: "Difference") -> bool:
    """The SDKs know much that a run loop has no use for: what only they have is counted, not listed."""
    return one.sides != ("sdk",) or not one.change.startswith("new-")


def _group(one: "Difference") -> tuple[str, str, str, tuple[str, ...]]:
    return (one.transport, one.part, one.change.value, one.sides)


def _place(one: "Difference") -> str:
    from harness.redaction.scrub import message

    return message(f"{one.place or '/'}{f' = {one.name}' if one.name else ''}", limit=_LONGEST)


def _types(one: "Difference") -> str:
    if one.theirs and one.ours:
        return f" is {_either(one.theirs)}, here {_either(one.ours)}"
    return f" is {_either(one.theirs)}" if one.theirs else ""


def _said(one: "Difference") -> str:
    return f"{one.change.value} ({' and '.join(one.sides)}){_types(one)}"


def _either(kinds: tuple[str, ...]) -> str:
    return " or ".join(kinds)
