"""Scenario files -> scenarios. Every problem of a file is told with its line and mend, all of one file together.

Reads and validates; runs nothing. `rules` are the ids of all requirements: with them, a rule in `proves` that does not
exist is a problem of the file.
"""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError

from harness.scenario.authoring import mistakes
from harness.scenario.document import Document, DocumentError
from harness.scenario.format import Scenario
from harness.scenario.problems import Placed, Problem, ScenarioError, placed

SUFFIX = ".yaml"


def load_scenario(path: Path, rules: Collection[str] | None = None) -> Scenario:
    """The scenario of a file. Raises ScenarioError."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else f"not UTF-8: {error.reason}"
        raise ScenarioError(str(path), [Problem(1, f"cannot be read: {why}", "give a UTF-8 text file")]) from None
    return parse_scenario(text, str(path), path.stem, rules)


def parse_scenario(text: str, file: str, stem: str | None = None, rules: Collection[str] | None = None) -> Scenario:
    """The scenario that `text` holds. `file` names it in errors; `stem` is the id that it must have. Raises
    ScenarioError."""
    try:
        document = Document(text)
    except DocumentError as error:
        raise ScenarioError(file, [Problem(error.line, error.what, error.mend)]) from None
    problems: list[Placed] = []
    scenario: Scenario | None = None
    try:
        scenario = Scenario.model_validate(document.value)
    except ValidationError as error:
        problems = list(placed(error, document.value))
    problems += _wrong_name(document.value, stem)
    if scenario is not None:
        problems += mistakes(scenario, rules)
    if problems or scenario is None:
        raise ScenarioError(file, [Problem(document.line(one.path), one.what, one.mend) for one in problems])
    return scenario


def scenario_files(paths: Sequence[Path]) -> list[Path]:
    """The scenario files among files and folders (searched whole), each once, in the order of their names."""
    found = [file for path in paths for file in (_below(path) if path.is_dir() else [path])]
    return list(dict.fromkeys(found))


def _below(folder: Path) -> list[Path]:
    # A link that leads nowhere stays: reading it says so. A folder may be called anything.
    return sorted(file for file in folder.rglob(f"*{SUFFIX}") if not file.is_dir())


def load_all(paths: Sequence[Path], rules: Collection[str] | None = None) -> dict[Path, Scenario]:
    """The scenarios of files and folders. Raises ScenarioError for the first bad file, and for two files whose ids
    are equal but for case."""
    loaded: dict[Path, Scenario] = {}
    homes: dict[str, Path] = {}
    for path in scenario_files(paths):
        scenario = load_scenario(path, rules)
        first = homes.setdefault(scenario.id.lower(), path)
        if first != path:
            problem = Problem(1, f"the id `{scenario.id}` stands in {first} already", "give it an id of its own")
            raise ScenarioError(str(path), [problem])
        loaded[path] = scenario
    return loaded


def _wrong_name(value: object, stem: str | None) -> Iterator[Placed]:
    name = value.get("id") if isinstance(value, dict) else None
    if stem is not None and isinstance(name, str) and name != stem:
        yield Placed(("id",), f"`id` is {name!r} in a file called {stem!r}", f"write `id: {stem}` or rename the file")
