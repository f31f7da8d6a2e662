"""One recorded exchange, as every reader gives it, and what can be said of a file that holds none.

Values only. Bodies are bytes as the provider sent or took them; where a capture keeps parsed JSON, the bytes are its
compact text (spacing is then lost, nothing else).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

BodyKind: TypeAlias = Literal["json", "sse", "text"]


class CaptureError(ValueError):
    """A capture that cannot be read. The text names the file, the place in it and the mend."""

    def __init__(self, place: str, what: str, mend: str) -> None:
        super().__init__(f"{place}: {what}; {mend}")
        self.place = place


@dataclass(frozen=True, slots=True)
class Body:
    """A response body. `text` is one that is neither JSON nor an event stream."""

    kind: BodyKind
    data: bytes

    @property
    def json(self) -> Any:
        """The parsed body. Raises ValueError where it is not JSON."""
        return json.loads(self.data)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One HTTP exchange with a model provider.

    `transport` is a transport id. `status` None: not recorded. `request` None: only the answer was recorded. `place`
    names the file and the place in it for a person; `line` counts from 1 where the file has lines. `host` and `path`
    are of the request's URL ("" where hidden); `source` and `tags` are what the capture says of itself.
    """

    id: str
    transport: str
    streaming: bool
    status: int | None
    place: str
    request: bytes | None = None
    response: Body | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    host: str = ""
    path: str = ""
    source: str = ""
    tags: tuple[str, ...] = ()
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that was met and not read as an exchange: where, and why."""

    place: str
    why: str


@dataclass(slots=True)
class Captures:
    """What was read from some paths. `broken` are captures that should have been readable."""

    exchanges: list[Exchange] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    broken: list[CaptureError] = field(default_factory=list)

    def add(self, found: "Exchange | Skipped | CaptureError") -> None:
        """Sort one finding in."""
        if isinstance(found, Exchange):
            self.exchanges.append(found)
        elif isinstance(found, Skipped):
            self.skipped.append(found)
        else:
            self.broken.append(found)


Found: TypeAlias = Exchange | Skipped | CaptureError


def compact(value: Any) -> bytes:
    """JSON bytes of a value that a capture keeps parsed. Lone surrogates stay escaped, as JSON can write them."""
    try:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()
    except (TypeError, RecursionError) as error:
        raise ValueError(f"a body that JSON cannot hold: {error}") from None
