"""A rule of a provider as one row of data with one pure function, and the reading of a table of them.

A row says what the provider demands, what it answers to a breach (status, type, param, code, message), where the rule
is written down and how to mend the request. Its function only finds the places. A rule that recorded traffic
contradicts carries its condition (model, protocol version) in its function, in words in its statement.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from harness.vocabulary.trace import Violation

View = TypeVar("View")


@dataclass(frozen=True, slots=True)
class Hit:
    """One place where a rule is broken. `words` fill the row's message and param."""

    pointer: str
    words: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule(Generic[View]):
    """One rule. `message` and `param` are templates in the manner of `str.format`, filled from the hit's words."""

    id: str
    statement: str
    message: str
    source: str
    mend: str
    find: Callable[[View], Iterable[Hit]]
    status: int = 400
    type: str = "invalid_request_error"
    param: str | None = None
    code: str | None = None

    def violation(self, hit: Hit) -> Violation:
        """The breach as the provider would answer it."""
        return Violation(
            rule=self.id,
            pointer=hit.pointer,
            message=self.message.format(**hit.words),
            status=self.status,
            error_type=self.type,
            param=None if self.param is None else self.param.format(**hit.words),
            code=self.code,
            mend=self.mend,
        )


def judge(rules: Sequence[Rule[View]], view: View) -> list[Violation]:
    """All breaches, in the order of the table."""
    return [rule.violation(hit) for rule in rules for hit in rule.find(view)]
