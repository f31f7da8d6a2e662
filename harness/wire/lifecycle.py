"""Whether a stream lives as its provider's streams live: order, ids, indexes, texts that agree, one end.

It judges raw bytes in both directions: what the simulated provider sends, and what a recording holds. The rules are
rows in each wire's `lifecycle` module. Pure; only the wire that is asked for is loaded.
"""

from collections.abc import Callable, Iterable
from typing import TypeAlias

from harness.wire.sse import Framed, Sent, framed
from harness.wire.stream_rules import Finding, Lifecycle, StreamRule

Stream: TypeAlias = bytes | Iterable[bytes] | Iterable[Sent]
"""A body's bytes, whole or in chunks cut anywhere; or events that were framed already."""


def _responses() -> tuple[type[Lifecycle], tuple[StreamRule, ...]]:
    from harness.wire.openai_responses.lifecycle import RULES, ResponsesLifecycle

    return ResponsesLifecycle, RULES


def _chat() -> tuple[type[Lifecycle], tuple[StreamRule, ...]]:
    from harness.wire.openai_chat.lifecycle import RULES, ChatLifecycle

    return ChatLifecycle, RULES


def _anthropic() -> tuple[type[Lifecycle], tuple[StreamRule, ...]]:
    from harness.wire.anthropic_messages.lifecycle import RULES, MessagesLifecycle

    return MessagesLifecycle, RULES


def _xml() -> tuple[type[Lifecycle], tuple[StreamRule, ...]]:
    from harness.wire.xml_fallback.lifecycle import RULES, XmlLifecycle

    return XmlLifecycle, RULES


_LIFECYCLES: dict[str, Callable[[], tuple[type[Lifecycle], tuple[StreamRule, ...]]]] = {
    "openai-responses": _responses,
    "openai-chat": _chat,
    "anthropic-messages": _anthropic,
    "xml-fallback": _xml,
}


def validate(transport: str, stream: Stream, *, native: bool = True) -> list[Finding]:
    """All breaches in the order in which a reader meets them; [] is a stream as the provider sends it.

    `native` False leaves out the rules that servers which only speak the protocol are known to break. Raises ValueError
    for an unknown transport, and for nothing that a stream holds.
    """
    kind, rules = _of(transport)
    framing = _framing(stream)
    judge = kind(rules, native=native)
    for sent in framing.events:
        judge.take(sent)
    judge.close(framing)
    return judge.findings


def stream_rules() -> dict[str, StreamRule]:
    """Rule by id, wire by wire."""
    return {rule.id: rule for transport in _LIFECYCLES for rule in _of(transport)[1]}


def _of(transport: str) -> tuple[type[Lifecycle], tuple[StreamRule, ...]]:
    known = _LIFECYCLES.get(transport)
    if known is None:
        raise ValueError(f"no wire is called {transport!r}: it must be one of {', '.join(_LIFECYCLES)}")
    return known()


def _framing(stream: Stream) -> Framed:
    if isinstance(stream, bytes):
        return framed(stream)
    pieces = list(stream)
    events = tuple(piece for piece in pieces if isinstance(piece, Sent))
    return Framed(events) if events else framed(b"".join(piece for piece in pieces if isinstance(piece, bytes)))
