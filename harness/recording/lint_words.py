"""What `harness lint` prints for a person: findings first, then a table by transport, then one sentence."""

import io
import shutil
import textwrap
from collections.abc import Iterator

from harness.recording.exchange import Captures
from harness.recording.judging import Finding, Kind
from harness.recording.lint import COUNTS, LintResult

_WORDS: dict[Kind, str] = {
    "recorded_ok_rejected": "WRONGLY REJECTED",
    "recorded_fault_missed": "FAULT MISSED",
    "unparsed": "UNPARSED",
    "round_trip_failed": "ROUND TRIP",
    "stream": "STREAM",
    "rejected": "ILLEGAL",
}
"""In the order in which they are printed; the first two are faults of this judge, not of the traffic."""
_SHOWN = 5
_LABELS = {"round_trip_failed": "round trip", "recorded_ok_rejected": "wrongly rejected",
           "recorded_fault_missed": "fault missed"}  # fmt: skip


def lines(
    result: LintResult, captures: Captures, *, minimum: float, failed: bool, everything: bool = False
) -> list[str]:
    """The whole text. `everything`: no kind of finding is cut short."""
    made = list(_findings(result, everything))
    made += [*_table(result), ""]
    made += [f"passed over  {one.place}: {one.why}" for one in captures.skipped[:_SHOWN]]
    if len(captures.skipped) > _SHOWN:
        made.append(f"passed over  … and {len(captures.skipped) - _SHOWN} more")
    if result.beyond:
        causes = ", ".join(f"{about} {count}" for about, count in result.beyond.most_common())
        made += _wrapped(f"set aside     refusals that no reader of the request could foretell: {causes}", " " * 14)
    made.append(_verdict(result, minimum, failed))
    return made


def _findings(result: LintResult, everything: bool) -> Iterator[str]:
    for kind, word in _WORDS.items():
        found = [one for one in result.findings if one.kind == kind]
        for one in found if everything else found[:_SHOWN]:
            yield from _block(word, one)
        if len(found) > _SHOWN and not everything:
            yield f"{word}  … and {len(found) - _SHOWN} more; --all shows them"
            yield ""


def _block(word: str, one: Finding) -> Iterator[str]:
    yield f"{word}  {one.transport}  {one.rule}  {one.id}"
    for label, text in (("where", one.where), ("message", one.message), ("mend", one.mend)):
        if text:
            yield from _wrapped(f"      {label:<9} {' '.join(text.split())}", " " * 16)
    if one.rule.startswith("wire."):
        yield f"      explain   harness lint --explain {one.rule}"
    yield ""


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        text, 112, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False, replace_whitespace=False
    )


def _table(result: LintResult) -> list[str]:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("transport")
    for name in COUNTS:
        table.add_column(_LABELS.get(name, name), justify="right")
    rows = sorted(result.by_transport.items())
    for name, counts in [*rows, ("all", result.total)] if len(rows) > 1 else rows:
        table.add_row(name, *(str(counts[count]) for count in COUNTS))
    out = io.StringIO()
    Console(file=out, width=max(118, shutil.get_terminal_size().columns), no_color=True).print(table)
    return [line.rstrip() for line in out.getvalue().splitlines() if line.strip()]


def _verdict(result: LintResult, minimum: float, failed: bool) -> str:
    word = "FAILED" if failed or result.faults else "PASSED"
    answered = result.total["answered"]
    reasons = []
    if answered:
        reasons.append(
            f"{result.total['whole']} of {answered} answered exchanges parse and round-trip"
            f" ({result.share:.2f} %, at least {minimum:g} % are wanted)"
        )
    if result.unanswered_rejected:
        reasons.append(f"{_requests(result.unanswered_rejected)} without an answer would be refused")
    if result.total["recorded_ok_rejected"]:
        reasons.append(f"{_requests(result.total['recorded_ok_rejected'])} that the provider answered rejected here")
    if result.faults:
        reasons.append(f"this judge itself failed at {len(result.faults)} of them")
    return f"{word}  " + ("; ".join(reasons) or f"{_requests(result.total['accepted'])} found legal")


def _requests(number: int) -> str:
    return f"{number} request{'' if number == 1 else 's'}"
