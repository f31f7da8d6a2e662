"""Where a run stands by the judge's own books, right before one model attempt. Values only.

Some facts cannot be known from every trace (was an attempt that a crash swallowed charged? was an unchanged outcome
behind an error new evidence?). Amounts are therefore spans, and conditions have three answers: a checker fails a
subject only on what is sure.
"""

from dataclasses import dataclass
from decimal import Decimal
from enum import IntEnum
from typing import Final

from harness.checks.canonical import Signature

REPEATED: Final = "repeated_tool_calls"


class Sure(IntEnum):
    """Whether a condition holds."""

    NO = 0
    MAYBE = 1
    YES = 2


@dataclass(frozen=True, slots=True)
class Span:
    """A count that lies between two bounds, both included."""

    low: int
    high: int

    def __contains__(self, value: int) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return str(self.low) if self.low == self.high else f"{self.low} to {self.high}"


@dataclass(frozen=True, slots=True)
class Money:
    """US dollars between two bounds. `high` None: not known."""

    low: Decimal
    high: Decimal | None


NO_MONEY = Money(Decimal(0), Decimal(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Charges before an attempt, and the mode that they call for.

    `budgets` are the budget controls that may be named, the sure one last; `budget` says whether a budget calls for
    synthesis at all, `exhausted` whether the tool calls are spent, `reserved` whether a reserve is reached. `repeat`
    says whether the identical-call counters call for it, `hot` which signatures surely do; `stuck` whether an outcome
    without progress does that came back, `stuck_tools` of which tools. `came_back` counts
    outcomes that their tool had given before, `covered` counts outcomes that a declared budget
    surely covered, `unrecorded` calls whose outcome is not known. `spent` names the hard limits that leave no room for
    this attempt. `resets` counts evidence resets, `resets_denied` those that the cap did
    not allow. `carried`: a hot signature was first counted in an earlier life of the run.
    """

    steps: int
    model_calls: Span
    tool_calls: Span
    cost: Money = NO_MONEY
    budgets: tuple[str, ...] = ()
    budget: Sure = Sure.NO
    exhausted: Sure = Sure.NO
    reserved: Sure = Sure.NO
    repeat: Sure = Sure.NO
    stuck: Sure = Sure.NO
    stuck_tools: tuple[str, ...] = ()
    came_back: int = 0
    covered: int = 0
    unrecorded: int = 0
    hot: tuple[Signature, ...] = ()
    spent: tuple[str, ...] = ()
    resets: Span = Span(0, 0)
    resets_denied: int = 0
    carried: bool = False

    @property
    def allowed(self) -> frozenset[str | None]:
        """The controls that the request may carry (None: no control)."""
        names: set[str | None] = set(self.budgets)
        if self.budget is not Sure.YES:
            names |= {REPEATED} if self.repeat else set()
            names |= {None} if self.repeat is not Sure.YES else set()
        return frozenset(names)

    @property
    def demanded(self) -> str:
        """The controls that may stand here, for a person."""
        return " or ".join(sorted(name or "no control" for name in self.allowed))


START = Standing(steps=0, model_calls=Span(0, 0), tool_calls=Span(0, 0))
