"""Token usage and money. None means "not reported", which is not 0."""

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one model attempt. `input_tokens` is the whole input, cached tokens included; `output_tokens`
    includes `reasoning_tokens`."""

    input_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None


NO_USAGE = Usage()


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars for a million tokens. A class without its own price costs what its parent class costs."""

    input: Decimal
    output: Decimal
    cached: Decimal | None = None
    cache_write: Decimal | None = None
