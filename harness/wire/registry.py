"""Transport id -> codec. Only the wire that is asked for is loaded."""

from collections.abc import Callable
from functools import cache

from harness.wire.codec import Codec


def _chat() -> Codec:
    from harness.wire.openai_chat.codec import ChatCodec

    return ChatCodec()


def _responses() -> Codec:
    from harness.wire.openai_responses.codec import ResponsesCodec

    return ResponsesCodec()


def _anthropic() -> Codec:
    from harness.wire.anthropic_messages.codec import AnthropicCodec

    return AnthropicCodec()


def _xml() -> Codec:
    from harness.wire.xml_fallback.codec import XmlCodec

    return XmlCodec()


_CODECS: dict[str, Callable[[], Codec]] = {
    "openai-responses": _responses,
    "openai-chat": _chat,
    "anthropic-messages": _anthropic,
    "xml-fallback": _xml,
}
CODEC_IDS: tuple[str, ...] = tuple(_CODECS)


@cache
def codec(transport: str) -> Codec:
    """The codec of a transport id. Raises ValueError that names the known ids."""
    make = _CODECS.get(transport)
    if make is None:
        raise ValueError(f"no wire is called {transport!r}: it must be one of {', '.join(CODEC_IDS)}")
    return make()
