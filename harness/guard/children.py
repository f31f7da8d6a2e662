"""How Python child processes inherit the guard: a start-up file on their path, and a log they report to.

A child started with `-I`, `-E` or `-S`, or that is no Python at all, is outside any hook: it gets loopback URLs only,
and the report says that the guard was not enforced there.
"""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

LOG_VARIABLE = "HARNESS_GUARD_LOG"
"""Environment variable with the log file of guarded children. `child/sitecustomize.py` knows the same name."""
START_FOLDER = Path(__file__).resolve().parent / "child"
"""Put first on a child's path; holds the `sitecustomize` that installs the guard and then calls the next one."""


def child_environment(environ: Mapping[str, str], log: Path) -> dict[str, str]:
    """The environment for a guarded Python child that reports to `log`."""
    path = [entry for entry in environ.get("PYTHONPATH", "").split(os.pathsep) if entry and entry != str(START_FOLDER)]
    return {**environ, LOG_VARIABLE: str(log), "PYTHONPATH": os.pathsep.join([str(START_FOLDER), *path])}


def guard_children() -> Path:
    """Guard every Python process that this one starts from now on; gives the log, in the temporary folder."""
    handle, name = tempfile.mkstemp(prefix="harness-guard-", suffix=".log")
    os.close(handle)
    os.environ.update(child_environment(os.environ, Path(name)))
    return Path(name)


def take_reports(log: Path) -> tuple[str, ...]:
    """What children denied since the last call, one text each; the log is emptied."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return ()
    if lines:
        log.write_text("", encoding="utf-8")
    return tuple(line for line in lines if line)
