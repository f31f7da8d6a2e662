"""The requirements of this installation, checked against the checkers: a promise without either is an error."""

from functools import cache

from harness.checks.registry import CHECKS
from harness.checks.requirements import RequirementError, load_requirements, unproven
from harness.data_root import data_root
from harness.vocabulary.verdict import Requirement

RUNNER_CHECKS = ("scenario.expect", "scenario.outcome", "scenario.unplayed", "trace.equal")
"""What the runner itself judges of every scenario, apart from the requirements."""


@cache
def requirements() -> dict[str, Requirement]:
    """All requirements by id. Raises RequirementError where data and checkers do not fit together."""
    found = load_requirements(data_root() / "contracts" / "requirements")
    problems = unproven(found, CHECKS)
    if problems:
        raise RequirementError("; ".join(problems))
    return found
