"""What a recorded refusal is about, where no reader of its request could have foretold it.

Only such causes are known here: an account, a name that a server keeps, sizes in tokens, what a file holds, what a
model wrote, a server behind a gateway. Everything else is a fault of conversation, schema or parameters, and a judge
should know the rule for it. The patterns must fit no message of the judge's own rules. Sources: recorded 4xx answers,
error pages of the providers' documentation.
"""

import re

_BEYOND: tuple[tuple[str, str], ...] = (
    ("the account", r"api key|authentication|credit balance|quota|billing|permission_error|not allowed to "),
    (
        "the model's name",
        r"\bmodel\b.{0,80}(does not exist|not found|deprecated)|model names are|invalid model|model_not_found",
    ),
    (
        "the size of the input",
        r"context (window|length)|context_length_exceeded|maximum context|prompt is too long|too_many_prompt_tokens",
    ),
    (
        "what a file or image holds",
        r"unsupported image|invalid_image|(could not|unable to|failed to) (process|download|decode)|while downloading"
        r"|image (exceeds|dimensions)|pdf (specified )?(was|is) not valid",
    ),
    ("the tokens of the output", r"output limit was reached|could not finish"),
    ("what the model wrote", r"tool_use_failed|failed to call a function"),
    ("the server behind a gateway", r"provider returned error|\"code\": ?\"invalid input\""),
)


def only_the_provider_sees(answer: str) -> str | None:
    """What a refusal is about, where no reader of the request could know it; None for a fault of conversation, schema
    or parameters. `answer` is the body's text."""
    return next((about for about, words in _BEYOND if re.search(words, answer, re.IGNORECASE)), None)
