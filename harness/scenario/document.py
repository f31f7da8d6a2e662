"""YAML text -> plain values, and the line of every key and member. Safe by construction: nothing but JSON's types.

Scalars are read by the core rules of YAML 1.2: `true`, `false` and `null` are the only words with a meaning, so `no`,
`on`, `1:30` and dates stay texts. Duplicate keys, merge keys, tags and documents that grow through aliases are errors.
"""

import re
from typing import Any, TypeAlias

import yaml

Path: TypeAlias = tuple[str | int, ...]

MOST_NODES = 200_000
"""A scenario is data for people: what unfolds beyond this is a mistake, or an alias bomb."""
MOST_DEPTH = 200
"""Parts within parts. An alias to a part that it stands in goes deeper for ever."""
MOST_DIGITS = 300
"""Digits of a whole number; the greatest float has 309."""
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_SURROGATE = re.compile(r"\\(?:u|U0000)[dD][89a-fA-F]")
"""An escape that the fast reader turns down: half of a pair, which JSON may hold."""
_WORDS: dict[str, bool | None] = {"": None, "~": None, "null": None, "Null": None, "NULL": None}
_WORDS |= dict.fromkeys(("true", "True", "TRUE"), True) | dict.fromkeys(("false", "False", "FALSE"), False)
_QUOTED = ("'", '"', "|", ">")
_INTEGER = re.compile(r"[-+]?[0-9]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_PLAIN_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "timestamp"))


class DocumentError(ValueError):
    """YAML that cannot be a scenario. `line` counts from 1; `mend` says what to do."""

    def __init__(self, line: int, what: str, mend: str) -> None:
        super().__init__(f"line {line}: {what}; {mend}")
        self.line, self.what, self.mend = line, what, mend


class Document:
    """A read document: `value`, and for the path of each key or member the line it stands on."""

    def __init__(self, text: str) -> None:
        self._lines: dict[Path, int] = {(): 1}
        self._left = MOST_NODES
        self.value: Any = self._read(_compose(text), ())

    def line(self, path: Path) -> int:
        """The line of `path`, or of the nearest part above it that the document holds."""
        while path not in self._lines:
            path = path[:-1]
        return self._lines[path]

    def _read(self, node: Any, path: Path) -> Any:
        self._left -= 1
        if self._left < 0:
            raise DocumentError(_line(node), f"more than {MOST_NODES} values", "write less, or fewer aliases")
        if len(path) > MOST_DEPTH:
            what = f"more than {MOST_DEPTH} parts within one another"
            raise DocumentError(_line(node), what, "write it flatter, and no alias to a part that it stands in")
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return self._members(node, path)
        return _scalar(node)

    def _mapping(self, node: Any, path: Path) -> dict[str, Any]:
        if node.tag != "tag:yaml.org,2002:map":
            raise DocumentError(_line(node), f"the tag {node.tag!r}", "leave it out: a scenario holds plain data")
        made: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key, line = _key(key_node), _line(key_node)
            if key in made:
                first = self._lines[(*path, key)]
                raise DocumentError(line, f"the key `{key}` stands here a second time", f"keep one (first: {first})")
            self._lines[(*path, key)] = line
            made[key] = self._read(value_node, (*path, key))
        return made

    def _members(self, node: Any, path: Path) -> list[Any]:
        if node.tag != "tag:yaml.org,2002:seq":
            raise DocumentError(_line(node), f"the tag {node.tag!r}", "leave it out: a scenario holds plain data")
        made: list[Any] = []
        for place, member in enumerate(node.value):
            self._lines[(*path, place)] = _line(member)
            made.append(self._read(member, (*path, place)))
        return made


def _compose(text: str) -> Any:
    loader = yaml.SafeLoader if _SURROGATE.search(text) else _LOADER
    try:
        node = yaml.compose(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise DocumentError(line, f"not YAML: {error.problem}", "mend the line, or the indentation above it") from None
    except yaml.YAMLError as error:
        what = " ".join(str(error).split())
        raise DocumentError(1, f"not YAML: {what}", "write UTF-8 text without control characters") from None
    except RecursionError:
        raise DocumentError(1, "not YAML: exceeded maximum nesting depth", "write it flatter") from None
    if node is None:
        raise DocumentError(1, "the file is empty", "write a scenario")
    return node


def _line(node: Any) -> int:
    return int(node.start_mark.line) + 1


def _key(node: Any) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise DocumentError(_line(node), "a key that is not a text", "quote it")
    if node.tag == "tag:yaml.org,2002:merge":
        raise DocumentError(_line(node), "a merge key (<<)", "write the keys out: each line stands for itself")
    return _joined(str(node.value))


def _joined(text: str) -> str:
    """The text with each pair of escaped surrogates as the character that it stands for; a lone one stays."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _scalar(node: Any) -> Any:
    text = _joined(str(node.value))
    if node.tag not in _PLAIN_TAGS and node.tag not in ("tag:yaml.org,2002:value", "tag:yaml.org,2002:merge"):
        raise DocumentError(_line(node), f"the tag {node.tag!r}", "leave it out: a scenario holds plain data")
    if node.style in _QUOTED:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.match(text):
        if len(text) > MOST_DIGITS:
            raise DocumentError(_line(node), f"a number of {len(text)} digits", "write a smaller one, or quote it")
        return int(text)
    return float(text) if _FLOAT.match(text) else text
