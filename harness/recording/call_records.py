"""Recorded tool calls as files keep them, one at a time: plain JSON Lines, or spans of an OTLP JSON export.

A plain line is one call (a JSON array of such objects is read too): `tool`, `arguments` (an object, or raw text),
`outcome: {class: ok | error | empty | noop, text}`, and optionally `trace_id`, `span_id`, `latency_ms`, `tokens`.
A line with a `signature` and `outcome: {class, hash}` instead, as a run tells its calls, is in `told_calls`.
An OTLP export is one JSON document, or one a line; spans of tool executions are read by the GenAI semantic conventions,
in the order of their start times within each document. Lines are read one by one, so that memory does not grow with the
file.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple

from harness.loop.signature import call_signature, decoded_signature, outcome_hash
from harness.recording.told_calls import CallLineError, call_of
from harness.vocabulary import call_attributes as names
from harness.vocabulary.content import Text
from harness.vocabulary.tools import CallRecord, OutcomeClass, ToolOutcome

_CLASSES = {name.value: name for name in OutcomeClass}
_TOOL = names.TOOL
_ARGUMENTS = ("gen_ai.tool.call.arguments", "gen_ai.tool.arguments", "input.value")
_RESULT = ("gen_ai.tool.call.result", "gen_ai.tool.result", "output.value")
_STATUS_ERROR = (2, "STATUS_CODE_ERROR")
_BYTES_PER_TOKEN = 4


_decode = json.JSONDecoder(parse_float=Decimal).decode


class CallRecordError(ValueError):
    """A record that cannot be read; the text names file, line and mend."""


class RecordedCall(NamedTuple):
    """One call and what it cost; `tokens` is an estimate (bytes / 4) where the record does not say."""

    call: CallRecord
    tokens: int


def read_calls(lines: Iterable[str], file: str) -> Iterator[RecordedCall]:
    """The calls of a file, in order. Raises CallRecordError."""
    numbered = enumerate(lines, start=1)
    for number, line in numbered:
        if not line.strip():
            continue
        try:
            value = _decode(line)
        except (ValueError, RecursionError) as error:
            value = _whole_document(line, numbered, file, number, error)
        try:
            yield from _calls(value, f"{file}:{number}", len(line))
        except CallRecordError:
            raise
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise CallRecordError(f"{file}:{number}: a value of the wrong kind: {error}; mend the record") from None


def _whole_document(line: str, rest: Iterator[tuple[int, str]], file: str, number: int, error: Exception) -> Any:
    """A document over many lines, if the first line begins one."""
    if number == 1 and line.lstrip()[:1] in "{[":
        try:
            value = _decode(line + "".join(text for _, text in rest))
        except (ValueError, RecursionError) as whole:
            raise CallRecordError(f"{file}: neither JSON Lines nor one JSON document: {whole}; mend it") from None
        return value
    raise CallRecordError(f"{file}:{number}: not JSON: {error}; one call a line, or one OTLP document")


def _calls(value: Any, place: str, size: int) -> Iterator[RecordedCall]:
    if isinstance(value, list):
        for number, one in enumerate(value):
            yield from _calls(one, f"{place}#/{number}", size // len(value))
        return
    if not isinstance(value, Mapping):
        raise CallRecordError(f"{place}: a {type(value).__name__}; write one object a line")
    if "resourceSpans" in value:
        yield from _spans(value, place)
    elif "tool" in value:
        yield _plain(value, place, size)
    else:
        raise CallRecordError(
            f"{place}: no `tool`; write tool, arguments and outcome, or an OTLP export (resourceSpans)"
        )


def _plain(value: Mapping[str, Any], place: str, size: int) -> RecordedCall:
    tool = value["tool"]
    # A model may leave the name out: a run tells that call as it was.
    if not isinstance(tool, str) or not (tool or "signature" in value):
        raise CallRecordError(f"{place}: `tool` must be a name")
    outcome = value.get("outcome")
    if outcome is not None and not isinstance(outcome, Mapping):
        raise CallRecordError(f"{place}: `outcome` must be an object: {{class: ok, text: ...}}")
    if "signature" in value:
        return _told(value, place)
    kind = None if outcome is None else outcome.get("class")
    if outcome is not None and kind not in _CLASSES:
        raise CallRecordError(f"{place}: `outcome.class` is {kind!r}; write ok, error, empty or noop")
    text = "" if outcome is None else _text(outcome.get("text"))
    return _recorded(
        tool,
        value.get("arguments"),
        None if kind is None else _CLASSES[str(kind)],
        text,
        trace_id=str(value.get("trace_id") or ""),
        span_id=str(value.get("span_id") or ""),
        latency_ms=value.get("latency_ms"),
        tokens=value.get("tokens"),
        step=value.get("step"),
        size=size,
    )


def _told(value: Mapping[str, Any], place: str) -> RecordedCall:
    """A call that a run has told: nothing of it is hashed again, and what it cost is not known."""
    try:
        call = call_of(value, 0 if "step" in value else next(_STEPS))
    except CallLineError as error:
        raise CallRecordError(f"{place}: {error}") from None
    tokens = value.get("tokens")
    return RecordedCall(call, tokens if isinstance(tokens, int) else 0)


def _recorded(
    tool: str,
    arguments: Any,
    outcome: OutcomeClass | None,
    text: str,
    *,
    trace_id: str,
    span_id: str,
    latency_ms: Any = None,
    tokens: Any = None,
    step: Any = None,
    size: int = 0,
) -> RecordedCall:
    hashed = None if outcome is None else _outcome_hash(outcome, text)
    call = CallRecord(
        tool=tool,
        signature=_signature(tool, arguments),
        outcome=outcome,
        outcome_hash=hashed,
        counted=True,
        step=step if isinstance(step, int) else next(_STEPS),
        trace_id=trace_id,
        span_id=span_id,
        latency_ms=float(latency_ms) if isinstance(latency_ms, int | float | Decimal) else None,
    )
    return RecordedCall(call, tokens if isinstance(tokens, int) else size // _BYTES_PER_TOKEN)


@lru_cache(maxsize=8192)
def _outcome_hash(outcome: OutcomeClass, text: str) -> str:
    return outcome_hash(ToolOutcome(outcome=outcome, content=(Text(text),) if text else ()), None)


def _signature(tool: str, arguments: Any) -> str:
    """Arguments are raw text, or what they decode to."""
    if arguments is None or isinstance(arguments, str):
        return call_signature(tool, arguments or "")
    return decoded_signature(tool, arguments)


def _counter() -> Iterator[int]:
    step = 0
    while True:
        step += 1
        yield step


_STEPS = _counter()
"""A call without a step is a step of its own."""


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _spans(document: Mapping[str, Any], place: str) -> Iterator[RecordedCall]:
    found = [
        span
        for resource in _list(document, "resourceSpans", place)
        for scope in _list(resource, "scopeSpans", place)
        for span in _list(scope, "spans", place)
    ]
    for span in sorted(found, key=lambda span: int(span.get("startTimeUnixNano") or 0)):
        attributes = {one.get("key"): _value(one.get("value")) for one in _list(span, "attributes", place)}
        if attributes.get(_TOOL):
            yield _span(span, attributes)


def _span(span: Mapping[str, Any], attributes: Mapping[Any, Any]) -> RecordedCall:
    if names.SIGNATURE in attributes:
        return RecordedCall(_told_span(span, attributes), 0)
    text = next((_text(attributes[key]) for key in _RESULT if key in attributes), None)
    status = span.get("status")
    failed = "error.type" in attributes or (isinstance(status, Mapping) and status.get("code") in _STATUS_ERROR)
    if failed:
        outcome: OutcomeClass | None = OutcomeClass.ERROR
        text = text or _text(attributes.get("error.type")) or (_text(status.get("message")) if status else "")
    elif text is None:
        outcome = None
    else:
        outcome = OutcomeClass.OK if text.strip() else OutcomeClass.EMPTY
    return _recorded(
        str(attributes[_TOOL]),
        next((_text(attributes[key]) for key in _ARGUMENTS if key in attributes), ""),
        outcome,
        text or "",
        trace_id=str(span.get("traceId") or ""),
        span_id=str(span.get("spanId") or ""),
        latency_ms=_latency_ms(span),
        size=sum(len(_text(attributes.get(key))) for key in (*_ARGUMENTS, *_RESULT)),
    )


def _told_span(span: Mapping[str, Any], attributes: Mapping[Any, Any]) -> CallRecord:
    """A span that a run has told (harness.vocabulary.call_attributes)."""
    kind, step = attributes.get(names.OUTCOME_CLASS), attributes.get(names.STEP)
    return CallRecord(
        tool=str(attributes[_TOOL]),
        signature=_text(attributes[names.SIGNATURE]),
        outcome=_CLASSES.get(_text(kind)),
        outcome_hash=_text(attributes.get(names.OUTCOME_HASH)) or None,
        counted=attributes.get(names.COUNTED) is not False,
        step=next(_STEPS) if step is None else int(step),
        trace_id=str(span.get("traceId") or ""),
        span_id=str(span.get("spanId") or ""),
        latency_ms=_latency_ms(span),
    )


def _latency_ms(span: Mapping[str, Any]) -> float | None:
    begun, ended = (int(span.get(key) or 0) for key in ("startTimeUnixNano", "endTimeUnixNano"))
    return (ended - begun) / 1e6 if ended > begun else None


def _list(value: Any, key: str, place: str) -> list[Mapping[str, Any]]:
    found = value.get(key, []) if isinstance(value, Mapping) else None
    if not isinstance(found, list) or not all(isinstance(one, Mapping) for one in found):
        raise CallRecordError(f"{place}: `{key}` must be a list of objects, as in an OTLP JSON export")
    return found


def _value(value: Any) -> Any:
    """An OTLP attribute value."""
    if not isinstance(value, Mapping):
        return value
    return next(iter(value.values()), None)
