"""The judge's own books over a run: what was charged before each attempt, and which mode that calls for.

Written from loop.md sections 2 and 3. The step in progress is never subtracted; a retry is charged like any attempt.
"""

from decimal import Decimal

from harness.checks.counters import Repeats
from harness.checks.standing import Money, Span, Standing, Sure
from harness.checks.timeline import SIM, Attempt, Call, Fate, Kind, Timeline
from harness.vocabulary.settings import DIMENSIONS
from harness.vocabulary.turn import ModelTurn
from harness.vocabulary.usage import Price, Usage

MILLION = Decimal(1_000_000)
SLOTLESS = frozenset({Fate.UNKNOWN, Fate.INVALID, Fate.TRUNCATED, Fate.DENIED, Fate.UNCERTAIN})
"""Fates that take no budget slot, unless a person was asked."""


def price_of(usage: Usage, price: Price) -> Decimal:
    """US dollars of one attempt. Cached and cache-written tokens are part of the input; a class that was not reported
    costs nothing (loop.budget.cost)."""
    cached, written = usage.cached_tokens or 0, usage.cache_write_tokens or 0
    plain = max(0, (usage.input_tokens or 0) - cached - written)
    total = plain * price.input + (usage.output_tokens or 0) * price.output
    total += cached * (price.input if price.cached is None else price.cached)
    total += written * (price.input if price.cache_write is None else price.cache_write)
    return total / MILLION


def slotless(call: Call) -> bool:
    """Whether a call is answered without dispatch, whatever the budget: by the judge's reading of its arguments and
    name, or by what the subject says of it."""
    return not call.dispatched and (bool(call.faults) or call.fate in SLOTLESS)


def reckon(timeline: Timeline) -> None:
    """Write `standing`, `over_limit` and `carried` on every attempt, and the books at the end on the timeline."""
    books = _Books(timeline)
    for attempt in timeline.attempts:
        attempt.standing = books.stand(attempt.life, attempt.sent.at)
        books.charge(attempt)
    last = timeline.attempts[-1].life if timeline.attempts else 1
    timeline.closing = books.stand(last, timeline.ends[-1][1].at if timeline.ends else 0.0)


class _Books:
    def __init__(self, timeline: Timeline) -> None:
        self._limits = timeline.limits
        self._price = timeline.settings.prices.get(timeline.settings.model)
        self._priced = bool(timeline.settings.prices)
        self._exact = timeline.transport == SIM
        self._budgets = timeline.shows("budget-synthesis")
        self._reserved = [name for name in DIMENSIONS if timeline.limits.reserve(name)]
        self._breaker = timeline.shows("repeated-call-synthesis")
        self._repeats = Repeats(timeline.settings, resets=timeline.shows("evidence-reset"))
        self._steps = 0
        self._models = Span(0, 0)
        self._tools = Span(0, 0)
        self._cost: Decimal = Decimal(0)
        self._cost_known = True

    def stand(self, life: int, at: float) -> Standing:
        """What holds before an attempt at a time in a life."""
        names, reserved, exhausted = self._called_for()
        sure = bool(names) and names[-1][1] is Sure.YES
        repeats = self._repeats
        hot = repeats.hot() if self._breaker else ()
        return Standing(
            steps=self._steps,
            model_calls=self._models,
            tool_calls=self._tools,
            cost=Money(self._cost, self._cost if self._cost_known else None),
            budgets=tuple([name for name, _ in names]),
            budget=Sure.YES if sure else Sure.MAYBE if names else Sure.NO,
            exhausted=exhausted,
            reserved=reserved,
            repeat=repeats.due() if self._breaker else Sure.NO,
            hot=hot,
            stuck=repeats.outcomes.due() if self._breaker else Sure.NO,
            stuck_tools=repeats.outcomes.tools() if self._breaker else (),
            came_back=repeats.outcomes.came_back,
            covered=repeats.covered,
            unrecorded=repeats.unrecorded,
            spent=self._spent(at),
            resets=repeats.resets,
            resets_denied=repeats.denied_resets,
            carried=any(repeats.began(signature) < life for signature in hot),
        )

    def charge(self, attempt: Attempt) -> None:
        """Take an attempt and all that its turn came to into the books."""
        crashed = any(one.do == "crash" for _, one in attempt.interventions)
        if attempt.kind is Kind.LOST:
            self._models = Span(self._models.low, self._models.high + (not crashed))
            self._cost_known = self._cost_known and (crashed or not self._priced)
            return
        self._models = Span(self._models.low + 1, self._models.high + 1)
        self._pay(attempt)
        if attempt.kind is Kind.TURN:
            self._settle(attempt, crashed)

    def _settle(self, attempt: Attempt, crashed: bool) -> None:
        if self._breaker:
            attempt.over_limit = self._repeats.over(attempt.calls)
            first = [self._repeats.began(call.signature) for call in attempt.calls] if attempt.over_limit else []
            attempt.carried = any(0 < life < attempt.life for life in first)
        once = sum([bool(call.starts) for call in attempt.calls]) if crashed else len(attempt.starts)
        # A call that was only marked as sent when the process was killed may have been dispatched: charged or not.
        marked = sum([call.fate is Fate.UNCERTAIN and not call.starts for call in attempt.calls]) if crashed else 0
        self._tools = Span(self._tools.low + once, self._tools.high + len(attempt.starts) + marked)
        self._repeats.take(attempt)
        self._steps += 1

    def _pay(self, attempt: Attempt) -> None:
        if self._price is None or attempt.reply is None:
            return
        usage = attempt.reply.usage
        self._cost += price_of(usage, self._price)
        reported = usage.input_tokens is not None and usage.output_tokens is not None
        whole = isinstance(attempt.reply, ModelTurn) and not attempt.cut
        self._cost_known = self._cost_known and (self._exact or (whole and reported))

    def _spent(self, at: float) -> tuple[str, ...]:
        limits = self._limits
        room = self._models.low < limits.max_model_calls and self._steps < limits.max_steps
        if room and limits.max_cost is None and limits.deadline is None:
            return ()
        spent = [
            ("model_calls", self._models.low >= limits.max_model_calls),
            ("steps", self._steps >= limits.max_steps),
            ("cost", limits.max_cost is not None and self._cost >= limits.max_cost),
            ("deadline", limits.deadline is not None and at > limits.deadline),
        ]
        return tuple([name for name, gone in spent if gone])

    def _called_for(self) -> tuple[list[tuple[str, Sure]], Sure, Sure]:
        """Budget controls that may be named, in their order, up to the first sure one; whether a reserve is reached;
        whether the tool calls are spent."""
        if not self._budgets:
            return [], Sure.NO, Sure.NO
        exhausted = _reached(self._limits.max_tool_calls, self._tools, 0)
        if not exhausted and not self._reserved:
            return [], Sure.NO, Sure.NO
        reserves = [(name, self._low_on(name)) for name in self._reserved]
        names: list[tuple[str, Sure]] = []
        for name, sure in [("tool_calls", exhausted), *reserves]:
            if sure and (not names or names[-1][1] is not Sure.YES):
                names.append((name, sure))
        return names, max([sure for _, sure in reserves], default=Sure.NO), exhausted

    def _low_on(self, dimension: str) -> Sure:
        if dimension == "cost":
            return self._low_on_cost()
        charged = {"steps": Span(self._steps, self._steps), "model_calls": self._models, "tool_calls": self._tools}
        limit = self._limits.limit(dimension)
        return (
            Sure.NO if limit is None else _reached(int(limit), charged[dimension], int(self._limits.reserve(dimension)))
        )

    def _low_on_cost(self) -> Sure:
        limit, reserve = self._limits.max_cost, self._limits.synthesis_reserve_cost
        if limit is None or not reserve:
            return Sure.NO
        if limit - self._cost <= reserve:
            return Sure.YES
        return Sure.NO if self._cost_known else Sure.MAYBE


def _reached(limit: int, charged: Span, reserve: int) -> Sure:
    if limit - charged.low <= reserve:
        return Sure.YES
    return Sure.MAYBE if limit - charged.high <= reserve else Sure.NO
