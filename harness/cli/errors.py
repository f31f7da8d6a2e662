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


class CommandError(Exception):
    """One clear message for a person, and the exit code."""

    def __init__(self, message: str, code: Exit = Exit.USAGE) -> None:
        super().__init__(message)
        self.code = code
