"""From what a person names (ids, globs, item ids, rule ids, files, folders) to scenario files and items."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path

from harness.reports.case import parse_item_id
from harness.scenario.load import SUFFIX, scenario_files


class SelectionError(ValueError):
    """A name that fits nothing; the text gives near matches."""


@dataclass(frozen=True, slots=True)
class Selected:
    """One file, and the one item of it that was asked for ("" for all that the run's arms give)."""

    file: Path
    item: str = ""

    @property
    def argument(self) -> str:
        """How pytest is asked for it."""
        return f"{self.file}::{self.item}" if self.item else str(self.file)


def select(names: Sequence[str], folders: Sequence[Path]) -> list[Selected]:
    """The files that `names` ask for (all files of `folders` where there is no name), each once, in order.

    Raises SelectionError for a missing folder, a path that is no scenario, and a name that fits nothing.
    """
    for folder in folders:
        if not folder.exists():
            raise SelectionError(f"{folder}: no such scenario folder; mend `scenarios` in the configuration")
    known = {file.stem: file for file in scenario_files(list(folders))}
    if not names:
        return [Selected(file) for file in known.values()]
    found: dict[tuple[Path, str], Selected] = {}
    for chosen in (chosen for name in names for chosen in _matches(name, known)):
        found.setdefault((chosen.file.resolve(), chosen.item), chosen)
    for chosen in found.values():
        if "[" in str(chosen.file):
            raise SelectionError(f"{chosen.file}: pytest takes no '[' in a path; rename the folder or the file")
    return list(found.values())


def _matches(name: str, known: dict[str, Path]) -> Iterator[Selected]:
    if not name:
        raise SelectionError("an empty name; give an id, a glob, a file or a folder, or nothing for all scenarios")
    case = parse_item_id(name)
    if case is not None and case.scenario in known:
        yield Selected(known[case.scenario], case.item_id)
    elif name in known:
        yield Selected(known[name])
    elif "::" in name and Path(name.partition("::")[0]).is_file():
        yield Selected(Path(name.partition("::")[0]), name.partition("::")[2])
    elif Path(name).exists():
        yield from _on_disk(Path(name))
    else:
        yield from _by_glob(name, known)


def _on_disk(path: Path) -> Iterator[Selected]:
    if path.is_file() and path.suffix != SUFFIX:
        raise SelectionError(f"{path}: not a scenario file; scenario files end in {SUFFIX}")
    files = scenario_files([path])
    if not files:
        raise SelectionError(f"{path}: no scenario file ({SUFFIX}) below this folder")
    yield from map(Selected, files)


def _by_glob(name: str, known: dict[str, Path]) -> Iterator[Selected]:
    found = [file for stem, file in known.items() if fnmatchcase(stem, name)]
    if not found:
        raise SelectionError(_nothing(name, list(known)))
    yield from map(Selected, found)


def _nothing(name: str, known: list[str]) -> str:
    if "/" in name or name.endswith(SUFFIX):
        return f"{name}: no such file or folder"
    near = get_close_matches(name.partition("[")[0], known, 3)
    hint = f"near matches: {', '.join(near)}" if near else "`harness list` shows them all"
    return f"no scenario is called {name!r}; {hint}"
