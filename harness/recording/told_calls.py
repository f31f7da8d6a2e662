"""The calls that a run tells, as JSON Lines: signature and outcome hash stand for arguments and content.

A line holds `tool`, `signature`, `outcome: {class, hash}` (null where none was recorded), `counted` (whether the
identical-call counter took it), `step`, `trace_id`, `span_id`, `latency_ms` (null where it never ran), and where it
comes from, `scenario` and `arm`. No argument and no content is ever in it; a tool's name is redacted, since a model may
write anything there. `call_records` reads it back. It knows nothing of how runs are made.
"""

from collections.abc import Iterable, Mapping
from json import dumps
from pathlib import Path
from typing import Any

from harness.redaction.scrub import redact
from harness.vocabulary.tools import CallRecord, OutcomeClass

Line = dict[str, Any]
_CLASSES = {name.value: name for name in OutcomeClass}


class CallLineError(ValueError):
    """What is wrong with one line, without its place."""


class CallFileError(Exception):
    """The file of the calls cannot be written; the text names it and the mend."""


def call_line(call: CallRecord, **origin: str) -> Line:
    """The line of one call; `origin` is added as it is."""
    outcome = None if call.outcome is None else {"class": call.outcome.value, "hash": call.outcome_hash}
    return {
        "tool": redact(call.tool),
        "signature": call.signature,
        "outcome": outcome,
        "counted": call.counted,
        "step": call.step,
        "trace_id": call.trace_id,
        "span_id": call.span_id,
        "latency_ms": call.latency_ms,
        **origin,
    }


def call_of(line: Mapping[str, Any], step: int) -> CallRecord:
    """The call of a line; `step` counts where it names none. Raises CallLineError."""
    outcome = line.get("outcome")
    latency = line.get("latency_ms")
    kind = None if outcome is None else outcome.get("class")
    if outcome is not None and kind not in _CLASSES:
        raise CallLineError(f"`outcome.class` is {kind!r}; write ok, error, empty or noop")
    return CallRecord(
        tool=line["tool"],
        signature=_word(line.get("signature"), "signature") or "",
        outcome=None if kind is None else _CLASSES[kind],
        outcome_hash=None if outcome is None else _word(outcome.get("hash"), "outcome.hash"),
        counted=line.get("counted") is not False,
        step=line["step"] if isinstance(line.get("step"), int) else step,
        trace_id=str(line.get("trace_id") or ""),
        span_id=str(line.get("span_id") or ""),
        latency_ms=None if latency is None or isinstance(latency, str) else float(latency),
    )


def _word(value: Any, name: str) -> str | None:
    if value is None or (isinstance(value, str) and value):
        return value
    raise CallLineError(f"`{name}` must be a text that is equal for equal ones, such as a hex digest")


class CallFile:
    """Writes lines, call by call; what was written stays if the run is cut. Replaces an older file at once. Raises
    CallFileError where the path cannot be written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"")
        except OSError as error:
            raise CallFileError(f"{path}: cannot be written: {error.strerror}; give another --calls file") from None

    def add(self, lines: Iterable[Line]) -> None:
        """More lines, at the end."""
        text = "".join(dumps(line, ensure_ascii=False) + "\n" for line in lines)
        with self._path.open("ab") as file:
            file.write(text.encode("utf-8", "backslashreplace"))
