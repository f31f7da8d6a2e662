"""Scenarios behind URLs: any client in any language plays one by its base URL, and is judged by the wire's rules.

    http://HOST/<scenario>/v1/...            a run of the scenario; the wire is told by the rest of the path
    http://HOST/<scenario>~<label>/v1/...    another run of it
    http://HOST/<scenario>/xml/v1/...        the XML fallback's text protocol
    GET /                                    the scenarios and the runs so far
    GET /<scenario>                          what a run came to: requests, breaches, faults of the script
    DELETE /<scenario>                       forget a run, to play it anew

A run begins with its first request. It plays the model's side only: tools, approvals and limits are the client's own.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from threading import Lock
from typing import Any

from harness.provider.replies import Answer
from harness.scenario.arms import Arm
from harness.scenario.format import Scenario
from harness.scenario.plan import plan_of
from harness.scenario.subject import Depth, World
from harness.vocabulary.outcome import RunOutcome
from harness.vocabulary.trace import ScriptFault
from harness.wire.registry import CODEC_IDS, codec

_XML = "xml-fallback"
_JSON = {"content-type": "application/json"}


@dataclass(frozen=True, slots=True)
class _Client:
    """Whoever calls: it declares nothing of itself, and is never run from here."""

    name: str = "client"
    capabilities: frozenset[str] = frozenset()
    depths: frozenset[Depth] = frozenset({"http"})

    def run(self, world: World) -> RunOutcome:
        raise NotImplementedError("a client runs itself")


@dataclass(slots=True)
class _Run:
    world: World
    transport: str


class ServedScenarios:
    """Answers HTTP requests by the runs of its scenarios (`harness.provider.loopback.LoopbackServer`)."""

    def __init__(self, scenarios: Mapping[str, Scenario]) -> None:
        self._scenarios = dict(scenarios)
        self._runs: dict[str, _Run] = {}
        self._lock = Lock()

    def answer(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Answer one request. Never raises for what a client sends."""
        name, _, rest = path.partition("?")[0].strip("/").partition("/")
        if method == "POST":
            return self._played(name, f"/{rest}", method, headers, body)
        if not name:
            return _json(200, {"scenarios": sorted(self._scenarios), "runs": sorted(self._runs)})
        with self._lock:
            run = self._runs.pop(name, None) if method == "DELETE" else self._runs.get(name)
        if run is None:
            return _json(404, {"error": f"no run is called {name!r}: {self._hint(name, self._runs)}"})
        return _json(200, _verdict(name, run))

    def verdicts(self) -> list[dict[str, Any]]:
        """What each run came to, in the order in which they began."""
        return [_verdict(name, run) for name, run in self._runs.items()]

    @property
    def faults(self) -> list[Exception]:
        """Faults of the simulated provider itself."""
        return [fault for run in self._runs.values() for fault in run.world.harness_faults]

    def _played(self, name: str, rest: str, method: str, headers: Mapping[str, str], body: bytes) -> Answer:
        transport = _transport(rest)
        scenario = self._scenarios.get(name.partition("~")[0])
        if transport is None or scenario is None:
            return self._lost(name, rest, scenario)
        with self._lock:
            run = self._runs.get(name)
            if run is None:
                run = self._runs[name] = _begun(scenario, Arm(transport, _streamed(body)))
        if run.transport != transport:
            words = (
                f"the run {name!r} speaks {run.transport}: DELETE /{name} to play it anew, or add ~label to the path"
            )
            return _json(409, {"error": words})
        return run.world.provider().answer(method, rest, headers, body)

    def _lost(self, name: str, rest: str, scenario: Scenario | None) -> Answer:
        if scenario is None:
            words = f"no scenario is called {name!r}: {self._hint(name, self._scenarios)}"
        else:
            paths = ", ".join(dict.fromkeys(codec(one).path for one in CODEC_IDS))
            words = f"{rest} is no wire: the path after /{name} is one of {paths}, or /xml{codec(_XML).path}"
        return _json(404, {"error": words})

    def _hint(self, name: str, known: Mapping[str, Any]) -> str:
        near = get_close_matches(name, known, 3)
        return f"near matches: {', '.join(near)}" if near else "GET / lists them"


def _begun(scenario: Scenario, arm: Arm) -> _Run:
    return _Run(World(scenario, plan_of(scenario), arm, "http", _Client()), arm.transport)


def _transport(rest: str) -> str | None:
    """The wire of a path behind the run's name."""
    if rest == f"/xml{codec(_XML).path}":
        return _XML
    return next((one for one in CODEC_IDS if one != _XML and rest == codec(one).path), None)


def _streamed(body: bytes) -> bool:
    try:
        return json.loads(body).get("stream") is True
    except (ValueError, AttributeError):
        return False


def _verdict(name: str, run: _Run) -> dict[str, Any]:
    exchanges = run.world.provider().exchanges
    breaches = [
        {"request": one.n, "rule": bad.rule, "where": bad.pointer, "message": bad.message, "mend": bad.mend}
        for one in exchanges
        for bad in one.violations
    ]
    script = [one.message for one in run.world.trace if isinstance(one, ScriptFault)]
    left = run.world.script.unplayed()
    return {
        "run": name,
        "transport": run.transport,
        "requests": len(exchanges),
        "breaches": breaches,
        "off_script": script,
        "unplayed": left,
        "kept": not breaches and not script and not left,
    }


def _json(status: int, value: Any) -> Answer:
    body = json.dumps(value, ensure_ascii=False, indent=2).encode() + b"\n"
    return Answer(status=status, headers=_JSON, chunks=(body,))
