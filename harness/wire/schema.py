"""Strict validation of payloads against the parameter types of the installed official SDKs.

The SDKs' own types are for authors: at run time they accept unknown keys, look into no `Iterable`, and their unions
hold response models that take anything. Here a type's validation schema is rebuilt so that unknown keys are refused,
iterables are checked as lists, and models are accepted only as instances. It depends on the form of pydantic's core
schemas: a test keeps watch over that. The SDKs are loaded on first use. What types cannot say (order, pairs, empty
text) is the oracle's.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from harness.vocabulary.content import JsonObject, JsonValue

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails, SchemaValidator

Part: TypeAlias = Literal["request", "answer", "stream"]
"""What of an exchange: the request's payload, the whole answer, one event of a streamed answer."""
PARTS: tuple[Part, ...] = ("request", "answer", "stream")
_DATA = frozenset({"metadata", "cls", "expected", "default", "serialization"})
"""Keys of a schema whose values are no schemas."""
_TAGS = ("type", "role")
_SHAPES = frozenset(
    {"string_type", "literal_error", "list_type", "dict_type", "none_required", "bool_type", "int_type"}
)
"""Errors of a union's member of quite another shape; they say nothing where another error lies deeper."""


def schema_errors(transport: str, payload: JsonObject, *, limit: int = 20) -> list[str]:
    """What is wrong with a payload by the SDK's types, at most `limit` lines `POINTER: what`; [] if nothing is.

    Of a union only the members are reported whose `type` or `role` the payload has. Raises ValueError for a transport
    that has no types.
    """
    make = _TYPES.get(transport)
    if make is None:
        raise ValueError(f"no SDK types for {transport!r}: it must be one of {', '.join(_TYPES)}")
    from pydantic_core import ValidationError

    try:
        _validator(transport, payload.get("stream") is True).validate_python(payload)
    except ValidationError as error:
        return _lines(payload, error.errors(include_url=False, include_context=False))[:limit]
    return []


@cache
def sdk_schema(transport: str, part: Part) -> JsonObject:
    """The JSON Schema (draft 2020-12) of a part of an exchange, as the installed SDK's own type gives it.

    Raises ValueError for a transport that has no types.
    """
    make = _TYPES.get(transport)
    if make is None:
        raise ValueError(f"no SDK types for {transport!r}: it must be one of {', '.join(_TYPES)}")
    from pydantic import TypeAdapter

    kind: Any = make(False) | make(True) if part == "request" else _ANSWERS[transport](part == "stream")
    return TypeAdapter(kind).json_schema()


def sdk_version(transport: str) -> str:
    """Name and version of the installed SDK that a transport's types come from."""
    from importlib.metadata import version

    name = "anthropic" if transport.startswith("anthropic") else "openai"
    return f"{name} {version(name)}"


@cache
def _validator(transport: str, stream: bool) -> "SchemaValidator":
    from pydantic import TypeAdapter
    from pydantic_core import SchemaValidator

    schema: Any = TypeAdapter(_TYPES[transport](stream)).core_schema
    return SchemaValidator(_strict(schema), {"strict": True})


def _strict(node: Any) -> Any:
    """A schema, or part of one, made strict."""
    if isinstance(node, Mapping):
        return _REWRITES.get(str(node.get("type")), _inside)(node)
    if isinstance(node, list | tuple):
        return type(node)(_strict(one) for one in node)
    return node


def _inside(node: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value if key in _DATA else _strict(value) for key, value in node.items()}


def _closed(node: Mapping[str, Any]) -> dict[str, Any]:
    """A typed dictionary that says nothing of further keys takes none, and converts no values."""
    silent = node.get("extra_behavior", "ignore") == "ignore"
    config = {**node.get("config", {}), "strict": True}
    return _inside(node) | {"config": config} | ({"extra_behavior": "forbid"} if silent else {})


def _listed(node: Mapping[str, Any]) -> dict[str, Any]:
    """An iterable is read as a list: the wire has nothing else."""
    items = _strict(node.get("items_schema", {"type": "any"}))
    return {"type": "list", "items_schema": items} | {key: node[key] for key in ("ref",) if key in node}


def _instance(node: Mapping[str, Any]) -> dict[str, Any]:
    """A response model stands only for itself, never for a JSON object."""
    return {"type": "is-instance", "cls": node["cls"]} | {key: node[key] for key in ("ref",) if key in node}


_REWRITES: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "typed-dict": _closed,
    "generator": _listed,
    "model": _instance,
}


def _chat(stream: bool) -> Any:
    from openai.types.chat import completion_create_params as params

    return params.CompletionCreateParamsStreaming if stream else params.CompletionCreateParamsNonStreaming


def _responses(stream: bool) -> Any:
    from openai.types.responses import response_create_params as params

    return params.ResponseCreateParamsStreaming if stream else params.ResponseCreateParamsNonStreaming


def _anthropic(stream: bool) -> Any:
    from anthropic.types import message_create_params as params

    return params.MessageCreateParamsStreaming if stream else params.MessageCreateParamsNonStreaming


def _chat_answer(stream: bool) -> Any:
    from openai.types import chat

    return chat.ChatCompletionChunk if stream else chat.ChatCompletion


def _responses_answer(stream: bool) -> Any:
    from openai.types import responses

    return responses.ResponseStreamEvent if stream else responses.Response


def _anthropic_answer(stream: bool) -> Any:
    from anthropic import types

    return types.RawMessageStreamEvent if stream else types.Message


_TYPES: dict[str, Callable[[bool], Any]] = {
    "openai-chat": _chat,
    "openai-responses": _responses,
    "anthropic-messages": _anthropic,
    "xml-fallback": _chat,
}
_ANSWERS: dict[str, Callable[[bool], Any]] = {
    "openai-chat": _chat_answer,
    "openai-responses": _responses_answer,
    "anthropic-messages": _anthropic_answer,
    "xml-fallback": _chat_answer,
}


def _lines(payload: JsonObject, errors: "Iterable[ErrorDetails]") -> list[str]:
    found = list(errors)
    branches = {error["loc"][:-1] for error in found if _other_member(error)}
    meant = [error for error in found if not any(_within(error["loc"], branch) for branch in branches)] or found
    places = [_pointer(payload, error) for error in meant]
    kept = (
        f"{place or '/'}: {error['msg']}"
        for place, error in zip(places, meant, strict=True)
        if error["type"] not in _SHAPES or not any(other.startswith(f"{place}/") for other in places)
    )
    return list(dict.fromkeys(kept))


def _other_member(error: "ErrorDetails") -> bool:
    """Whether a member of a union is simply not the one that the payload means."""
    if error["type"] == "is_instance_of":
        return True
    return error["type"] == "literal_error" and error["loc"][-1] in _TAGS


def _within(loc: Sequence[int | str], branch: Sequence[int | str]) -> bool:
    return bool(branch) and tuple(loc[: len(branch)]) == tuple(branch)


def _pointer(payload: JsonValue, error: "ErrorDetails") -> str:
    """A JSON Pointer: the steps of an error's place that the payload has; names of union members are no steps."""
    pointer, value = "", payload
    for step in error["loc"]:
        inside = isinstance(value, list) and isinstance(step, int) and step < len(value)
        if inside or (isinstance(value, Mapping) and step in value):
            pointer, value = f"{pointer}/{step}", value[step]
    return f"{pointer}/{error['loc'][-1]}" if error["type"] == "missing" else pointer
