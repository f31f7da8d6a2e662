"""Scenario -> the values that a run gets: limits, settings, tool declarations, history. Pure; made once a scenario."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from harness.scenario.format import HistoryItem, Limits, PriceSpec, Scenario, Settings
from harness.scenario.format_script import Call, Turn
from harness.scenario.format_tools import Tool
from harness.vocabulary.content import AssistantMessage, Item, Text, ToolCall, ToolResult, UserMessage
from harness.vocabulary.settings import RunLimits, RunSettings
from harness.vocabulary.tools import Effect, ToolDeclaration, ToolDefinition
from harness.vocabulary.usage import Price

POLICY = "policy"
"""Reason code under which a tool that policy forbids is denied."""
NO_ARGUMENTS: Mapping[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
_SETTINGS = (
    "identical_call_threshold",
    "identical_denial_threshold",
    "context_budget_tokens",
    "max_result_bytes",
    "max_batch_bytes",
    "max_attempts",
    "model",
    "reasoning",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a run is started with."""

    system: str
    user: str
    history: tuple[Item, ...]
    limits: RunLimits
    settings: RunSettings
    tools: tuple[ToolDeclaration, ...]


def plan_of(scenario: Scenario) -> Plan:
    """The plan of a scenario. Raises SettingsError where limits or settings do not fit together."""
    return Plan(
        system=scenario.system,
        user=scenario.user,
        history=tuple(history_of(scenario.history)),
        limits=limits_of(scenario.limits),
        settings=settings_of(scenario.settings),
        tools=tuple(declaration_of(name, tool) for name, tool in scenario.tools.items()),
    )


def limits_of(limits: Limits) -> RunLimits:
    """Raises SettingsError."""
    return RunLimits(**{name: getattr(limits, name) for name in Limits.model_fields})


def settings_of(settings: Settings) -> RunSettings:
    """Raises SettingsError."""
    given = {name: getattr(settings, name) for name in _SETTINGS if getattr(settings, name) is not None}
    return RunSettings(**given, prices={model: _price(price) for model, price in settings.prices.items()})


def _price(price: PriceSpec) -> Price:
    money: dict[str, Decimal | None] = {name: getattr(price, name) for name in PriceSpec.model_fields}
    return Price(**money)  # type: ignore[arg-type]


def declaration_of(name: str, tool: Tool) -> ToolDeclaration:
    """What the owner of a tool declares."""
    definition = ToolDefinition(
        name=name,
        description=f"The tool {name}." if tool.description is None else tool.description,
        parameters=NO_ARGUMENTS if tool.parameters is None else tool.parameters,
        strict=tool.strict,
    )
    return ToolDeclaration(
        definition=definition,
        effect=Effect(tool.effect),
        approval=tool.approval == "required",
        denied=POLICY if tool.policy == "deny" else None,
        observation=tool.observation,
        volatile_arguments=tuple(tool.volatile_arguments),
        volatile_outcome=tuple(tool.volatile_outcome),
        retry_budget=tool.retry_budget,
        poll_budget=tool.poll_budget,
        timeout=tool.timeout,
    )


def history_of(history: Sequence[HistoryItem]) -> list[Item]:
    """The conversation before the user's message. A result takes its tool's name from the call that it answers."""
    items: list[Item] = []
    names: dict[str, str] = {}
    for item in history:
        names.update({call.id or "": call.tool for call in item.calls})
        items.append(_item(item, names))
    return items


def _item(item: HistoryItem, names: Mapping[str, str]) -> Item:
    if item.user is not None:
        return UserMessage((Text(item.user),))
    if item.result is not None:
        content = () if item.text is None else (Text(item.text),)
        name = names.get(item.result, "")
        return ToolResult(call_id=item.result, tool=name, content=content, is_error=item.is_error)
    said = () if item.assistant is None else (Text(item.assistant),)
    calls = tuple(ToolCall(call.id or "", call.tool, arguments_text(call)) for call in item.calls)
    return AssistantMessage((*said, *calls))


def arguments_text(call: Call) -> str:
    """The raw argument text of a scripted call, `{n}` not yet put in."""
    if call.raw_arguments is not None:
        return call.raw_arguments
    return compact(call.arguments or {})


def compact(value: Any) -> str:
    """JSON without white space, in the order of its keys, nothing escaped that need not be."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def played_turns(script: Sequence[Turn]) -> int:
    """How many replies a script holds."""
    return sum(turn.repeat for turn in script)
