"""From a short code back to the run it names.

How runs are named is decided where they are reported; given that, the run is found by naming every arm of every
scenario: nothing of the failing run needs to have been kept.
"""

from collections.abc import Callable, Iterable

from harness.scenario.arms import Arm, matching
from harness.scenario.format import Scenario

SHORTEST = 4
"""A code may be given by its beginning, if it is this long."""


class NoSuchRun(ValueError):
    """No run, or more than one, goes by a code; the text says which."""


def find_run(code: str, scenarios: Iterable[Scenario], name: Callable[[Scenario, Arm], str]) -> tuple[Scenario, Arm]:
    """The run whose name is `code`, in either letter case, or begins with it. Raises NoSuchRun."""
    wanted = code.strip().upper()
    if len(wanted) < SHORTEST:
        raise NoSuchRun(f"{code!r} is too short for a run id: give at least {SHORTEST} characters")
    runs = [(scenario, arm) for scenario in scenarios for arm in matching(scenario.arms)]
    named = [(name(scenario, arm).upper(), scenario, arm) for scenario, arm in runs]
    exact = [run for run in named if run[0] == wanted]
    found = exact or [run for run in named if run[0].startswith(wanted)]
    if not found:
        raise NoSuchRun(f"no run of {len(runs)} is called {code!r}: it depends on scenario, arm, subject and seed")
    if len(found) > 1:
        items = ", ".join(f"{scenario.id}[{arm.name}]" for _, scenario, arm in found[:5])
        raise NoSuchRun(f"{len(found)} runs are called {code!r}: {items}; give more of it, or an item id")
    return found[0][1], found[0][2]
