"""A payload as text: its members and elements as they were written, byte for byte, and what one has in common with the
next. A cache compares what was written, not what it means; so do these. It knows JSON and no wire.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

_BETWEEN = re.compile(r"[\s,:]*")
_DECODER = json.JSONDecoder()


def raw_members(payload: bytes) -> dict[str, str]:
    """The text of each member of a JSON object, by key, in the order of the object."""
    parts = _parts(payload.decode(), "{")
    return {json.loads(key): next(parts) for key in parts}


def raw_elements(text: str) -> list[str]:
    """The text of each element of a JSON array."""
    return list(_parts(text, "["))


def _parts(text: str, opening: str) -> Iterator[str]:
    at = _after_space(text, text.index(opening) + 1)
    while text[at] not in "]}":
        end = _DECODER.raw_decode(text, at)[1]
        yield text[at:end]
        at = _after_space(text, end)


def _after_space(text: str, at: int) -> int:
    found = _BETWEEN.match(text, at)
    return found.end() if found else at


def extends(after: Sequence[str], before: Sequence[str]) -> bool:
    """Whether the elements of `before` open `after`, byte for byte; the last one may have grown behind what it had
    (a volatile block joins the last message where a wire has no message for it)."""
    last = len(before) - 1
    grown = len(after) > last and after[last].startswith(before[last].rstrip("]} \n"))
    return grown and list(after[:last]) == list(before[:last])


def holds(value: Any, part: Any) -> bool:
    """Whether a part stands somewhere in a JSON value, no key more or less, in the order of its keys."""
    if json.dumps(value) == json.dumps(part):
        return True
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(holds(one, part) for one in inner)
