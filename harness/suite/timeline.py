"""A trace as short lines for a person: requests, answers, tool runs, waits, checkpoints, the end."""

from collections.abc import Callable, Iterable
from typing import Any

from harness.vocabulary.content import Refusal, Text, ToolCall
from harness.vocabulary.trace import (
    ApprovalAsked,
    CheckpointWritten,
    Intervened,
    Record,
    ReplySent,
    RequestSent,
    RunEnded,
    ToolEnded,
    Waited,
)
from harness.vocabulary.turn import ModelFault

_WIDTH = 96


def timeline_lines(trace: Iterable[Record]) -> list[str]:
    """One line a record; records that say nothing to a person are left out."""
    return [_short(line) for record in trace if (line := _line(record))]


def _line(record: Record) -> str | None:
    teller = _TELLERS.get(type(record))
    return teller(record) if teller else None


def _request(record: Any) -> str:
    control = f", control {record.request.control.name}" if record.request.control else ""
    choice = f", tool_choice {record.request.tool_choice}" if record.request.tool_choice else ""
    return f"request {record.n}   {len(record.request.items)} items{control}{choice}"


def _reply(record: Any) -> str:
    reply = record.reply
    if isinstance(reply, ModelFault):
        return f"reply {record.n}     fault: {reply.kind} {reply.status or ''} {reply.message}"
    parts = [_part(part) for part in reply.message.content]
    return f"reply {record.n}     {'; '.join(filter(None, parts)) or 'nothing'} ({reply.stop})"


def _part(part: object) -> str:
    if isinstance(part, ToolCall):
        return f"{part.name}({part.arguments}) as {part.call_id}"
    return f'"{part.text}"' if isinstance(part, (Text, Refusal)) else ""


def _end(record: Any) -> str:
    outcome = record.outcome
    answer = f'"{outcome.message}"' if outcome.message else None
    words = [str(outcome.status), outcome.reason, outcome.error_class, answer]
    return "end         " + " ".join(word for word in words if word)


_TELLERS: dict[type, Callable[[Any], str]] = {
    RequestSent: _request,
    ReplySent: _reply,
    ToolEnded: lambda record: f"tool        {record.tool} {record.call_id}: {record.outcome.outcome}",
    Waited: lambda record: f"wait        {record.seconds} s",
    ApprovalAsked: lambda record: f"approval    asked for {record.tool} {record.call_id}",
    Intervened: lambda record: f"outside     {record.do} {record.call_id or ''}",
    CheckpointWritten: lambda record: f"checkpoint  {record.trigger}",
    RunEnded: _end,
}


def _short(line: str) -> str:
    line = " ".join(line.splitlines())
    return "  " + (line if len(line) <= _WIDTH else line[: _WIDTH - 1] + "…")
