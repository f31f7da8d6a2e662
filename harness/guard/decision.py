"""Which network operation stays on this machine: a pure decision over Python's socket audit events.

Standard library only, and no import of the rest of the package: child processes load this file by its path. Source of
the events and their arguments: the audit event table of the Python documentation.
"""

from collections.abc import Callable, Sequence
from typing import Any

LOCAL_FAMILIES = frozenset({"AF_UNIX", "AF_NETLINK"})
"""Socket families that cannot name another machine."""


def is_allowed(event: str, args: Sequence[Any]) -> bool:
    """Whether the operation may go on. Events that are no network operation are always allowed."""
    target = _TARGETS.get(event)
    return True if target is None else target(args)


def target_of(event: str, args: Sequence[Any]) -> str:
    """The address or name that an operation is aimed at, for a person."""
    place = 0 if event in _LOOKUPS else 1
    value = args[place] if len(args) > place else None
    if isinstance(value, tuple) and len(value) >= 2:
        return f"{_text(value[0])}:{value[1]}"
    return _text(value)


def is_loopback(host: object) -> bool:
    """Whether a host name or address is this machine. None and "" are what a server binds, and stay here."""
    if host is None:
        return True
    name = _text(host).rstrip(".").partition("%")[0].lower()
    if name in ("", "localhost", "::1", "127.0.0.1"):
        return True
    return _loopback_literal(name)


def _loopback_literal(name: str) -> bool:
    if not (name[0].isdigit() or ":" in name):
        return False
    from ipaddress import IPv6Address, ip_address  # costly at start, and rarely needed

    try:
        address = ip_address(name)
    except ValueError:
        return False
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped.is_loopback
    return address.is_loopback


def _socket_operation(args: Sequence[Any]) -> bool:
    """`connect`, `sendto`, `sendmsg`: (socket, address). No address: the socket is connected, which was judged."""
    if getattr(getattr(args[0], "family", None), "name", "") in LOCAL_FAMILIES:
        return True
    address = args[1] if len(args) > 1 else None
    if isinstance(address, tuple):
        return bool(address) and isinstance(address[0], str | bytes) and is_loopback(address[0])
    return address is None or isinstance(address, str | bytes)  # a path: a Unix socket


def _lookup(args: Sequence[Any]) -> bool:
    host = args[0] if args else None
    return is_loopback(host[0] if isinstance(host, tuple) else host)


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


_LOOKUPS = frozenset({"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"})
_TARGETS: dict[str, Callable[[Sequence[Any]], bool]] = {
    "socket.connect": _socket_operation,
    "socket.sendto": _socket_operation,
    "socket.sendmsg": _socket_operation,
    **dict.fromkeys(_LOOKUPS, _lookup),
}
