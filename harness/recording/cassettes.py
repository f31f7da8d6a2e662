"""Cassettes of the vcr family, as YAML or JSON: vcrpy (`interactions`), Ruby VCR (`http_interactions`), go-vcr.

They differ in where the URL, the status and the bodies stand; the readers below look in each place. YAML is read by the
safe loader: a cassette that asks for an object is refused, never obeyed.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from harness.recording.bodies import UnreadableBody, header_map, unbase64
from harness.recording.exchange import CaptureError, Found, compact
from harness.recording.recorded import Recorded, exchange_of

KEYS = ("interactions", "http_interactions")
_BODY_KEYS = ("string", "base64_string", "text")
MOST_VALUES = 20_000_000
"""Values of one file with every alias written out; more is an alias bomb."""
_OPEN = -1
_MEND = "write `request` (method, uri, body) and `response` (status, body)"
_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_SafeLoader):  # type: ignore[misc]
    """The safe loader, with the two string tags that recorders wrote under Python 2."""


def _text(loader: Any, node: Any) -> Any:
    return loader.construct_scalar(node)


for _tag in ("str", "unicode"):
    _Loader.add_constructor(f"tag:yaml.org,2002:python/{_tag}", _text)
# Bodies become JSON, which has neither dates nor sets: a date stays the text that it is, the others are refused.
_Loader.add_constructor("tag:yaml.org,2002:timestamp", _text)
for _tag in ("set", "omap", "pairs"):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_tag}", _Loader.construct_undefined)


def is_cassette(value: Any) -> bool:
    """Whether a parsed file is a cassette."""
    return isinstance(value, Mapping) and any(isinstance(value.get(key), list) for key in KEYS)


def load_yaml(text: str, file: str) -> tuple[Any, list[int]]:
    """A YAML file's value, and the line of each interaction. Raises CaptureError."""
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        _unfolded(node, {})
        value = None if node is None else loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        what = " ".join(str(error.problem or error.context).split())
        raise CaptureError(f"{file}:{line}", f"not safe YAML: {what}", "record it anew as plain YAML") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        what = " ".join(str(error).split())
        raise CaptureError(file, f"not safe YAML: {what}", "record it anew as plain YAML") from None
    finally:
        loader.dispose()
    return value, _lines(node)


def _unfolded(node: Any, known: dict[int, int]) -> int:
    """How many values a node stands for with every alias written out. Raises ValueError for more than is read, and for
    an alias to a part that it stands in."""
    if node is None or isinstance(node, yaml.ScalarNode):
        return 1
    found = known.get(id(node))
    if found is None:
        known[id(node)] = _OPEN
        inner = [one for pair in node.value for one in pair] if isinstance(node, yaml.MappingNode) else node.value
        found = known[id(node)] = 1 + sum(_unfolded(one, known) for one in inner)
    if found == _OPEN:
        raise ValueError("an alias to a part that it stands in")
    if found > MOST_VALUES:
        raise ValueError(f"its aliases unfold to more than {MOST_VALUES} values")
    return found


def _lines(node: Any) -> list[int]:
    """Where each interaction begins, counted from 1."""
    for key, inner in node.value if isinstance(node, yaml.MappingNode) else ():
        if key.value in KEYS and isinstance(inner, yaml.SequenceNode):
            return [one.start_mark.line + 1 for one in inner.value]
    return []


def read_cassette(value: Any, file: str, stem: str, lines: list[int]) -> Iterator[Found]:
    """The exchanges of a cassette; `lines` has one line an interaction, or none where the format has no lines."""
    key = next(key for key in KEYS if isinstance(value.get(key), list))
    for number, interaction in enumerate(value[key]):
        line = lines[number] if number < len(lines) else None
        place = f"{file}#/{key}/{number}" if line is None else f"{file}:{line}"
        try:
            recorded = _recorded(interaction)
        except (UnreadableBody, ValueError) as error:
            yield CaptureError(place, str(error), _MEND)
            continue
        yield exchange_of(recorded, id=f"{stem}-{number:02d}", place=place, source=file, line=line)


def _recorded(interaction: Any) -> Recorded:
    request, response = (_part(interaction, key) for key in ("request", "response"))
    return Recorded(
        method=str(request.get("method") or ""),
        url=str(request.get("uri") or request.get("url") or ""),
        request_headers=header_map(request.get("headers")),
        request=_body(request),
        status=_status(response),
        headers=header_map(response.get("headers")),
        response=_body(response),
    )


def _part(interaction: Any, key: str) -> Mapping[str, Any]:
    part = interaction.get(key) if isinstance(interaction, Mapping) else None
    if not isinstance(part, Mapping):
        raise ValueError(f"the interaction has no `{key}`")
    return part


def _status(response: Mapping[str, Any]) -> int | None:
    """vcrpy and Ruby VCR: `status: {code}`; go-vcr: `code`, beside a `status` of words."""
    status = response.get("status")
    found = status.get("code") if isinstance(status, Mapping) else response.get("code", status)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def _body(part: Mapping[str, Any]) -> bytes | None:
    """A body: text, bytes, an object with the text or its base64, or JSON that a recorder has parsed."""
    if part.get("parsed_body") is not None:
        return compact(part["parsed_body"])
    body = part.get("body")
    if isinstance(body, Mapping):
        key = next((key for key in _BODY_KEYS if body.get(key) is not None), None)
        if key is None:
            return None if not (set(body) - {"encoding", *_BODY_KEYS}) else compact(body)
        return unbase64(_string(body[key])) if key == "base64_string" else _bytes(body[key])
    return None if body is None else _bytes(body)


def _bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else compact(value)


def _string(value: Any) -> str:
    return value.decode("ascii", "replace") if isinstance(value, bytes) else str(value)
