"""Dialect files (TOML) -> dialects. A mistake is told with file, line and mend.

A file is named after its dialect. At its top stand `title`, `source` and `hosts`; one table for each transport says
what differs there: `off` and `add` (names of rules, without the transport), `arguments`, `fills_ids`, and the tables
`defaults` and (Chat only) `answers`. A table without keys speaks as the provider does.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, Literal, NoReturn, get_args, get_origin, get_type_hints

from harness.data_root import data_root
from harness.wire.dialects.model import Answers, Dialect, Speech
from harness.wire.registry import CODEC_IDS, codec

_TOP = ("title", "source", "hosts", *CODEC_IDS)
_SPEECH = ("off", "add", "arguments", "defaults", "fills_ids", "answers")
_WITH_ANSWERS = ("openai-chat", "xml-fallback")
_NAME = re.compile(r"[a-z0-9-]{1,40}")


class DialectError(ValueError):
    """A dialect that is not there, or a file that is wrong: the message names file, line and mend."""


def folder() -> Path:
    """Where the dialect files lie."""
    return data_root() / "contracts" / "dialects"


def names() -> tuple[str, ...]:
    """All dialects, in order of their names."""
    return tuple(sorted(path.stem for path in folder().glob("*.toml")))


@cache
def load(name: str) -> Dialect:
    """The dialect of a name. Raises DialectError."""
    if name not in names():
        raise DialectError(
            f"no dialect is called {name!r}: it must be one of {', '.join(names())}{_near(name, names())}"
        )
    return read(folder() / f"{name}.toml")


@cache
def of_host(host: str) -> Dialect | None:
    """The dialect that a host speaks, None if none is known. A `*` in a dialect's host stands for one label."""
    for name in names():
        if any(_fits(pattern, host) for pattern in load(name).hosts):
            return load(name)
    return None


def _fits(pattern: str, host: str) -> bool:
    return re.fullmatch(re.escape(pattern).replace(r"\*", r"[^.]+"), host) is not None


def read(path: Path) -> Dialect:
    """A dialect file. Raises DialectError."""
    try:
        text = path.read_text(encoding="utf-8")
        whole = tomllib.loads(text)
    except OSError as error:
        raise DialectError(f"{path}: cannot be read ({error.strerror}); check the path") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DialectError(f"{path}: not TOML ({error}); mend the line") from None
    return _File(path, text).dialect(whole)


def _near(word: str, known: Iterable[str]) -> str:
    found = get_close_matches(word, list(known), 1)
    return f"; did you mean {found[0]}?" if found else ""


class _File:
    """One file being read: it knows where its keys stand."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.lines = text.splitlines()

    def dialect(self, whole: Mapping[str, Any]) -> Dialect:
        """The file's dialect."""
        if not _NAME.fullmatch(self.path.stem):
            self.fail("", "", f"{self.path.name!r} is no name for a dialect", "use small letters, digits and -")
        self.known("", whole, _TOP)
        for key in ("title", "source"):
            if not isinstance(whole.get(key), str) or not whole[key].strip():
                self.fail("", key, f"`{key}` is missing or no text", f'write {key} = "..."')
        speeches = {name: self.speech(name, whole[name]) for name in CODEC_IDS if name in whole}
        if not speeches:
            self.fail("", "", "the dialect speaks on no transport", f"add a table, one of {', '.join(CODEC_IDS)}")
        return Dialect(
            name=self.path.stem,
            title=whole["title"],
            source=whole["source"],
            hosts=tuple(self.texts("", "hosts", whole.get("hosts", []))),
            speeches=speeches,
        )

    def speech(self, transport: str, table: Any) -> Speech:
        """One transport's table."""
        self.expect(isinstance(table, dict), "", transport, "a table")
        self.known(transport, table, _SPEECH)
        fills, defaults = table.get("fills_ids", False), table.get("defaults", {})
        self.expect(isinstance(fills, bool), transport, "fills_ids", "true or false")
        self.expect(isinstance(defaults, dict), transport, "defaults", "a table")
        if "answers" in table and transport not in _WITH_ANSWERS:
            self.fail(transport, "answers", "only Chat answers can differ", "leave `answers` out")
        off, add = (self.rules(transport, key, table.get(key, [])) for key in ("off", "add"))
        native = {rule.id for rule in codec(transport).rules if rule.native}
        for key, wrong in (("off", off - native), ("add", add & native)):
            if wrong:
                what = f"`{min(wrong)}` is {'no' if key == 'off' else 'a'} rule of the provider itself"
                self.fail(transport, key, what, f"take it out of `{key}`")
        return Speech(
            off=off,
            add=add,
            arguments=frozenset(self.texts(transport, "arguments", table.get("arguments", []))),
            defaults=defaults,
            fills_ids=fills,
            answers=self.answers(f"{transport}.answers", table.get("answers", {})),
        )

    def rules(self, transport: str, key: str, value: Any) -> frozenset[str]:
        """Names of rules -> their ids. On the XML fallback those of Chat are meant as well."""
        ids = {rule.id for rule in codec(transport).rules}
        slugs = {rule.rpartition(".")[2]: rule for rule in sorted(ids, key=lambda one: transport in one)}
        found = self.texts(transport, key, value)
        for name in found:
            if name not in slugs:
                mend = f"use the name of a rule of {transport}{_near(name, slugs)}"
                self.fail(transport, key, f"no rule is called {name!r}", mend)
        return frozenset(slugs[name] for name in found)

    def answers(self, place: str, table: Any) -> Answers:
        """The table of answers, checked against the fields' types."""
        self.expect(isinstance(table, dict), place.partition(".")[0], "answers", "a table")
        self.known(place, table, [field.name for field in fields(Answers)])
        kinds = get_type_hints(Answers)
        for key, value in table.items():
            kind = kinds[key]
            if get_origin(kind) is Literal:
                self.expect(value in get_args(kind), place, key, f"one of {', '.join(get_args(kind))}")
            elif kind is bool:
                self.expect(isinstance(value, bool), place, key, "true or false")
            elif int in get_args(kind):
                right = isinstance(value, int) and not isinstance(value, bool) and value > 0
                self.expect(right, place, key, "a number of 1 or more")
            else:
                self.expect(isinstance(value, str), place, key, "a text")
        return Answers(**table)

    def texts(self, place: str, key: str, value: Any) -> list[str]:
        """A list of texts."""
        right = isinstance(value, list) and all(isinstance(one, str) for one in value)
        self.expect(right, place, key, "a list of texts")
        return list(value)

    def known(self, place: str, table: Mapping[str, Any], keys: Iterable[str]) -> None:
        """Every key of a table is one of `keys`."""
        keys = list(keys)
        for key in table:
            if key not in keys:
                self.fail(place, key, f"unknown key {key!r}", f"use one of {', '.join(keys)}{_near(key, keys)}")

    def expect(self, right: bool, place: str, key: str, what: str) -> None:
        """Fail unless a value is right."""
        if not right:
            self.fail(place, key, f"`{key}` has a wrong value", f"give {what}")

    def fail(self, place: str, key: str, what: str, mend: str) -> NoReturn:
        """Raise with the line of a key (line 1 where it cannot be found)."""
        raise DialectError(f"{self.path}:{self.line(place, key)}: {what}; {mend}")

    def line(self, place: str, key: str) -> int:
        """The line of a key in a table, or of the table that it names."""
        inside = ""
        for number, line in enumerate(self.lines, 1):
            header = re.match(r"\s*\[([^\[\]]+)\]", line)
            if header is not None:
                inside = header[1].replace('"', "").strip()
                if inside == ".".join(filter(None, (place, key))):
                    return number
            elif inside == place and re.match(rf"\s*\"?{re.escape(key)}\"?\s*=", line):
                return number
        return 1
