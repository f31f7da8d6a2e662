"""A process that is killed after an effect, as the scenario says: once, and then it is gone."""

from harness.scenario.delivered import Delivered
from harness.scenario.format_outside import Crash


class SimulatedCrash(BaseException):
    """The process is gone. Not an Exception: no subject may catch it by accident."""


class CrashPlan:
    """Counts effects and raises once: after the one that a scenario names, or after effect number `point`."""

    def __init__(self, spec: Crash | None, delivered: Delivered, point: int | None = None) -> None:
        self._spec, self._delivered, self._point = spec, delivered, point
        self._matching = 0
        self.effects = 0
        self.crashed = False

    @property
    def by_two(self) -> bool:
        """Whether two workers resume the run."""
        return self._spec is not None and self._spec.then == "resume_by_two"

    def performed(self, effect: str, about: str | None) -> None:
        """Hear of an effect that was done. Raises SimulatedCrash where the run is to be killed."""
        self.effects += 1
        if not self.crashed and self._hits(effect, about):
            self.crashed = True
            raise SimulatedCrash(f"killed after effect {self.effects}: {effect} {about or ''}".strip())

    def _hits(self, effect: str, about: str | None) -> bool:
        if self._point is not None:
            return self.effects == self._point
        spec = self._spec
        if spec is None or spec.after != effect or not self._about(spec.call, about):
            return False
        self._matching += 1
        return self._matching == spec.nth

    def _about(self, wanted: str | None, about: str | None) -> bool:
        if wanted is None or wanted == about:
            return True
        return about is not None and self._delivered.fits(about, None, wanted)
