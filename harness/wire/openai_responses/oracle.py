"""The legality oracle of Responses: its tables of rules, in the order in which the provider looks."""

from harness.vocabulary.content import JsonObject
from harness.vocabulary.trace import Violation
from harness.wire import rules
from harness.wire.codec import UNKNOWN, Circumstances
from harness.wire.openai_responses.arguments import ARGUMENT_RULES
from harness.wire.openai_responses.input import INPUT_RULES
from harness.wire.openai_responses.pairing import PAIRING_RULES
from harness.wire.openai_responses.replay import REPLAY_RULES
from harness.wire.openai_responses.tools import TOOL_RULES
from harness.wire.openai_responses.view import View

RULES: tuple[rules.Rule[View], ...] = (
    *ARGUMENT_RULES,
    *TOOL_RULES,
    *INPUT_RULES,
    *PAIRING_RULES,
    *REPLAY_RULES,
)
NATIVE = rules.native(RULES)
ADVICE = rules.native(RULES, "should")


def judge(payload: JsonObject, circumstances: Circumstances = UNKNOWN) -> list[Violation]:
    """All breaches."""
    return rules.judge(NATIVE, View(payload, circumstances))


def advise(payload: JsonObject, circumstances: Circumstances = UNKNOWN) -> list[Violation]:
    """What the documents warn of."""
    return rules.judge(ADVICE, View(payload, circumstances))
