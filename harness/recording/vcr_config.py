"""The one configuration of vcrpy: what makes two requests the same, what is written, and what is taken out before.

A cassette matches by method, path and body (the body as canonical JSON: key order and spacing say nothing, types do);
its host is a name that nobody can resolve. Nothing is recorded unless it is asked for: a request that a cassette does
not hold is an error. Headers go by allow-lists, paths and bodies are redacted, and a text in which the secret scanner
still finds something is not written at all.

vcrpy patches httpx2 itself, so the SDKs need no alias and no transport of ours. It reads a stream to its end before the
client sees it: chunk borders, timing and cuts are not in a cassette. Source: wire facts 1 (vcrpy).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import urlsplit, urlunsplit

import yaml

from harness import __version__
from harness.recording.cassettes import is_cassette, load_yaml
from harness.redaction.scan import find_secrets
from harness.redaction.scrub import redact

HOST = "provider.invalid"
"""Every cassette's host: the port and the name of a recorder's server say nothing."""
RESPONSE_HEADERS = frozenset({"content-type", "request-id", "x-request-id", "retry-after", "retry-after-ms"})
REQUEST_HEADERS = frozenset({"content-type", "anthropic-version"})
MATCH_ON = ("method", "path", "payload")
_OriginWord = Literal["simulated", "live"]
_OTHER_BREAKS = frozenset("\r\x85\u2028\u2029")
"""What a YAML reader folds into a line break or a space wherever it stands unescaped."""


class SecretInCassette(ValueError):
    """A cassette that holds what looks like a secret: it was not written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a cassette comes from. `date` is ISO 8601; `recorder` names what recorded it, with its version."""

    origin: _OriginWord
    date: str
    recorder: str = f"run-loop-harness {__version__}"


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
    made.register_persister(_Files)
    return made


def _same_payload(one: Any, other: Any) -> None:
    assert canonical(one.body) == canonical(other.body), "the payload differs from the recorded one"


def canonical(body: bytes | str | None) -> bytes:
    """A body as it is compared: JSON with sorted keys and no spacing, in which 1, 1.0 and true differ. Anything else,
    and JSON that names a key twice, stays as it is."""
    data = (body or "").encode() if isinstance(body, str | None) else bytes(body)
    try:
        value = json.loads(data, object_pairs_hook=_once)
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
    except (ValueError, RecursionError):
        return data


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found


def _clean_request(request: Any) -> Any:
    """The request as it is written and compared."""
    address = urlsplit(request.uri)
    request.uri = urlunsplit(("https", HOST, redact(address.path), "", ""))
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
            line = text.count("\n", 0, found[0].start) + 1
            raise SecretInCassette(f"not written: line {line} would hold a secret ({found[0].kind}); take it out")
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
    """Texts of many lines as blocks; texts that hold another line break than `\\n` in quotes, with escapes."""


def _text(dumper: Any, value: str) -> Any:
    style = '"' if not _OTHER_BREAKS.isdisjoint(value) else "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


class _Files:
    """Cassettes on disk: UTF-8 and `\\n`, whatever the locale says."""

    @staticmethod
    def load_cassette(cassette_path: str, serializer: Any) -> Any:
        from vcr.persisters.filesystem import CassetteNotFoundError
        from vcr.serialize import deserialize

        file = Path(cassette_path)
        if not file.is_file():
            raise CassetteNotFoundError(f"{file}: no such cassette")
        return deserialize(file.read_text(encoding="utf-8"), serializer)

    @staticmethod
    def save_cassette(cassette_path: str, cassette_dict: dict[str, Any], serializer: Any) -> None:
        from vcr.serialize import serialize

        text = serialize(cassette_dict, serializer)
        file = Path(cassette_path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="\n")


def origin_of(file: Path) -> Origin:
    """What a cassette says of itself. Raises ValueError for a file that is no cassette or does not say it."""
    try:
        value, _ = load_yaml(file.read_bytes().decode(), str(file))
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ValueError(f"{file}: cannot be read: {why}; record it anew") from None
    if not is_cassette(value):
        raise ValueError(f"{file}: no cassette: it has no `interactions`; record it anew")
    word, date, recorder = (value.get(key) for key in ("origin", "date", "recorder"))
    if word not in get_args(_OriginWord) or not date or not recorder:
        raise ValueError(f"{file}: does not say where it comes from; give it `origin`, `date` and `recorder`")
    return Origin(origin=word, date=str(date), recorder=str(recorder))
