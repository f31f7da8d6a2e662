"""Makes the official SDK clients, shielded from the surroundings. SDKs are imported here only, when one is asked for.

Environment variables of the SDKs are hidden while a client is made: their headers and logging switches could not be
taken back by arguments, and would put a person's settings on the wire or a payload into a log. Source: wire facts 1
(ambient settings), build facts (cold start, TLS context).
"""

import gc
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ssl

    import httpx2

_AMBIENT = ("OPENAI_", "ANTHROPIC_")
_ENVIRONMENT_LOCK = threading.Lock()


def http_client(transport: "httpx2.AsyncBaseTransport | None", timeout: float) -> "httpx2.AsyncClient":
    """An HTTP client without proxies, redirects or settings of the environment. `timeout` is in seconds."""
    import httpx2

    chosen = httpx2.AsyncHTTPTransport(verify=_tls_context(), trust_env=False) if transport is None else transport
    return httpx2.AsyncClient(transport=chosen, timeout=timeout, trust_env=False, follow_redirects=False)


@cache
def _tls_context() -> "ssl.SSLContext":
    """One context a process: making one costs 20 ms."""
    import httpx2

    return httpx2.create_ssl_context(trust_env=False)


def sdk_client(transport: str, *, base_url: str, api_key: str, timeout: float, http: "httpx2.AsyncClient") -> Any:
    """The SDK client of a transport. Retries are off; every setting is an argument."""
    with _hidden_environment(), _no_collection():
        return _MAKERS.get(transport, _openai)(base_url, api_key, timeout, http)


def _openai(base_url: str, api_key: str, timeout: float, http: "httpx2.AsyncClient") -> Any:
    from openai import AsyncOpenAI

    return AsyncOpenAI(base_url=base_url, api_key=api_key, timeout=timeout, max_retries=0, http_client=http)


def _anthropic(base_url: str, api_key: str, timeout: float, http: "httpx2.AsyncClient") -> Any:
    from anthropic import AsyncAnthropic

    return AsyncAnthropic(
        base_url=base_url, api_key=api_key, timeout=timeout, max_retries=0, http_client=http, open_telemetry=False
    )


_MAKERS: dict[str, Callable[[str, str, float, "httpx2.AsyncClient"], Any]] = {"anthropic-messages": _anthropic}


@contextmanager
def _hidden_environment() -> Iterator[None]:
    """The environment without the SDKs' variables, put back afterwards."""
    with _ENVIRONMENT_LOCK:
        hidden = {name: value for name, value in os.environ.items() if name.startswith(_AMBIENT)}
        for name in hidden:
            del os.environ[name]
        try:
            yield
        finally:
            os.environ.update(hidden)


@contextmanager
def _no_collection() -> Iterator[None]:
    """No garbage collection while an SDK is imported: it makes tens of thousands of objects and no garbage."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
