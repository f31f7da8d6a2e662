"""A rule of a provider as one row of data with one pure function, and the reading of a table of them.

A row says what the provider demands, what it answers to a breach (status, type, param, code, message), where the rule
is written down and how to mend the request. Its function only finds the places. Where recorded traffic contradicts a
documented rule the recording wins: the condition (model, protocol version) stands in the function and in words in the
statement, the recording with its date in `recorded`.

A `must` row is answered with an error by the provider. A `should` row is advice: the provider takes the request, but
the documents warn of it. A row that is not `native` is off until a dialect adds it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from harness.vocabulary.trace import Violation

View = TypeVar("View")
Level: TypeAlias = Literal["must", "should"]


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
    level: Level = "must"
    native: bool = True
    recorded: str | None = None
    """Recorded traffic that narrows or overrules what is documented, with its date."""

    @property
    def transport(self) -> str:
        """The wire that the rule is a rule of."""
        return self.id.split(".")[1]

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


def judge(rules: Iterable[Rule[View]], view: View) -> list[Violation]:
    """All breaches, in the order of the table. Whoever judges has chosen the rows: see `native`."""
    return [rule.violation(hit) for rule in rules for hit in rule.find(view)]


def native(rules: Iterable[Rule[View]], level: Level = "must") -> tuple[Rule[View], ...]:
    """The rows of a level that hold at the provider itself."""
    return tuple(rule for rule in rules if rule.native and rule.level == level)
