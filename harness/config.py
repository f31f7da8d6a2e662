"""Configuration: `[tool.harness]` in pyproject.toml, or harness.toml, found from the working folder upwards.

Order of authority: flag, `HARNESS_*` variable, file, default. Each value knows where it came from, so that
`harness doctor` can say it. Paths in a file are relative to that file. Knows no room of the project.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

KEYS = ("scenarios", "goldens", "reports", "subject", "expected_failures", "seed")
_PATHS = ("goldens", "reports", "expected_failures")
_DEFAULTS: dict[str, Any] = {"scenarios": None, "reports": "reports", "subject": "reference", "seed": 0}
FILE_NAMES = ("harness.toml", "pyproject.toml")


class ConfigurationError(ValueError):
    """A configuration that cannot be read; the text names file, key and mend."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One value and where it came from (a flag, a variable, a file, "default")."""

    value: Any
    origin: str


@dataclass(frozen=True, slots=True)
class Configuration:
    """All settings by key. `file` is the configuration file that was read, if any."""

    settings: Mapping[str, Setting]
    file: Path | None = None

    def __getitem__(self, key: str) -> Any:
        return self.settings[key].value


def load_configuration(folder: Path, environ: Mapping[str, str], flags: Mapping[str, Any]) -> Configuration:
    """The configuration for work in `folder`. Flags that are None do not count. Raises ConfigurationError."""
    file, table = find_table(folder)
    settings: dict[str, Setting] = {}
    for key in KEYS:
        variable = f"HARNESS_{key.upper()}"
        if flags.get(key) is not None:
            settings[key] = Setting(_from_flag(key, flags[key]), "flag")
        elif environ.get(variable):
            settings[key] = Setting(_from_text(key, environ[variable], variable, folder), variable)
        elif file is not None and key in table:
            settings[key] = Setting(_from_file(key, table[key], file), str(file))
        else:
            settings[key] = Setting(_default(key, folder), "default")
    return Configuration(settings, file)


def find_table(folder: Path) -> tuple[Path | None, dict[str, Any]]:
    """The nearest configuration file at or above `folder` and its table. Raises ConfigurationError."""
    for place in (folder, *folder.parents):
        for name in FILE_NAMES:
            table = _table(place / name)
            if table is not None:
                return place / name, table
    return None, {}


def _table(file: Path) -> dict[str, Any] | None:
    if not file.is_file():
        return None
    try:
        whole = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigurationError(f"{file}: cannot be read: {error.strerror}; mend its permissions") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        if file.name == "pyproject.toml":
            raise ConfigurationError(f"{file}: not TOML ({error}); mend the file") from None
        raise ConfigurationError(f"{file}: not TOML ({error}); mend the line") from None
    table: Any = whole if file.name == "harness.toml" else _tool_table(whole)
    if table is None:
        return None
    if not isinstance(table, dict):
        raise ConfigurationError(f"{file}: tool.harness must be a table; write [tool.harness] and keys below it")
    for key in table:
        if key not in KEYS:
            near = get_close_matches(key, KEYS, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(KEYS)}"
            raise ConfigurationError(f"{file}: unknown key {key!r}; {hint}")
    return dict(table)


def _tool_table(whole: dict[str, Any]) -> Any:
    tools = whole.get("tool")
    return tools.get("harness") if isinstance(tools, dict) else None


def _from_flag(key: str, value: Any) -> Any:
    return Path(value) if key in _PATHS else value


def _from_text(key: str, text: str, variable: str, folder: Path) -> Any:
    if key == "seed":
        try:
            return int(text)
        except ValueError:
            raise ConfigurationError(f"{variable} is {text!r}; give a whole number") from None
    if key == "scenarios":
        return tuple(folder / part for part in text.split(":") if part)
    return folder / text if key in _PATHS else text


def _from_file(key: str, value: Any, file: Path) -> Any:
    if key == "scenarios":
        if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
            raise ConfigurationError(f"{file}: scenarios must be a list of folders, such as ['scenarios']")
        return tuple(file.parent / part for part in value)
    if key == "seed":
        if not isinstance(value, int) or isinstance(value, bool):
            raise ConfigurationError(f"{file}: {key} must be a whole number")
        return value
    if not isinstance(value, str):
        raise ConfigurationError(f"{file}: {key} must be a text")
    return file.parent / value if key in _PATHS else value


def _default(key: str, folder: Path) -> Any:
    return folder / str(_DEFAULTS[key]) if key == "reports" else _DEFAULTS.get(key)
