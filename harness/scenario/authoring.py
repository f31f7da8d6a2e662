"""Mistakes that only show between the parts of a scenario, found before anything runs.

Each is a mistake of the author, never a verdict on a subject: exit 2, not 1 (scenarios.md, "The closed key list").
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, TypeAlias

import jsonschema_rs

from harness.scenario.arms import ARM_NAMES, SIM, matching
from harness.scenario.document import Path
from harness.scenario.format import Scenario
from harness.scenario.format_expect import REASON_CODES
from harness.scenario.format_outside import AT
from harness.scenario.format_tools import Answer, Tool
from harness.scenario.known_calls import KnownCalls
from harness.scenario.plan import limits_of, played_turns, settings_of
from harness.scenario.problems import Placed, nearest
from harness.vocabulary.capabilities import CAPABILITIES
from harness.vocabulary.events import EventName
from harness.vocabulary.outcome import ErrorClass, Reason
from harness.vocabulary.settings import SettingsError
from harness.wire import dialects

Mistakes: TypeAlias = Iterator[Placed]
UNKNOWN_TOOL_RULE = "loop.tools.unknown"
_CHECKPOINTS = (
    "model_response",
    "model_failed",
    "tool_pending",
    "tool_call",
    "suspended",
    "final",
    "failed",
    "cancelled",
)
_EVENTS = tuple(name.value for name in EventName)
_SMALL_CUT = 16
"""A body cut this early holds no visible output on any wire."""


def mistakes(scenario: Scenario, rules: Collection[str] | None) -> list[Placed]:
    """All mistakes. `rules` None: the ids in `proves` are not looked up."""
    found = [one for look in _LOOKS for one in look(scenario)]
    return found if rules is None else [*found, *_rules(scenario, rules)]


def _rules(scenario: Scenario, rules: Collection[str]) -> Mistakes:
    for place, rule in enumerate(scenario.proves):
        if rule not in rules:
            yield Placed(("proves", place), f"no requirement is called `{rule}`", nearest(rule, sorted(rules)))


def _words(scenario: Scenario) -> Mistakes:
    expect = scenario.expect
    groups: list[tuple[Path, Sequence[str], Sequence[str], str]] = [
        (("requires",), scenario.requires, tuple(CAPABILITIES), "capability"),
        (("expect", "events"), expect.events, _EVENTS, "event"),
        (("expect", "checkpoints"), expect.checkpoints, _CHECKPOINTS, "checkpoint"),
    ]
    for path, words, known, what in groups:
        for place, word in enumerate(words):
            if word not in known:
                yield Placed((*path, place), f"no {what} is called `{word}`", nearest(word, known))
    if expect.error_class is not None and expect.error_class not in list(ErrorClass):
        known = tuple(kind.value for kind in ErrorClass)
        yield Placed(
            ("expect", "error_class"),
            f"no error class is called `{expect.error_class}`",
            nearest(expect.error_class, known),
        )
    if expect.outcome == "failed" and expect.reason is not None and expect.reason not in list(Reason):
        known = tuple(reason.value for reason in Reason)
        yield Placed(
            ("expect", "reason"), f"no failure has the reason `{expect.reason}`", nearest(expect.reason, known)
        )
    for place, result in enumerate(expect.results):
        if result.reason_code is not None and result.reason_code not in REASON_CODES:
            path = ("expect", "results", place, "reason_code")
            yield Placed(
                path, f"no reason code is called `{result.reason_code}`", nearest(result.reason_code, REASON_CODES)
            )


def _exhausted(scenario: Scenario) -> Mistakes:
    """A script that no right subject can end on: its last turn gives nothing that could be the expected answer."""
    last = scenario.script[-1]
    answers = (last.say is not None or last.refusal is not None or last.raw is not None) and not last.calls
    if scenario.expect.outcome == "completed" and scenario.unplayed != "allowed" and not (answers and not last.cut):
        yield Placed(
            ("script", len(scenario.script) - 1),
            "the script is exhausted without an answer, but `outcome: completed` is expected",
            "end the script with a turn that has `say`",
        )


def _twice(scenario: Scenario) -> Mistakes:
    for key, words in (("proves", scenario.proves), ("requires", scenario.requires)):
        for place, word in enumerate(words):
            if word in words[:place]:
                yield Placed((key, place), f"`{word}` stands here twice", "keep one")


def _settings(scenario: Scenario) -> Mistakes:
    for key, check in (
        ("limits", lambda: limits_of(scenario.limits)),
        ("settings", lambda: settings_of(scenario.settings)),
    ):
        try:
            check()
        except SettingsError as error:
            what, _, mend = str(error).partition(": ")
            yield Placed((key, what.split()[0]), f"`{key}`: {what}", mend)
    model = scenario.settings.model or "sim-model"
    if scenario.limits.max_cost is not None and model not in scenario.settings.prices:
        yield Placed(
            ("limits", "max_cost"),
            f"`max_cost` is set, but the model {model!r} has no price",
            "add it to `settings.prices`",
        )
    if scenario.settings.dialect is not None:
        yield from _dialect(scenario, scenario.settings.dialect)


def _dialect(scenario: Scenario, name: str) -> Mistakes:
    if name not in dialects.names():
        known = ", ".join(dialects.names())
        yield Placed(("settings", "dialect"), f"no dialect is called {name!r}", f"write one of {known}")
        return
    spoken = dialects.load(name).speeches
    silent = sorted({arm.transport for arm in matching(scenario.arms) if arm.wire and arm.transport not in spoken})
    if silent:
        mend = f"name the arms that it has: `arms: [{', '.join(f'{one}-*' for one in sorted(spoken))}]`"
        yield Placed(("settings", "dialect"), f"the dialect {name!r} does not speak {', '.join(silent)}", mend)


def _arms(scenario: Scenario) -> Mistakes:
    lists: list[tuple[Path, Sequence[str]]] = [(("arms",), scenario.arms)]
    lists += [(("permitted_differences", i, "arms"), one.arms) for i, one in enumerate(scenario.permitted_differences)]
    for path, patterns in lists:
        for place, pattern in enumerate(patterns):
            if not matching([pattern]):
                yield Placed((*path, place), f"no arm fits `{pattern}`", nearest(pattern, ARM_NAMES))


def _undeclared_tools(scenario: Scenario) -> Mistakes:
    known = tuple(scenario.tools)
    if UNKNOWN_TOOL_RULE not in scenario.proves:
        for place, turn in enumerate(scenario.script):
            for number, call in enumerate(turn.calls):
                if call.tool not in known:
                    mend = f"declare it under `tools`, or prove {UNKNOWN_TOOL_RULE}"
                    yield Placed(
                        ("script", place, "calls", number, "tool"), f"the tool `{call.tool}` is not declared", mend
                    )
    expect = scenario.expect
    for key in ("executed", "effects", "verdicts"):
        for name in getattr(expect, key) or ():
            if name not in known:
                yield Placed(
                    ("expect", key, name),
                    f"the tool `{name}` is not declared",
                    nearest(name, known) if known else "declare it under `tools`",
                )


def _tools(scenario: Scenario) -> Mistakes:
    for name, tool in scenario.tools.items():
        path: Path = ("tools", name)
        if tool.parameters is not None and tool.parameters.get("type") != "object":
            yield Placed((*path, "parameters"), f"the parameters of `{name}` are not an object", "write `type: object`")
        yield from _schema(name, tool.parameters, (*path, "parameters"))
        if tool.retry_budget and tool.effect == "non_idempotent":
            yield Placed(
                (*path, "retry_budget"),
                f"`retry_budget` on `{name}`, whose effect must not happen twice",
                "leave it out, or declare another `effect`",
            )
        yield from _answers(scenario, tool, path)


def _schema(name: str, parameters: dict[str, Any] | None, path: Path) -> Mistakes:
    """A schema that no validator takes. Nothing is fetched: a `$ref` stays within its schema."""
    try:
        jsonschema_rs.validator_for(parameters or {}, retriever=_refused)
    except (jsonschema_rs.ValidationError, ValueError) as error:
        first = str(error).splitlines()[0]
        yield Placed(path, f"the parameters of `{name}` are not a JSON Schema: {first}", "mend the schema")


def _refused(uri: str) -> Any:
    raise ValueError("only references within the schema are followed")


def _answers(scenario: Scenario, tool: Tool, path: Path) -> Mistakes:
    bounded = tool.timeout is not None or scenario.limits.deadline is not None
    for place, answer in enumerate(tool.answers):
        here = (*path, "answers", place)
        if not bounded and any(one.hangs for one in (answer, *(answer.sequence or ()))):
            yield Placed(
                here,
                "an answer that hangs, with nothing that ends it",
                "give the tool a `timeout`, or the run a `deadline`",
            )
        if place and _swallows(tool.answers[place - 1]):
            yield Placed(
                here,
                "an answer that is never reached: the one before it is given always",
                "put it first, or give the other a `when`",
            )


def _swallows(answer: Answer) -> bool:
    return answer.repeat == "always" and answer.when is None


def _arm_bound(scenario: Scenario) -> Mistakes:
    names = {arm.name for arm in matching(scenario.arms)}
    for place, turn in enumerate(scenario.script):
        path: Path = ("script", place)
        others = sorted(name for name in names if name != SIM and not name.startswith("anthropic-messages"))
        if turn.stop == "pause" and others:
            yield Placed((*path, "stop"), "only Anthropic pauses a turn", 'write `arms: ["anthropic-messages-*", sim]`')
        bytes_in = turn.cut is not None and (turn.cut.after_bytes or 0) > _SMALL_CUT
        if bytes_in and SIM in names:
            yield Placed(
                (*path, "cut", "after_bytes"),
                "how far that many bytes reach is another thing on each wire",
                "use `after_events`, or confine the scenario by `arms` without sim",
            )


def _numbers(scenario: Scenario) -> Mistakes:
    replies = played_turns(scenario.script)
    for place, request in enumerate(scenario.expect.requests):
        if isinstance(request.at, int) and request.at > replies and scenario.crash is None:
            yield Placed(
                ("expect", "requests", place, "at"),
                f"request {request.at} of a script with {replies} turns",
                f"write at most {replies}, or `last`",
            )


def _calls(scenario: Scenario) -> Mistakes:
    known = KnownCalls(scenario)
    named: list[tuple[Path, str, bool]] = []
    for place, one in enumerate(scenario.interventions):
        if one.at not in AT:
            yield Placed(
                ("interventions", place, "at"), f"no moment or event is called `{one.at}`", nearest(one.at, AT)
            )
        named += [(("interventions", place, "call"), one.call, True)] if one.call is not None else []
    for place, result in enumerate(scenario.expect.results):
        named += [(("expect", "results", place, "call"), result.call, False)] if result.call is not None else []
        if result.tool is not None and known.of_tool(result.tool) < (result.nth or 1):
            yield Placed(
                ("expect", "results", place),
                f"`{result.tool}` is called {known.of_tool(result.tool)} times by the script",
                "count its calls from 1",
            )
    for place, request in enumerate(scenario.expect.requests):
        named += [
            (("expect", "requests", place, "elided", i), call, False) for i, call in enumerate(request.elided or ())
        ]
    for path, call, may_be_tool in named:
        if call not in known and not (may_be_tool and call in scenario.tools):
            yield Placed(path, f"the script makes no call `{call}`", f"its calls are {known.described()}")


_LOOKS: tuple[Callable[[Scenario], Mistakes], ...] = (
    _words,
    _exhausted,
    _twice,
    _settings,
    _arms,
    _undeclared_tools,
    _tools,
    _arm_bound,
    _numbers,
    _calls,
)
