"""Words that every report shares: text made fit for showing, where a finding lies, how a case is run again.

Knows nothing of a report's form. Text that quotes a subject is hostile until `shown` has had it: it may carry keys,
terminal control sequences, direction overrides and lone surrogates.
"""

import re
import shlex

from harness.redaction.scrub import redact
from harness.reports.result import CaseResult
from harness.vocabulary.verdict import Finding

_SURROGATE = re.compile("[\ud800-\udfff]")
_BREAKS_QUOTES = re.compile(r'["$`\\!]')
"""What a shell still reads inside double quotes."""


def whole(text: str) -> str:
    """The text with each lone surrogate replaced by U+FFFD, so that it can be encoded."""
    return _SURROGATE.sub("\ufffd", text)


def printable(text: str) -> str:
    """One line without control characters: whatever does not print is written as a Python escape (`\\n`, `\\x1b`)."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def shown(text: str) -> str:
    """Text that quotes a subject, redacted and printable."""
    return printable(redact(text))


def place(finding: Finding) -> str:
    """`request 3, /messages/4/content`; "" for the run as a whole."""
    request = "" if finding.request is None else f"request {finding.request}"
    return ", ".join(part for part in (request, shown(finding.pointer)) if part)


def replay(result: CaseResult) -> str:
    """The command that runs the case again."""
    return f"harness replay {result.run}"


def replays(result: CaseResult) -> str:
    """Both ways to run the case again; only the command where pytest has no name for the case."""
    return replay(result) + (f"   |   pytest {_quoted(result.node)}" if result.node else "")


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 case`, `2 cases`; a plural that is not made with an s is given."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def _quoted(node: str) -> str:
    name = printable(node)
    return shlex.quote(name) if _BREAKS_QUOTES.search(name) else f'"{name}"'
