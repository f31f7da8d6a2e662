"""What every command needs first: the configuration, and the scenario folders."""

import os
from pathlib import Path
from typing import Any

from harness.cli.errors import CommandError
from harness.config import Configuration, ConfigurationError, load_configuration
from harness.data_root import data_root


def configuration(**flags: Any) -> Configuration:
    """The configuration of the working folder. Raises CommandError."""
    try:
        return load_configuration(Path.cwd(), os.environ, flags)
    except FileNotFoundError:
        raise CommandError("the working folder is gone; change to one that exists") from None
    except ConfigurationError as error:
        raise CommandError(str(error)) from None


def scenario_folders(config: Configuration) -> tuple[Path, ...]:
    """The configured scenario folders; the project's own library where nothing is configured."""
    return tuple(config["scenarios"] or (data_root() / "scenarios",))
