"""The shared provider contract, over all four transports."""

from harness.contract.provider_contract import ProviderContract
from harness.transports.adapter import Adapter
from harness.transports.registry import adapter


class _Own(ProviderContract):
    def make_adapter(self) -> Adapter:
        return adapter(self.transport)


class TestOpenAIResponses(_Own):
    transport = "openai-responses"


class TestOpenAIChat(_Own):
    transport = "openai-chat"


class TestAnthropicMessages(_Own):
    transport = "anthropic-messages"


class TestXmlFallback(_Own):
    transport = "xml-fallback"
