"""Subjects by name: what can be put under test from the command line."""

from collections.abc import Callable
from difflib import get_close_matches

from harness.scenario.subject import Subject


class UnknownSubject(ValueError):
    """No subject goes by this name."""


def _reference() -> Subject:
    from harness.subjects.reference import Reference

    return Reference()


SUBJECTS: dict[str, Callable[[], Subject]] = {"reference": _reference}


def subject_named(name: str) -> Subject:
    """A new subject. Raises UnknownSubject."""
    if name not in SUBJECTS:
        near = get_close_matches(name, SUBJECTS, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"known subjects: {', '.join(SUBJECTS)}"
        raise UnknownSubject(f"no subject is called {name!r}; {hint}")
    return SUBJECTS[name]()
