"""Guarding one process: the hook on, children guarded too, and one place to ask what was denied."""

from pathlib import Path

from harness.guard import children, decision, hook


class Guard:
    """The guard of this process and of the Python processes it starts. Made by `guard_process`."""

    def __init__(self, log: Path) -> None:
        self._log = log

    def take(self) -> tuple[str, ...]:
        """What was denied since the last call, here and in children: one text each."""
        return (*map(str, hook.take()), *children.take_reports(self._log))

    def close(self) -> None:
        """Remove the log of the children. The hook itself stays: it cannot be taken out."""
        self._log.unlink(missing_ok=True)


def guard_process() -> Guard:
    """Deny every connection and look-up beyond loopback from now on, in this process and its Python children."""
    hook.install(decision.is_allowed, decision.target_of)
    return Guard(children.guard_children())
