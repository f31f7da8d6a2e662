"""Installs the guard in a Python child at its start, then runs the `sitecustomize` that would have run without it.

The child may lack the `harness` package, so the two files of the guard are loaded by their path.
"""

import os
import sys
from typing import Any

_here = os.path.dirname(os.path.abspath(__file__))


def _load(name: str) -> dict[str, Any]:
    path = os.path.join(os.path.dirname(_here), name)
    with open(path, encoding="utf-8") as source:
        code = compile(source.read(), path, "exec")
    space: dict[str, Any] = {"__name__": "harness_guard", "__file__": path}
    exec(code, space)
    return space


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
    _decision = _load("decision.py")
    _load("hook.py")["install"](_decision["is_allowed"], _decision["target_of"], os.environ["HARNESS_GUARD_LOG"])
_next_sitecustomize()
