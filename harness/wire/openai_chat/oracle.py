"""The legality oracle of Chat Completions: its tables of rules, in the order in which the provider looks."""

from harness.vocabulary.content import JsonObject
from harness.vocabulary.trace import Violation
from harness.wire import rules
from harness.wire.openai_chat.arguments import ARGUMENT_RULES
from harness.wire.openai_chat.messages import MESSAGE_RULES
from harness.wire.openai_chat.pairing import PAIRING_RULES
from harness.wire.openai_chat.view import View

RULES: tuple[rules.Rule[View], ...] = (*ARGUMENT_RULES, *MESSAGE_RULES, *PAIRING_RULES)


def judge(payload: JsonObject) -> list[Violation]:
    """All breaches."""
    return rules.judge(RULES, View(payload))
