"""The legality oracle of the Messages API: its tables of rules, in the order in which the provider looks."""

from harness.vocabulary.content import JsonObject
from harness.vocabulary.trace import Violation
from harness.wire import rules
from harness.wire.anthropic_messages.arguments import ARGUMENT_RULES
from harness.wire.anthropic_messages.cache import CACHE_RULES
from harness.wire.anthropic_messages.content import CONTENT_RULES
from harness.wire.anthropic_messages.order import ORDER_RULES
from harness.wire.anthropic_messages.pairing import PAIRING_RULES
from harness.wire.anthropic_messages.replay import REPLAY_RULES
from harness.wire.anthropic_messages.schemas import SCHEMA_RULES
from harness.wire.anthropic_messages.thinking import THINKING_RULES
from harness.wire.anthropic_messages.tools import TOOL_RULES
from harness.wire.anthropic_messages.view import View
from harness.wire.codec import Circumstances

RULES: tuple[rules.Rule[View], ...] = (
    *ARGUMENT_RULES,
    *THINKING_RULES,
    *TOOL_RULES,
    *SCHEMA_RULES,
    *CONTENT_RULES,
    *CACHE_RULES,
    *ORDER_RULES,
    *PAIRING_RULES,
    *REPLAY_RULES,
)
NATIVE = rules.native(RULES)
ADVICE = rules.native(RULES, "should")


def judge(payload: JsonObject, circumstances: Circumstances) -> list[Violation]:
    """All breaches."""
    return rules.judge(NATIVE, View(payload, circumstances))


def advise(payload: JsonObject, circumstances: Circumstances) -> list[Violation]:
    """What the documents warn of."""
    return rules.judge(ADVICE, View(payload, circumstances))
