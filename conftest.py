"""What this repository alone needs from pytest: the profiles of its property-based suites.

`ci` (the default) repeats itself exactly: derandomized, no example database. `nightly` searches further, with a seed
that hypothesis prints. Choose with HYPOTHESIS_PROFILE.
"""

import os

from hypothesis import HealthCheck, settings

_SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)

settings.register_profile("ci", derandomize=True, database=None, deadline=None, max_examples=60, print_blob=True)
settings.register_profile("nightly", deadline=None, max_examples=2000, print_blob=True, suppress_health_check=_SLOW)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
