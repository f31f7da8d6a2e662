"""What a run is asked to do, and what a person decided. Checked when made; never changed."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import jsonschema_rs

from harness.loop.signature import call_signature
from harness.loop.text import byte_length
from harness.vocabulary.content import Item
from harness.vocabulary.settings import RunLimits, RunSettings, SettingsError
from harness.vocabulary.tools import Effect, ToolDeclaration, ToolDefinition

_DEFAULT_SETTINGS = RunSettings()


class Toolbox:
    """The declared tools of a run by name, with their compiled argument schemas.

    Raises SettingsError for two tools of one name, a schema that is none, or a retry budget on a tool whose effect
    must not happen twice.
    """

    def __init__(self, tools: tuple[ToolDeclaration, ...]) -> None:
        self.declarations: Mapping[str, ToolDeclaration] = {tool.name: tool for tool in tools}
        self.definitions: tuple[ToolDefinition, ...] = tuple(tool.definition for tool in tools)
        if len(self.declarations) != len(tools):
            names = [tool.name for tool in tools]
            twice = sorted({name for name in names if names.count(name) > 1})
            raise SettingsError(f"tools: {', '.join(twice)} is declared twice; give each tool its own name")
        self.definition_bytes = sum(_definition_bytes(tool.definition) for tool in tools)
        self._validators = {tool.name: _compiled(tool) for tool in tools}

    def get(self, name: str) -> ToolDeclaration | None:
        """The declaration of a tool, or None for an unknown one."""
        return self.declarations.get(name)

    def signature(self, name: str, arguments: str) -> str:
        """The signature of a call by the tool's own declaration."""
        tool = self.declarations.get(name)
        return call_signature(name, arguments, tool.volatile_arguments if tool else ())

    def schema_error(self, name: str, value: Any) -> str | None:
        """Why `value` breaks the tool's argument schema, in one line; None if it does not."""
        error = next(self._validators[name].iter_errors(value), None)
        if error is None:
            return None
        place = "/".join(str(step) for step in error.instance_path)
        return f"/{place}: {error.message}" if place else str(error.message)

    def effect(self, name: str) -> Effect:
        """The declared effect; NON_IDEMPOTENT for an unknown tool."""
        tool = self.declarations.get(name)
        return tool.effect if tool else Effect.NON_IDEMPOTENT


def _definition_bytes(tool: ToolDefinition) -> int:
    return byte_length(tool.name) + byte_length(tool.description) + byte_length(json.dumps(dict(tool.parameters)))


def _compiled(tool: ToolDeclaration) -> Any:
    if tool.retry_budget and tool.effect is Effect.NON_IDEMPOTENT:
        raise SettingsError(f"tools.{tool.name}: retry_budget needs an effect that may happen twice; leave it out")
    try:
        return jsonschema_rs.validator_for(dict(tool.definition.parameters), retriever=_refused)
    except (jsonschema_rs.ValidationError, ValueError) as error:
        first = str(error).splitlines()[0]
        raise SettingsError(f"tools.{tool.name}.parameters is not a JSON Schema: {first}") from None


def _refused(uri: str) -> Any:
    """The validator's own retriever would fetch a `$ref` from anywhere, out of the network guard's sight."""
    raise ValueError("only references within the schema are followed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One run. `history` stands before `user`. Raises SettingsError where limits and prices do not fit together."""

    run_id: str
    system: str
    user: str
    tools: tuple[ToolDeclaration, ...] = ()
    history: tuple[Item, ...] = ()
    limits: RunLimits
    settings: RunSettings = _DEFAULT_SETTINGS
    toolbox: Toolbox = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.limits.max_cost is not None and self.settings.model not in self.settings.prices:
            raise SettingsError(
                f"max_cost is set but model {self.settings.model!r} has no price: add it to settings.prices"
            )
        object.__setattr__(self, "toolbox", Toolbox(self.tools))


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a person said about one call that waits. `reason` is a reason code or short words."""

    call_id: str
    approve: bool
    reason: str = "denied_by_person"
    by: str = ""
