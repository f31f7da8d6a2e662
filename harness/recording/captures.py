"""Paths -> recorded exchanges: finds the files, tells their format, and reads each with its reader.

Files, folders (searched whole) and glob patterns are taken. The format is told by the name's ending and, for JSON, by
what stands in the file. What is not read is said with its reason; what should be readable and is not is an error with
file and line.
"""

import glob
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.recording import cassettes, har, jsonl, payload
from harness.recording.exchange import CaptureError, Captures, Exchange, Found, Skipped

_HIDDEN = "."
_LARGEST = 512 * 1024 * 1024
"""Bytes of a file that is read."""
_Reader = Callable[[str, str, str, str | None], Iterable[Found]]
"""(text, file, stem, transport) -> what was found."""


class NoSuchCapture(ValueError):
    """A path that names nothing. The text says what was looked for."""


def read_captures(paths: Sequence[str | Path], transport: str | None = None) -> Captures:
    """Everything recorded under the paths, in the order of paths and names. `transport` overrides what the captures
    tell of themselves. Raises NoSuchCapture for a path or pattern that fits no file."""
    captures = Captures()
    for file, named in files_under(paths):
        for found in read_file(file, transport):
            if isinstance(found, Skipped) and named and found.place == str(file):
                found = CaptureError(str(file), found.why, "name captures only, or a folder to pass such files over")
            captures.add(found)
    return captures


def files_under(paths: Sequence[str | Path]) -> Iterator[tuple[Path, bool]]:
    """The files, each once; whether a path named the file itself."""
    seen: set[Path] = set()
    for given in paths:
        for file, named in _expanded(Path(given)):
            resolved = file.resolve()
            if resolved not in seen:
                seen.add(resolved)
                yield file, named


def _expanded(path: Path) -> Iterator[tuple[Path, bool]]:
    if path.is_dir():
        yield from ((file, False) for file in _walked(path))
    elif path.exists():
        yield path, True
    else:
        found = sorted(map(Path, glob.glob(str(path), recursive=True)))
        if not found:
            raise NoSuchCapture(f"{path}: no such file or folder, and no file fits it as a pattern")
        for one in found:
            yield from ((file, False) for file in (_walked(one) if one.is_dir() else [one]))


def _walked(folder: Path) -> list[Path]:
    found = sorted(file for file in folder.rglob("*") if file.is_file())
    return [file for file in found if not any(part.startswith(_HIDDEN) for part in file.relative_to(folder).parts)]


def read_file(file: Path, transport: str | None = None) -> Iterator[Found]:
    """What one file holds."""
    reader = _READERS.get(file.suffix.lower())
    if reader is None:
        yield Skipped(str(file), f"no capture: {', '.join(_READERS)} are read")
        return
    try:
        if file.stat().st_size > _LARGEST:
            raise ValueError(f"larger than {_LARGEST} bytes")
        text = file.read_bytes().decode("utf-8-sig")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        yield CaptureError(str(file), f"cannot be read: {why}", "give a UTF-8 text file")
        return
    for found in reader(text, str(file), file.stem, transport):
        yield replace(found, transport=transport) if transport and isinstance(found, Exchange) else found


def read_text(text: str, name: str, transport: str | None = None) -> Captures:
    """What a text of unknown form holds: JSON (a payload, HAR, a record), JSON Lines, or an event stream. `name` is
    what a person calls it."""
    captures = Captures()
    for found in _sniffed(text)(text, name, _stem(name), transport):
        captures.add(replace(found, transport=transport) if transport and isinstance(found, Exchange) else found)
    return captures


def _stem(name: str) -> str:
    return name.replace(" ", "-")


def _sniffed(text: str) -> _Reader:
    head = text.lstrip()
    if head.startswith(("event:", "data:", "id:", ":")):
        return _stream
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        lines = [line for line in text.splitlines() if line.strip()]
        return _json_lines if len(lines) > 1 and all(line.lstrip().startswith("{") for line in lines) else _json
    return _json


def _json_lines(text: str, file: str, stem: str, transport: str | None) -> Iterator[Found]:
    return jsonl.read_lines(text, file, stem)


def _yaml(text: str, file: str, stem: str, transport: str | None) -> Iterator[Found]:
    try:
        value, lines = cassettes.load_yaml(text, file)
    except CaptureError as error:
        yield error
        return
    if cassettes.is_cassette(value):
        yield from cassettes.read_cassette(value, file, stem, lines)
    else:
        yield Skipped(file, "YAML, but no cassette: it has neither `interactions` nor `http_interactions`")


def _json(text: str, file: str, stem: str, transport: str | None) -> Iterator[Found]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        yield CaptureError(f"{file}:{line}", f"not JSON: {error}", "mend the file, or name it .jsonl if it has lines")
        return
    yield from _json_value(value, file, stem, transport)


def _json_value(value: Any, file: str, stem: str, transport: str | None) -> Iterator[Found]:
    if har.is_har(value):
        yield from har.read_har(value, file, stem)
    elif cassettes.is_cassette(value):
        yield from cassettes.read_cassette(value, file, stem, [])
    elif isinstance(value, list) and value and all(map(jsonl.is_record, value)):
        yield from (jsonl.read_record(one, f"{file}#/{i}", f"{stem}-{i}") for i, one in enumerate(value))
    elif jsonl.is_record(value):
        yield jsonl.read_record(value, file, stem)
    else:
        yield payload.read_payload(value, file, stem, transport)


def _stream(text: str, file: str, stem: str, transport: str | None) -> Iterator[Found]:
    yield payload.read_stream(text.encode(), file, stem, transport)


_READERS: dict[str, _Reader] = {
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".yaml": _yaml,
    ".yml": _yaml,
    ".json": _json,
    ".har": _json,
    ".sse": _stream,
}
