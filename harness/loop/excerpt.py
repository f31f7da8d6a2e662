"""Shortening large results for the model's eyes: one result, and the results of one batch together.

A view only: the conversation keeps whole results (loop.context.excerpt, loop.context.view-only). Cuts lie at code-point
boundaries: head 60 %, tail 20 % of what is allowed, a marker between.
"""

from collections.abc import Sequence
from dataclasses import replace

from harness.loop.text import byte_length, head, part_bytes, tail
from harness.vocabulary.content import ResultPart, Text, ToolResult

_HEAD, _TAIL = 0.6, 0.2


def excerpt_text(text: str, limit: int) -> str:
    """`text` itself if it has at most `limit` UTF-8 bytes, else its head and tail around a marker."""
    size = byte_length(text)
    if size <= limit:
        return text
    start, end = head(text, int(limit * _HEAD)), tail(text, int(limit * _TAIL))
    left_out = size - byte_length(start) - byte_length(end)
    return f"{start}\n[excerpt: {left_out} of {size} bytes left out]\n{end}"


def excerpt_result(result: ToolResult, limit: int) -> ToolResult:
    """`result` with its texts shortened so that they share `limit` bytes."""
    if sum(map(part_bytes, result.content)) <= limit:
        return result
    return replace(result, content=tuple(_shorten(result.content, limit)))


def _shorten(content: Sequence[ResultPart], limit: int) -> list[ResultPart]:
    shares = allowances([part_bytes(part) for part in content], limit)
    return [
        Text(excerpt_text(part.text, share)) if isinstance(part, Text) else part
        for part, share in zip(content, shares, strict=True)
    ]


def allowances(sizes: Sequence[int], total: int) -> list[int]:
    """Bytes that each of `sizes` may keep so that all fit in `total`: small ones whole, large ones an equal share."""
    granted, left, waiting = [0] * len(sizes), total, len(sizes)
    for index in sorted(range(len(sizes)), key=sizes.__getitem__):
        granted[index] = min(sizes[index], left // waiting)
        left -= granted[index]
        waiting -= 1
    return granted


def excerpt_batch(results: Sequence[ToolResult], max_result: int, max_batch: int) -> tuple[ToolResult, ...]:
    """The results of one batch as the model shall see them."""
    single = [excerpt_result(result, max_result) for result in results]
    sizes = [sum(map(part_bytes, result.content)) for result in single]
    if sum(sizes) <= max_batch:
        return tuple(single)
    shares = allowances(sizes, max_batch)
    return tuple(excerpt_result(result, share) for result, share in zip(results, shares, strict=True))
