"""Errors of the command line and its exit codes (scenarios.md, "Command line")."""

from enum import IntEnum


class Exit(IntEnum):
    """What a command's exit code says."""

    KEPT = 0
    BROKEN = 1
    USAGE = 2
    STALE_BASELINE = 3
    HARNESS_FAULT = 4
    NOTHING_RAN = 5
    INTERRUPTED = 130


def fault_words(error: Exception) -> str:
    """A fault of the harness in one line: what was raised, and where."""
    import traceback

    from harness.redaction.scrub import message

    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{last.filename.rsplit('/', 1)[-1]}:{last.lineno} in {last.name}"
    return f"fault of the harness: {type(error).__name__}: {message(str(error))} ({place})"


class CommandError(Exception):
    """One clear message for a person, and the exit code."""

    def __init__(self, message: str, code: Exit = Exit.USAGE) -> None:
        super().__init__(message)
        self.code = code
