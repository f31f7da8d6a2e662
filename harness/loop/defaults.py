"""The two published sets of limits, read from the versioned data file beside this module."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Literal

from harness.vocabulary.settings import RunLimits


@cache
def default_limits(profile: Literal["interactive", "evaluation"]) -> RunLimits:
    """The limits of a profile (ADR-0078, ADR-0115)."""
    table = tomllib.loads((Path(__file__).parent / "limits.toml").read_text(encoding="utf-8"))
    return RunLimits(**table[profile])
