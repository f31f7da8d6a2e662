"""The table of all rules of all wires as Markdown: what the judge of requests enforces, where, and after which source.

The text depends on the rules and the dialect files alone. `write(folder)` keeps the checked-in copy
`reports/oracle-rules.md` (make tables); a test tells when that is stale.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from harness.wire.catalogue import rules
from harness.wire.dialects import Dialect, load, names
from harness.wire.rules import Rule

FILE = "oracle-rules.md"
_HEAD = """# Rules of the legality oracles

Made by `make tables` from the rule rows and the dialect files; do not edit. A `must` breach is answered with the error
that the row shows; a `should` breach is advice. Words in braces are filled in. "Recorded" says where recorded traffic
narrows or overrules the documents.
"""
_COLUMNS = ("rule", "level", "holds", "statement", "answer", "message", "source", "recorded")


def rule_table() -> str:
    """The whole text."""
    dialects = [load(name) for name in names()]
    found = rules()
    wires = list(dict.fromkeys(rule.transport for rule in found.values()))
    parts = [_HEAD, _counts(found.values(), wires), *(_wire(found.values(), one, dialects) for one in wires)]
    return "\n".join([*parts, _dialects(dialects)])


def write(folder: Path) -> Path:
    """Write the table into a folder; the file."""
    path = folder / FILE
    path.write_text(rule_table(), encoding="utf-8", newline="\n")
    return path


def _counts(found: Iterable[Rule[object]], wires: list[str]) -> str:
    found = list(found)
    rows = []
    for wire in wires:
        own = [rule for rule in found if rule.transport == wire]
        must = sum(rule.native and rule.level == "must" for rule in own)
        should = sum(rule.level == "should" for rule in own)
        added = sum(not rule.native for rule in own)
        rows.append((wire, str(must), str(should), str(added), str(len(own))))
    return _markdown(("wire", "must", "should", "of dialects only", "all"), rows)


def _wire(found: Iterable[Rule[object]], wire: str, dialects: list[Dialect]) -> str:
    rows = [_row(rule, dialects) for rule in found if rule.transport == wire]
    return f"## {wire}\n\n{_markdown(_COLUMNS, rows)}"


def _row(rule: Rule[object], dialects: list[Dialect]) -> tuple[str, ...]:
    answer = [str(rule.status), rule.type]
    answer += [f"{key} `{value}`" for key, value in (("code", rule.code), ("param", rule.param)) if value]
    return (
        rule.id.rpartition(".")[2],
        rule.level,
        _holds(rule, dialects),
        rule.statement,
        ", ".join(answer),
        rule.message,
        rule.source,
        rule.recorded or "",
    )


def _holds(rule: Rule[object], dialects: list[Dialect]) -> str:
    """Where a rule holds: at the provider, and in which dialects it is off; or in which it is added."""
    off = [one.name for one in dialects if any(rule.id in speech.off for speech in one.speeches.values())]
    add = [one.name for one in dialects if any(rule.id in speech.add for speech in one.speeches.values())]
    if not rule.native:
        return f"added by {', '.join(add)}" if add else "in no dialect"
    return f"native; not in {', '.join(off)}" if off else "native"


def _dialects(dialects: list[Dialect]) -> str:
    rows = [(one.name, one.title, ", ".join(one.speeches), ", ".join(one.hosts), one.source) for one in dialects]
    return "## Dialects\n\n" + _markdown(("dialect", "server", "wires", "hosts", "source"), rows)


def _markdown(columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [columns, tuple("---" for _ in columns), *rows]
    return "".join(f"| {' | '.join(_cells(line))} |\n" for line in lines)


def _cells(line: tuple[str, ...]) -> Iterator[str]:
    return (cell.replace("|", "\\|").replace("\n", " ") for cell in line)
