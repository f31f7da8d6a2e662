"""Changed copies of named tuples, made quickly: the machine makes some fifteen a turn, of states of 25 fields."""

from typing import Any, TypeVar

Kind = TypeVar("Kind")


def quickly_replaced(kind: type[Kind]) -> type[Kind]:
    """A named tuple whose `_replace` touches only what changes: about twice as fast as the one of the library, which
    takes each field through a dictionary. A name that is no field raises KeyError."""
    places = {name: place for place, name in enumerate(kind._fields)}  # type: ignore[attr-defined]
    make = tuple.__new__

    def replaced(self: Any, /, **changes: Any) -> Any:
        values = list(self)
        for name, value in changes.items():
            values[places[name]] = value
        return make(kind, values)  # type: ignore[type-var]

    kind._replace = replaced  # type: ignore[attr-defined]
    return kind
