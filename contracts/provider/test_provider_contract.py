"""The shared provider contract, over all four transports, and in a project that is not this one."""

import pytest

from harness.contract.provider_contract import ProviderContract
from harness.contract.sample_turns import TURNS
from harness.transports.adapter import Adapter
from harness.transports.registry import adapter
from harness.vocabulary.turn import StopReason

pytest_plugins = ["pytester"]


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


def test_the_sample_turns_give_every_stop_reason() -> None:
    assert {turn.stop for turn in TURNS.values()} == set(StopReason)


FOREIGN_CONFTEST = "from harness.contract.provider_contract import ProviderContract\n"
FOREIGN_TEST = """
from conftest import ProviderContract
from harness.transports.registry import adapter

class Forced:
    def __getattr__(self, name):
        return getattr(adapter("openai-chat"), name)

    def render(self, request, *, stream):
        sent = adapter("openai-chat").render(request, stream=stream)
        return sent.replace(b'"tool_choice":"none"', b'"tool_choice":"auto"')

class TestForced(ProviderContract):
    transport = "openai-chat"

    def make_adapter(self):
        return Forced()
"""


def test_a_foreign_adapter_that_breaks_a_promise_fails_and_shows_what_it_sent(pytester: pytest.Pytester) -> None:
    """Also where a conftest.py imports the class, which is before plugins are configured."""
    pytester.makeconftest(FOREIGN_CONFTEST)
    pytester.makepyfile(test_foreign=FOREIGN_TEST)
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-W", "error", "-k", "forbids or extends")
    done.assert_outcomes(failed=2, passed=2, deselected=done.parseoutcomes()["deselected"])
    done.stdout.fnmatch_lines(["E*assert 'auto' == 'none'"])


def test_a_contract_without_an_adapter_says_what_to_provide(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_foreign="""
        from harness.contract.provider_contract import ProviderContract

        class TestEmpty(ProviderContract):
            transport = "openai-chat"
        """
    )
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-k", "no_tool_choice")
    done.stdout.fnmatch_lines(["E*TestEmpty: return the adapter under test from make_adapter()"])
