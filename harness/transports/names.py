"""Names of called tools as the wires take them back.

A model can invent any name. It is refused as unknown, and the history then holds a call that the provider itself would
answer with 400. On the wire such a name is replaced; the neutral conversation keeps what the model wrote. Rules:
loop.tools.unknown, wire facts on function names.
"""

import hashlib
import re
from functools import lru_cache

from harness.transports.jsontext import well_formed

_LEGAL = re.compile(r"[a-zA-Z0-9_-]+")


@lru_cache(maxsize=1024)
def sendable_name(name: str, most: int) -> str:
    """The name itself where it is 1 to `most` letters, digits, `_` and `-`; else `invalid_name_` and the first eight
    hex digits of its SHA-256 (UTF-8), so that one name has one placeholder and two names have two."""
    if len(name) <= most and _LEGAL.fullmatch(name):
        return name
    return f"invalid_name_{hashlib.sha256(well_formed(name).encode()).hexdigest()[:8]}"
