"""The legality oracle of the Messages API: its tables of rules, in the order in which the provider looks."""

from harness.vocabulary.content import JsonObject
from harness.vocabulary.trace import Violation
from harness.wire import rules
from harness.wire.anthropic_messages.arguments import ARGUMENT_RULES
from harness.wire.anthropic_messages.content import CONTENT_RULES
from harness.wire.anthropic_messages.order import ORDER_RULES
from harness.wire.anthropic_messages.pairing import PAIRING_RULES
from harness.wire.anthropic_messages.tools import TOOL_RULES
from harness.wire.anthropic_messages.view import View
from harness.wire.codec import Circumstances

RULES: tuple[rules.Rule[View], ...] = (
    *ARGUMENT_RULES,
    *TOOL_RULES,
    *CONTENT_RULES,
    *ORDER_RULES,
    *PAIRING_RULES,
)


def judge(payload: JsonObject, circumstances: Circumstances) -> list[Violation]:
    """All breaches."""
    return rules.judge(RULES, View(payload, circumstances))
