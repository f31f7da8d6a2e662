"""The audit hook itself: it denies, records, and can be lifted for a live recording only.

An audit hook cannot be taken out of a process again; this one does nothing until `install` and can be paused by
`lifted`. Standard library only: child processes load this file by its path (`harness/guard/child`). A denied
operation raises a `ConnectionRefusedError`, which client code handles like any refused connection; since an SDK may
swallow it, it is recorded too, and whoever runs an item asks `take` afterwards.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

Decision = Callable[[str, Sequence[Any]], bool]
Describe = Callable[[str, Sequence[Any]], str]


class OutsideConnectionDenied(ConnectionRefusedError):
    """A connection, send or look-up beyond loopback was denied by the guard."""


class Denied(NamedTuple):
    """One denied operation: the audit event, what it was aimed at, and the line of code that asked for it."""

    event: str
    target: str
    asked_by: str

    def __str__(self) -> str:
        return f"{self.event} to {self.target} denied (asked by {self.asked_by})"


class _State:
    def __init__(self) -> None:
        self.hooked = False
        self.lifted = 0
        self.denied: list[Denied] = []
        self.log = ""


_state = _State()


def install(decision: Decision, describe: Describe, log: str = "") -> None:
    """Deny, from now on and for the life of the process, what `decision` does not allow. Doing it twice changes
    nothing but `log`: a file to which denied operations are appended, one a line, instead of being kept here."""
    _state.log = log
    if _state.hooked:
        return
    _state.hooked = True

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event[:7] == "socket." and not _state.lifted and not decision(event, args):
            _deny(Denied(event, describe(event, args), _caller()))

    sys.addaudithook(hook)


def installed() -> bool:
    """Whether this process is guarded."""
    return _state.hooked


def violations() -> tuple[Denied, ...]:
    """What was denied in this process and not yet taken."""
    return tuple(_state.denied)


def take() -> tuple[Denied, ...]:
    """What was denied in this process since the last `take`."""
    found = tuple(_state.denied)
    _state.denied.clear()
    return found


@contextmanager
def lifted() -> Iterator[None]:
    """Let connections out while the block runs. For `harness record --live` alone."""
    _state.lifted += 1
    try:
        yield
    finally:
        _state.lifted -= 1


def _deny(denied: Denied) -> None:
    if _state.log:
        with open(_state.log, "a", encoding="utf-8", newline="\n") as log:
            log.write(f"{denied}\n")
    else:
        _state.denied.append(denied)
    raise OutsideConnectionDenied(f"{denied}: only loopback may be reached")


def _caller() -> str:
    """The innermost line outside this file and the socket module: what a person looks for."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.endswith(_OWN_FILES):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


_OWN_FILES = ("guard/hook.py", "guard\\hook.py", "socket.py")
