"""The one configuration of vcrpy: what makes two requests the same, what is written, and what is taken out before.

A cassette matches by method, path and body (the body as JSON, so that key order and spacing say nothing); its host is a
name that nobody can resolve. Nothing is recorded unless it is asked for: a request that a cassette does not hold is an
error. Request headers are dropped, response headers go by an allow-list, bodies are redacted, and a text in which the
secret scanner still finds something is not written at all.

vcrpy reads a stream to its end before the client sees it: chunk borders, timing and cuts are not in a cassette.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit, urlunsplit

import yaml

from harness.redaction.scan import find_secrets
from harness.redaction.scrub import redact

HOST = "provider.invalid"
"""Every cassette's host: the port and the name of a recorder's server say nothing."""
RESPONSE_HEADERS = frozenset({"content-type", "request-id", "x-request-id", "retry-after", "retry-after-ms"})
REQUEST_HEADERS = frozenset({"content-type", "anthropic-version"})
MATCH_ON = ("method", "path", "payload")


class SecretInCassette(ValueError):
    """A cassette that holds what looks like a secret: it was not written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a cassette comes from. `date` is ISO 8601; `recorder` names who recorded it."""

    origin: Literal["simulated", "live"]
    date: str
    recorder: str = "run-loop-harness"


def recorder(*, origin: Origin | None = None, mode: Literal["none", "all"] = "none") -> Any:
    """A `vcr.VCR`. `mode` "none" replays only, "all" records anew and needs an `origin`."""
    import vcr

    if mode != "none" and origin is None:
        raise ValueError("say where a new cassette comes from: recorder(mode='all', origin=Origin(...))")
    made = vcr.VCR(
        record_mode=vcr.mode(mode),
        match_on=MATCH_ON,
        before_record_request=_clean_request,
        before_record_response=_clean_response,
        decode_compressed_response=True,
    )
    made.register_matcher("payload", _same_payload)
    made.register_serializer("readable", _Readable(origin))
    made.serializer = "readable"
    return made


def _same_payload(one: Any, other: Any) -> None:
    assert _json(one.body) == _json(other.body), "the payload differs from the recorded one"


def _json(body: Any) -> Any:
    data = b"" if body is None else body.encode() if isinstance(body, str) else bytes(body)
    try:
        return json.loads(data)
    except ValueError:
        return data


def _clean_request(request: Any) -> Any:
    """The request as it is written and compared."""
    address = urlsplit(request.uri)
    request.uri = urlunsplit(("https", HOST, address.path, "", ""))
    request.headers = {key: value for key, value in request.headers.items() if key.lower() in REQUEST_HEADERS}
    if request.body is not None:
        body = request.body if isinstance(request.body, bytes) else str(request.body).encode()
        request.body = redact(body.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    return request


def _clean_response(response: dict[str, Any]) -> dict[str, Any]:
    """The response as it is written. The client that records still gets the whole one."""
    headers = {name.lower(): value for name, value in response["headers"].items() if name.lower() in RESPONSE_HEADERS}
    body = response["body"]["string"]
    text = body.decode("utf-8", "surrogateescape") if isinstance(body, bytes) else body
    clean = redact(text).encode("utf-8", "surrogateescape")
    return {"status": response["status"], "headers": dict(sorted(headers.items())), "body": {"string": clean}}


class _Readable:
    """YAML that a person can review: the origin first, texts of many lines as blocks."""

    def __init__(self, origin: Origin | None) -> None:
        self._origin = origin

    def serialize(self, cassette: dict[str, Any]) -> str:
        head: dict[str, Any] = {"version": cassette["version"]}
        if self._origin is not None:
            head |= {"origin": self._origin.origin, "date": self._origin.date, "recorder": self._origin.recorder}
        whole = head | {"interactions": [_texts(one) for one in cassette["interactions"]]}
        text: str = yaml.dump(whole, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=2**20)
        found = find_secrets(text)
        if found:
            raise SecretInCassette(f"not written: the cassette would hold {found[0]}; take it out of the exchange")
        return text

    def deserialize(self, text: str) -> Any:
        return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def _texts(value: Any) -> Any:
    """Bytes that are UTF-8 as text, all the way down."""
    if isinstance(value, Mapping):
        return {key: _texts(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_texts(inner) for inner in value]
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value
    return value


class _Dumper(yaml.SafeDumper):
    """Texts of many lines as blocks."""


def _text(dumper: Any, value: str) -> Any:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def origin_of(file: Path) -> Mapping[str, Any]:
    """What a cassette says of itself: `origin`, `date`, `recorder`. Raises ValueError for a file that is none."""
    value = yaml.load(file.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    if not isinstance(value, Mapping) or "interactions" not in value:
        raise ValueError(f"{file}: no cassette: it has no `interactions`; record it anew")
    return {key: value.get(key) for key in ("origin", "date", "recorder")}
