"""The run's clock: seconds that pass only when the scenario says so. Nothing here sleeps."""


class SimulatedClock:
    """Starts at `start`; moves by `advance`, never by itself."""

    __slots__ = ("_now",)

    def __init__(self, start: float = 0.0) -> None:
        self._now = start

    def now(self) -> float:
        """Seconds."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Let time pass. Raises ValueError for a time before now."""
        if seconds < 0:
            raise ValueError(f"a clock does not go back: {seconds} seconds")
        self._now += seconds

    def reach(self, moment: float) -> None:
        """Let time pass until `moment`, if it is still to come."""
        self._now = max(self._now, moment)
