"""What every part of the scenario format shares: a closed key list, frozen values, strict types.

Strict means: a number is not a text and 1 is not true. A list may be written as its single member where the page says
so (`OneOrMany`). Knows nothing of YAML; `load` gives the line numbers.
"""

from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WrapValidator


class Part(BaseModel):
    """A part of a scenario: unknown keys are errors, nothing is changed after it was read."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _money(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError("should be an amount in US dollars, such as 0.25")
    try:
        return Decimal(str(value))
    except InvalidOperation:
        raise ValueError("should be an amount in US dollars, such as 0.25") from None


def _as_written(value: Any, read: Any) -> Any:
    # The validator takes well-formed text only; what models and tools say need not be.
    halves = isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value)
    return value if halves else read(value)


Words: TypeAlias = Annotated[str, WrapValidator(_as_written)]
"""A text that somebody says: it may hold lone surrogates."""
OneOrMany: TypeAlias = Annotated[list[str], BeforeValidator(_listed, json_schema_input_type=str | list[str])]
"""A list of texts; one text stands for a list of one."""
Money: TypeAlias = Annotated[Decimal, BeforeValidator(_money, json_schema_input_type=float | str)]
"""US dollars, exact: read from its decimal text, never through a binary fraction."""
Count: TypeAlias = Annotated[int, Field(ge=0)]
Times: TypeAlias = Annotated[int, Field(ge=1)]
Seconds: TypeAlias = Annotated[float, Field(ge=0)]
ControlWord: TypeAlias = Literal["steps", "model_calls", "tool_calls", "cost", "repeated_tool_calls", "none"]
"""A control's name, or "none" where there must be no control."""
ChoiceWord: TypeAlias = Literal["none", "default"]
"""`tool_choice` of a request: "none", or "default" where nothing is sent."""
