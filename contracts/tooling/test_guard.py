"""The socket guard. Nothing is ever sent here: decisions are asked for, and audit events are raised synthetically."""

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.guard import children, decision, hook

OUTSIDE = "203.0.113.7"  # a documentation address (RFC 5737)


@pytest.fixture
def guarded() -> Iterator[None]:
    """The guard is on, and what this test provokes is not held against the test."""
    hook.install(decision.is_allowed, decision.target_of)
    hook.take()
    yield
    hook.take()


@pytest.mark.parametrize("event", ["socket.connect", "socket.sendto", "socket.sendmsg"])
@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        (("127.0.0.1", 80), True),
        (("127.8.9.1", 80), True),
        (("::1", 80, 0, 0), True),
        (("::ffff:127.0.0.1", 80, 0, 0), True),
        (("localhost", 80), True),
        (("LOCALHOST.", 80), True),
        ((b"localhost", 80), True),
        ("/tmp/a.sock", True),
        (b"\0abstract", True),
        (None, True),
        ((OUTSIDE, 443), False),
        (("10.0.0.1", 80), False),
        (("192.168.1.1", 80), False),
        (("169.254.169.254", 80), False),
        (("0.0.0.0", 80), False),
        (("<broadcast>", 9), False),
        (("::ffff:203.0.113.7", 80, 0, 0), False),
        (("2001:db8::1", 80, 0, 0), False),
        (("127.evil.example", 80), False),
        (("localhost.evil.example", 80), False),
        (("example.org", 443), False),
        ((2, 1024), False),
    ],
)
def test_only_loopback_and_local_sockets_are_allowed(event: str, address: object, allowed: bool) -> None:
    assert decision.is_allowed(event, (None, address)) is allowed


@pytest.mark.parametrize(
    ("event", "args", "allowed"),
    [
        ("socket.getaddrinfo", ("localhost", 80, 0, 0, 0), True),
        ("socket.getaddrinfo", (None, 80, 0, 0, 0), True),
        ("socket.getaddrinfo", ("example.org", 443, 0, 0, 0), False),
        ("socket.getaddrinfo", (b"example.org", 443, 0, 0, 0), False),
        ("socket.gethostbyname", ("example.org",), False),
        ("socket.gethostbyaddr", (OUTSIDE,), False),
        ("socket.gethostbyaddr", ("127.0.0.1",), True),
        ("socket.getnameinfo", ((OUTSIDE, 80),), False),
        ("socket.getnameinfo", (("127.0.0.1", 80),), True),
        ("open", ("/etc/hosts", "r", 0), True),
        ("socket.bind", (None, ("127.0.0.1", 0)), True),
    ],
)
def test_name_lookups_are_judged_and_other_events_are_not(event: str, args: tuple[object, ...], allowed: bool) -> None:
    assert decision.is_allowed(event, args) is allowed


def test_sockets_of_a_local_family_are_allowed_whatever_their_address_looks_like() -> None:
    unix = SimpleNamespace(family=socket.AddressFamily.AF_UNIX)
    inet = SimpleNamespace(family=socket.AddressFamily.AF_INET)
    assert decision.is_allowed("socket.connect", (unix, (OUTSIDE, 80)))
    assert not decision.is_allowed("socket.connect", (inet, (OUTSIDE, 80)))


def test_a_denied_operation_raises_a_refused_connection_and_is_recorded(guarded: None) -> None:
    with pytest.raises(ConnectionRefusedError, match=r"socket\.connect to 203\.0\.113\.7:443 denied"):
        sys.audit("socket.connect", None, (OUTSIDE, 443))
    (denied,) = hook.violations()
    assert (denied.event, denied.target) == ("socket.connect", f"{OUTSIDE}:443")
    assert "test_guard.py:" in denied.asked_by
    assert hook.take() == (denied,)
    assert hook.violations() == ()


def test_a_swallowed_denial_stays_on_record(guarded: None) -> None:
    with contextlib.suppress(OSError):
        sys.audit("socket.getaddrinfo", "example.org", 443, 0, 0, 0)
    assert [denied.target for denied in hook.take()] == ["example.org"]


def test_loopback_traffic_goes_through_the_guard(guarded: None) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        accepted, _ = server.accept()
        with accepted:
            client.sendall(b"hello")
            assert accepted.recv(5) == b"hello"
    assert hook.violations() == ()


def test_a_lifted_guard_is_down_only_inside_its_block(guarded: None) -> None:
    with hook.lifted():
        sys.audit("socket.connect", None, (OUTSIDE, 443))
    with pytest.raises(hook.OutsideConnectionDenied):
        sys.audit("socket.connect", None, (OUTSIDE, 443))


def test_python_children_inherit_the_guard_and_report_what_they_denied(tmp_path: Path) -> None:
    log = tmp_path / "denied.log"
    environ = children.child_environment(os.environ, log)
    code = f"import sys; sys.audit('socket.connect', None, ({OUTSIDE!r}, 443))"
    run = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "OutsideConnectionDenied" in run.stderr
    (line,) = children.take_reports(log)
    assert line.startswith(f"socket.connect to {OUTSIDE}:443 denied")
    assert children.take_reports(log) == ()


def test_the_childs_own_sitecustomize_still_runs(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.own_start_ran = True\n", encoding="utf-8")
    environ = children.child_environment({**os.environ, "PYTHONPATH": str(tmp_path)}, tmp_path / "denied.log")
    code = "import sys; print(sys.own_start_ran)"
    run = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)
    assert run.stdout == "True\n"


def test_making_the_child_environment_twice_adds_the_folder_once(tmp_path: Path) -> None:
    once = children.child_environment({"PYTHONPATH": "/a"}, tmp_path / "log")
    assert children.child_environment(once, tmp_path / "log") == once
    assert once["PYTHONPATH"].split(os.pathsep) == [str(children.START_FOLDER), "/a"]
