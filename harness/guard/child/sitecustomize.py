"""Installs the guard in a Python child at its start, then runs the `sitecustomize` that would have run without it.

The child may lack the `harness` package, so the two files of the guard are loaded by their path.
"""

import os
import sys
import types
from typing import Any

_here = os.path.dirname(os.path.abspath(__file__))


def _load(name: str) -> Any:
    path = os.path.join(os.path.dirname(_here), f"{name}.py")
    with open(path, encoding="utf-8") as source:
        code = compile(source.read(), path, "exec")
    # Under its own name: a child that is a harness itself (a pytest worker) then finds this module, not a second one,
    # and takes over what the hook records.
    module = types.ModuleType(f"harness.guard.{name}")
    module.__file__ = path
    sys.modules[module.__name__] = module
    exec(code, vars(module))
    return module


def _next_sitecustomize() -> None:
    own = sys.modules.pop("sitecustomize", None)
    path = list(sys.path)
    sys.path[:] = [entry for entry in path if os.path.abspath(entry) != _here]
    try:
        import sitecustomize  # noqa: F401  the next one on the path, where there is one
    except ModuleNotFoundError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        sys.path[:] = path
        if own is not None:
            sys.modules.setdefault("sitecustomize", own)


if os.environ.get("HARNESS_GUARD_LOG"):
    _decision = _load("decision")
    _load("hook").install(_decision.is_allowed, _decision.target_of, os.environ["HARNESS_GUARD_LOG"])
_next_sitecustomize()
