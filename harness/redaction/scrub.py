"""Takes secrets out of text and headers, and bounds the length of messages.

It knows the shapes of keys, the names of headers that carry them, and the values of secret-like environment
variables; it must not know what `scan` looks for. It errs on the side of taking out too much. Rule: ADR of the
recordings (no secret in a golden, cassette, tape, report or fault message).
"""

import os
import re
from collections.abc import Iterable, Mapping

MARK = "[redacted]"
"""What stands in place of a secret."""

DENIED_HEADERS = frozenset(
    {
        "authorization",
        "proxy-authorization",
        "www-authenticate",
        "cookie",
        "set-cookie",
        "api-key",
        "x-api-key",
        "x-goog-api-key",
        "x-amz-security-token",
        "x-auth-token",
        "ocp-apim-subscription-key",
        "openai-organization",
        "openai-project",
        "anthropic-organization-id",
        "anthropic-workspace-id",
    }
)
"""Header names (lower case) whose value is never written."""

_DENIED_HEADER = re.compile(r"(?:^|[-_])(?:key|token|secret|password|cookie|authorization|credentials?|signature)$")
_SECRET_VARIABLE = re.compile(r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD)$")
_SHORTEST_VALUE = 8
"""Shorter values of environment variables are words, not secrets: replacing them would only spoil the text."""

_HEADER_NAMES = "|".join(sorted((re.escape(name) for name in DENIED_HEADERS), key=len, reverse=True))
_SHAPES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (
            r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----|[\s\S]*)",
            MARK,
        ),
        (
            rf"(?i)(?<![\w-])({_HEADER_NAMES})(\"?'?\s{{0,9}}[:=]\s{{0,9}}+(?!\[red)(?:[\[-]\s{{0,9}})?[\"']?)[^\"'\r\n]+",
            rf"\1\2{MARK}",
        ),
        (r"(?<=://)[^/\s:@]{1,200}:[^/\s@]{1,200}(?=@)", MARK),
        (r"(?i)([?&](?:key|api[_-]?key|token|access_token|sig|signature)=)[^&\s\"'#]+", rf"\1{MARK}"),
        (r"(?i)\b(bearer|basic)(\s{1,9})(?=[\w.~+/=*-]*[\d_.=/+*])[\w.~+/=*-]{8,}", rf"\1\2{MARK}"),
        (r"(?<![A-Za-z0-9])(?:sk|pk|rk)-[A-Za-z0-9_*-]{6,}", MARK),
        (r"(?<![A-Za-z0-9])(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{8,}", MARK),
        (
            r"(?<![A-Za-z0-9])(?:gsk|hf|gh[opsur]|github_pat|glpat|r8|nvapi|xai|pplx)[_-][A-Za-z0-9_-]{16,}",
            MARK,
        ),
        (r"(?<![A-Za-z0-9])xox[abeoprs]-[A-Za-z0-9-]{8,}", MARK),
        (r"(?<![A-Za-z0-9_-])AIza[A-Za-z0-9_-]{30,}", MARK),
        (r"(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA|AGPA|AIDA|AROA)[A-Z0-9]{16}(?![A-Za-z0-9])", MARK),
        (r"(?i)(aws\w{0,20}(?:secret|session)\w{0,20}[\"']?\s{0,9}[:=]\s{0,9}[\"']?)[A-Za-z0-9/+=]{16,}", rf"\1{MARK}"),
        (r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*", MARK),
        (r"(?<![A-Za-z0-9])(?:org|proj|user)[-_][A-Za-z0-9]{12,}", MARK),
        (r"(?i)(organi[sz]ation[^\n]{0,24}?)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", rf"\1{MARK}"),
    )
)


def redact(text: str, *, known: Iterable[str] = (), environ: Mapping[str, str] | None = None) -> str:
    """The text with every secret replaced by `[redacted]`; applying it twice changes nothing more.

    `known` are secrets that the caller holds (its own API key). `environ` defaults to the process environment; values
    of variables named `*_KEY`, `*_TOKEN`, `*_SECRET` or `*_PASSWORD` are taken out wherever they stand.
    """
    for value in _values(known, os.environ if environ is None else environ):
        text = text.replace(value, MARK)
    for pattern, replacement in _SHAPES:
        text = pattern.sub(replacement, text)
    return text


def _values(known: Iterable[str], environ: Mapping[str, str]) -> list[str]:
    """Secret values, longest first, so that a value inside another one does not break it up."""
    named = {value for name, value in environ.items() if _SECRET_VARIABLE.search(name.upper())}
    values = {value for value in named | set(known) if len(value) >= _SHORTEST_VALUE and value not in MARK}
    return sorted(values, key=len, reverse=True)


def redact_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers with the values of secret ones replaced and the others redacted; names and order are kept."""
    return {name: MARK if denied(name) else redact(value) for name, value in headers.items()}


def denied(name: str) -> bool:
    """Whether a header of this name never shows its value (rate-limit counts of `-tokens` do)."""
    lower = name.lower()
    return lower in DENIED_HEADERS or _DENIED_HEADER.search(lower) is not None


def short(text: str, limit: int = 300) -> str:
    """The text, at most `limit` characters; a cut is marked by a last `…`."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def message(text: str, *, known: Iterable[str] = (), limit: int = 300) -> str:
    """One line for a person: white space folded, redacted, bounded. Redaction comes before the cut, so that no half
    of a key survives it."""
    return short(redact(" ".join(text[: 20 * limit].split()), known=known), limit)
