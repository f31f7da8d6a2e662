"""Results in collection order, whatever order worker processes finish in: each is passed on as soon as it is due."""

from collections.abc import Callable, Sequence

from harness.reports.result import CaseResult


class InOrder:
    """Passes results on to `sink` in the order of `expect`; without an expected order, as they come."""

    def __init__(self, sink: Callable[[CaseResult], None]) -> None:
        self._sink = sink
        self._order: list[str] = []
        self._next = 0
        self._early: dict[str, CaseResult] = {}

    def expect(self, nodes: Sequence[str]) -> None:
        """The node ids that results will come for, in collection order."""
        self._order = self._order or list(nodes)

    def take(self, node: str, result: CaseResult) -> None:
        """One result."""
        if not self._order:
            self._sink(result)
            return
        self._early[node] = result
        while self._next < len(self._order):
            due = self._early.pop(self._order[self._next], None)
            if due is None:
                return
            self._next += 1
            self._sink(due)

    def finish(self) -> None:
        """Pass on what never came in turn (its predecessors were lost)."""
        for node in [node for node in self._order if node in self._early]:
            self._sink(self._early.pop(node))
