"""The legality oracle of Chat Completions: its tables of rules, in the order in which the provider looks."""

from harness.vocabulary.content import JsonObject
from harness.vocabulary.trace import Violation
from harness.wire import rules
from harness.wire.openai_chat.arguments import ARGUMENT_RULES
from harness.wire.openai_chat.compatible import COMPATIBLE_RULES
from harness.wire.openai_chat.messages import MESSAGE_RULES
from harness.wire.openai_chat.pairing import PAIRING_RULES
from harness.wire.openai_chat.tools import TOOL_RULES
from harness.wire.openai_chat.view import View

RULES: tuple[rules.Rule[View], ...] = (
    *ARGUMENT_RULES,
    *TOOL_RULES,
    *MESSAGE_RULES,
    *PAIRING_RULES,
    *COMPATIBLE_RULES,
)
NATIVE = rules.native(RULES)
ADVICE = rules.native(RULES, "should")


def judge(payload: JsonObject) -> list[Violation]:
    """All breaches."""
    return rules.judge(NATIVE, View(payload))


def advise(payload: JsonObject) -> list[Violation]:
    """What the documents warn of."""
    return rules.judge(ADVICE, View(payload))
