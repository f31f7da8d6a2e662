"""What was played on a board, as a scenario file: the same run for the command line and for pytest.

The moves are kept in the words of the scenario format from the start (a turn, an answer), so nothing is guessed here.
A scenario kills a run once: of several kills the last one is written.
"""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from harness.contract.loop_board import Board
from harness.contract.loop_moves import CANCELLED
from harness.scenario.answers import outcome_of
from harness.scenario.format_tools import Answer, Tool
from harness.vocabulary.content import AssistantMessage, AssistantPart, Refusal, Text, ToolCall
from harness.vocabulary.tools import ToolOutcome
from harness.vocabulary.trace import EventEmitted, Intervened, Record, ReplySent, RequestSent, RunEnded, ToolStarted
from harness.vocabulary.turn import FaultKind, ModelFault, ModelTurn, StopReason

Spec = Mapping[str, Any]
_N = {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False}
TOOLS: dict[str, dict[str, Any]] = {
    "read": {"parameters": _N, "effect": "read_only"},
    "poll": {"parameters": _N, "effect": "read_only", "poll_budget": 2},
    "put": {"parameters": _N, "effect": "idempotent", "retry_budget": 2},
    "pay": {"parameters": _N, "effect": "non_idempotent"},
    "sign": {"parameters": _N, "effect": "non_idempotent", "approval": "required"},
    "ban": {"parameters": _N, "effect": "idempotent", "policy": "deny"},
}
"""The tools of every story: one of each kind, and `nosuch`, which nobody declares."""
UNKNOWN = "nosuch"
USER = "Find out and answer."
FAILS: dict[str, tuple[dict[str, Any], ModelFault]] = {
    "busy": ({"status": 503}, ModelFault(kind=FaultKind.TRANSIENT, message="busy", status=503)),
    "later": (
        {"status": 429, "retry_after": 4.0},
        ModelFault(kind=FaultKind.TRANSIENT, message="later", status=429, retry_after=4.0),
    ),
    "forbidden": ({"status": 403}, ModelFault(kind=FaultKind.PERMANENT, message="no", status=403)),
    "too-long": (
        {"status": 400, "type": "context_length"},
        ModelFault(kind=FaultKind.CONTEXT_LENGTH, message="long", status=400),
    ),
    "rejected": (
        {"status": 400, "type": "call_rejected"},
        ModelFault(kind=FaultKind.CALL_REJECTED, message="call", status=400),
    ),
}
"""Failed attempts: as a scenario writes them, and as the loop meets them."""


def turn_of(spec: Spec, first_call: int) -> ModelTurn | ModelFault:
    """The reply that a scripted turn stands for; its calls are numbered from `first_call`."""
    if "fail" in spec:
        return next(fault for words, fault in FAILS.values() if words == spec["fail"])
    parts: list[AssistantPart] = []
    if "say" in spec:
        parts.append(Text(spec["say"]))
    if "refusal" in spec:
        parts.append(Refusal(spec["refusal"]))
    for place, call in enumerate(spec.get("calls", ()), start=first_call):
        parts.append(ToolCall(f"call_{place}", call["tool"], _arguments(call)))
    usual = StopReason.TOOL_CALLS if "calls" in spec else StopReason.END
    stop = StopReason(spec["stop"]) if "stop" in spec else StopReason.REFUSAL if "refusal" in spec else usual
    return ModelTurn(message=AssistantMessage(tuple(parts)), stop=stop)


def answer_of(spec: Spec, tool: str) -> ToolOutcome:
    """The outcome that a scripted answer stands for."""
    return outcome_of(Answer.model_validate(spec), Tool.model_validate(TOOLS[tool]), 1)


def story(board: Board, name: str, proves: list[str], said: Mapping[str, Spec], expect: Spec) -> dict[str, Any]:
    """The scenario of a board. `said` holds the spec of each reply and outcome, by its object's id."""
    turns = [dict(said[f"model {move.about}"]) for move in board.play if move.kind == "model"]
    tools = {tool: {**spec, "answers": []} for tool, spec in TOOLS.items()}
    for call in {run.call.call_id: run.call for run in board.dispatched}.values():
        tools[call.name]["answers"].append(dict(said.get(f"tool {call.call_id}", {"text": "Lost."})))
    for tool in tools.values():
        tool["answers"].append({"text": "One more.", "repeat": "always"})
    unknown = any(call["tool"] == UNKNOWN for turn in turns for call in turn.get("calls", ()))
    limits, settings = board.task.limits, board.task.settings
    made: dict[str, Any] = {
        "id": name,
        "title": "Found by the state machine over the pure loop",
        "proves": list(dict.fromkeys([*proves, *(["loop.tools.unknown"] if unknown else [])])),
        "user": USER,
        "unplayed": "allowed",
        "limits": {key: getattr(limits, key) for key in _LIMITS if getattr(limits, key) is not None},
        "settings": {key: getattr(settings, key) for key in _SETTINGS},
        "tools": tools,
        "script": [*turns, {"say": "The answer."}],
        "interventions": _interventions(board),
        "expect": dict(expect),
    }
    if any(turn.get("stop") == "pause" for turn in turns):
        made["arms"] = ["anthropic-messages-*", "sim"]
    if board.kills:
        effect, nth = board.kills[-1]
        made["crash"] = {"after": effect, "nth": nth}
    return made


def write(folder: Path, scenario: Spec) -> Path:
    """The file of a scenario, named by its id."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{scenario['id']}.yaml"
    # By way of JSON: the words of the file share no objects, so that YAML needs no anchors.
    plain = json.loads(json.dumps(scenario, default=str))
    path.write_text(yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=120), encoding="utf-8")
    return path


_LIMITS = (
    "max_steps",
    "max_model_calls",
    "max_tool_calls",
    "deadline",
    "synthesis_reserve_steps",
    "synthesis_reserve_model_calls",
    "synthesis_reserve_tool_calls",
)
_SETTINGS = ("identical_call_threshold", "identical_denial_threshold", "context_budget_tokens")


def _arguments(call: Spec) -> str:
    raw: str = call["raw_arguments"] if "raw_arguments" in call else json.dumps(call["arguments"])
    return raw


def _interventions(board: Board) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    seen: Counter[str] = Counter()
    last = "run.started"
    for record in board.trace:
        moment = _moment(record)
        if moment is not None:
            seen[moment], last = seen[moment] + 1, moment
        if not isinstance(record, Intervened):
            continue
        if record.do in ("approve", "deny"):
            made.append({"at": "approval_requested", "call": record.call_id, "do": record.do})
        elif record.do == "cancel":
            made.append({"at": last, "nth": seen[last], "do": "cancel", "reason": CANCELLED})
        elif record.do == "advance_clock":
            made.append({"at": last, "nth": seen[last], "do": "advance_clock", "by": float(record.details["seconds"])})
    return made


def _moment(record: Record) -> str | None:
    if isinstance(record, RequestSent):
        return "request_sent"
    if isinstance(record, ToolStarted):
        return "tool_started"
    if isinstance(record, ReplySent | RunEnded):
        return None
    return record.name if isinstance(record, EventEmitted) and record.name in _TOLD else None


_TOLD = ("model.failed", "run.suspended", "run.started")
