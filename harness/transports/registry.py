"""The transports by id. An adapter's module is loaded when it is asked for: a cold start pays for one wire only."""

from collections.abc import Callable

from harness.transports.adapter import Adapter


def _openai_responses() -> Adapter:
    from harness.transports.openai_responses import OpenAIResponses

    return OpenAIResponses()


def _openai_chat() -> Adapter:
    from harness.transports.openai_chat import OpenAIChat

    return OpenAIChat()


def _anthropic_messages() -> Adapter:
    from harness.transports.anthropic_messages import AnthropicMessages

    return AnthropicMessages()


def _xml_fallback() -> Adapter:
    from harness.transports.xml_fallback import XmlFallback

    return XmlFallback()


_ADAPTERS: dict[str, Callable[[], Adapter]] = {
    "openai-responses": _openai_responses,
    "openai-chat": _openai_chat,
    "anthropic-messages": _anthropic_messages,
    "xml-fallback": _xml_fallback,
}

TRANSPORT_IDS: tuple[str, ...] = tuple(_ADAPTERS)


def adapter(transport: str) -> Adapter:
    """The adapter of a transport id. `ValueError`, naming the known ids, for any other."""
    if transport not in _ADAPTERS:
        raise ValueError(f"unknown transport {transport!r}: use one of {', '.join(TRANSPORT_IDS)}")
    return _ADAPTERS[transport]()
