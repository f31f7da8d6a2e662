"""Which call ids a script makes, without playing it: those given, and `call_1`, `call_2` … for the others."""

from collections.abc import Iterator

from harness.scenario.format import Scenario

PREFIX = "call_"
_SHOWN = 6


class KnownCalls:
    """The ids of a scenario's calls. A number counts every call of the script, so that a call's name does not change
    when another call is given an id of its own."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._total = sum(len(turn.calls) * turn.repeat for turn in scenario.script)
        self._history = {call.id for item in scenario.history for call in item.calls}

    def __contains__(self, call: str) -> bool:
        number = call.removeprefix(PREFIX)
        if call.startswith(PREFIX) and number.isdigit() and 1 <= int(number) <= self._total:
            return True
        return call in self._history or call in self._given()

    def of_tool(self, tool: str) -> int:
        """How often the script calls a tool."""
        turns = self._scenario.script
        return sum(turn.repeat * sum(call.tool == tool for call in turn.calls) for turn in turns)

    def described(self) -> str:
        """The ids in a few words."""
        given = list(dict.fromkeys(self._given()))[:_SHOWN]
        numbered = [f"{PREFIX}1 to {PREFIX}{self._total}"] if self._total else ["none"]
        return ", ".join(given + numbered)

    def _given(self) -> Iterator[str]:
        for turn in self._scenario.script:
            for call in turn.calls:
                if call.id is not None:
                    for n in range(1, turn.repeat + 1):
                        yield call.id.replace("{n}", str(n))
