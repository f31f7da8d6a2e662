"""The legality oracle of Responses: its tables of rules, in the order in which the provider looks."""

from harness.vocabulary.content import JsonObject
from harness.vocabulary.trace import Violation
from harness.wire import rules
from harness.wire.openai_responses.arguments import ARGUMENT_RULES
from harness.wire.openai_responses.input import INPUT_RULES
from harness.wire.openai_responses.pairing import PAIRING_RULES
from harness.wire.openai_responses.view import View

RULES: tuple[rules.Rule[View], ...] = (*ARGUMENT_RULES, *INPUT_RULES, *PAIRING_RULES)


def judge(payload: JsonObject) -> list[Violation]:
    """All breaches."""
    return rules.judge(RULES, View(payload))
