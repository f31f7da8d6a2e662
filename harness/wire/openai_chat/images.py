"""Images of tool results on a wire whose tool messages hold text only.

They stand in one user message after all tool messages of the batch: for each result a text
`[images of tool call CALL_ID]`, then its images. This reads them back into their results.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from harness.vocabulary.content import Image, Opaque, Text, ToolResult, UserPart

_HEADING = re.compile(r"\[images of tool call (.*)\]", re.DOTALL)


def with_images(results: Sequence[ToolResult], parts: Sequence[UserPart]) -> list[ToolResult] | None:
    """The batch with its images; None if `parts` is an ordinary user message."""
    groups = _groups(parts)
    known = {result.call_id for result in results}
    if not groups or not known.issuperset(groups):
        return None
    return [replace(one, content=(*one.content, *groups.get(one.call_id, ()))) for one in results]


def _groups(parts: Sequence[UserPart]) -> dict[str, list[Image | Opaque]] | None:
    groups: dict[str, list[Image | Opaque]] = {}
    current: list[Image | Opaque] | None = None
    for part in parts:
        if isinstance(part, Text):
            heading = _HEADING.fullmatch(part.text)
            if heading is None or heading[1] in groups:
                return None
            current = groups.setdefault(heading[1], [])
        elif current is None:
            return None
        else:
            current.append(part)
    return groups if all(groups.values()) else None
