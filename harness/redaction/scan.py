"""Looks for secrets in text that is about to be written. A finding blocks the write.

It reads the text as tokens and judges each one by prefix, length and make-up, apart from the scrubber: it imports
nothing from `scrub` and repeats none of its patterns, so a hole in one is not a hole in both.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_TOKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


@dataclass(frozen=True, slots=True)
class _Kind:
    """How a token of one kind begins, and the least length that tells it from a word."""

    name: str
    prefix: str
    least: int


_KINDS: tuple[_Kind, ...] = (
    _Kind("anthropic-key", "sk-ant-", 16),
    _Kind("openai-key", "sk-proj-", 20),
    _Kind("openai-key", "sk-svcacct-", 20),
    _Kind("openai-key", "sk-admin-", 20),
    _Kind("openai-key", "sk-", 20),
    _Kind("openrouter-key", "sk-or-", 20),
    _Kind("stripe-key", "sk_live_", 16),
    _Kind("groq-key", "gsk_", 24),
    _Kind("xai-key", "xai-", 24),
    _Kind("google-key", "AIza", 35),
    _Kind("hugging-face-token", "hf_", 24),
    _Kind("github-token", "ghp_", 24),
    _Kind("github-token", "gho_", 24),
    _Kind("github-token", "ghs_", 24),
    _Kind("github-token", "github_pat_", 24),
    _Kind("gitlab-token", "glpat-", 20),
    _Kind("slack-token", "xoxb-", 16),
    _Kind("slack-token", "xoxp-", 16),
    _Kind("aws-key-id", "AKIA", 20),
    _Kind("aws-key-id", "ASIA", 20),
    _Kind("organisation-id", "org-", 20),
    _Kind("project-id", "proj_", 20),
)
_AWS_LENGTH = 20
_LABELS = frozenset(
    {
        "authorization",
        "x-api-key",
        "api-key",
        "cookie",
        "set-cookie",
        "openai-organization",
        "anthropic-organization-id",
    }
)
_SCHEMES = frozenset({"bearer", "basic"})
_ENVIRONMENT_ENDINGS = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD")


@dataclass(frozen=True, slots=True)
class Secret:
    """One finding: what kind, and where (character offsets). It never holds the secret itself."""

    kind: str
    start: int
    end: int


def find_secrets(text: str, *, environ: Mapping[str, str] | None = None) -> list[Secret]:
    """Every secret found, in order of place. Empty means: nothing that this scanner knows."""
    environment = os.environ if environ is None else environ
    found = [*_by_shape(text), *_by_environment(text, environment)]
    if "PRIVATE KEY-----" in text:
        at = text.index("PRIVATE KEY-----")
        found.append(Secret("private-key", at, at + len("PRIVATE KEY-----")))
    return sorted(found, key=lambda secret: (secret.start, secret.end))


def _by_shape(text: str) -> Iterator[Secret]:
    label = scheme = ""
    for match in _TOKEN.finditer(text):
        token = match.group().rstrip(".")
        lower = token.lower()
        name = _kind_of(token) or _labelled(label, scheme, token)
        if name:
            yield Secret(name, match.start(), match.start() + len(token))
        scheme = lower if lower in _SCHEMES else ""
        label = lower if lower in _LABELS else label if scheme else ""


def _labelled(label: str, scheme: str, token: str) -> str:
    """The kind of a token that is a secret by what stands before it."""
    if not (label or scheme) or not _secret_like(token):
        return ""
    return f"value of header {label}" if label else f"{scheme} token"


def _kind_of(token: str) -> str:
    for kind in _KINDS:
        if token.startswith(kind.prefix) and len(token) >= kind.least:
            if kind.name == "aws-key-id" and not (len(token) == _AWS_LENGTH and token.isupper()):
                continue
            return kind.name
    parts = token.split(".")
    if len(parts) == 3 and all(part.startswith("eyJ") for part in parts[:2]):
        return "json-web-token"
    return ""


def _secret_like(token: str) -> bool:
    """Long, and not a plain word: it mixes letters and digits."""
    return len(token) >= 12 and any(c.isdigit() for c in token) and any(c.isalpha() for c in token)


def _by_environment(text: str, environ: Mapping[str, str]) -> Iterator[Secret]:
    for name, value in environ.items():
        if len(value) >= 8 and name.upper().endswith(_ENVIRONMENT_ENDINGS):
            at = text.find(value)
            while at >= 0:
                yield Secret(f"value of {name}", at, at + len(value))
                at = text.find(value, at + len(value))
