"""The simulated provider on a socket of 127.0.0.1, for clients in other processes and for recorders of real traffic.

Standard library only. Bodies are chunked, one HTTP chunk a script chunk. A reset inside a body closes the connection
without the last chunk, so that what was sent before it surely arrives; a reset before the headers is a real one. A
refused connection cannot be shown once a client is connected: it is a reset too.
"""

import socket
import struct
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from types import TracebackType
from typing import Protocol, Self

from harness.provider.replies import Answer

HOST = "127.0.0.1"
_ABORT = struct.pack("ii", 1, 0)
_SLICE = 0.2
"""Seconds between two looks at whether a silent connection may end."""


class Answering(Protocol):
    """A simulated provider, or many of them behind paths."""

    def answer(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Answer one HTTP request. Never raises; it may be called from many threads."""


class LoopbackServer:
    """Serve a provider while the context is open. `url` has no path. `port` 0 takes a free one; `pace` is the time in
    seconds between two chunks of a body. Raises OSError for a port that is taken."""

    def __init__(self, provider: Answering, *, port: int = 0, pace: float = 0.0) -> None:
        self._server = _Server(provider, port, pace)
        self._thread = Thread(target=self._server.serve_forever, args=(0.02,), daemon=True, name="simulated-provider")

    @property
    def url(self) -> str:
        """Where it listens, for example `http://127.0.0.1:40123`."""
        return f"http://{HOST}:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening, and end all connections."""
        self._server.stopping.set()
        self._server.shutdown()
        self._server.end_connections()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, provider: Answering, port: int, pace: float) -> None:
        super().__init__((HOST, port), _Handler)
        self.provider = provider
        self.pace = pace
        self.stopping = Event()
        self.connections: set[socket.socket] = set()

    def end_connections(self) -> None:
        """Wake every thread that waits for its client."""
        for connection in tuple(self.connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.server.connections.add(self.connection)

    def finish(self) -> None:
        self.server.connections.discard(self.connection)
        try:
            super().finish()
        except OSError:
            self.close_connection = True

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the trace holds every exchange."""

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_DELETE(self) -> None:
        self._serve()

    def _serve(self) -> None:
        body = b"".join(self._body())
        answer = self.server.provider.answer(self.command, self.path, dict(self.headers.items()), body)
        if answer.status:
            self._send(answer)
        if answer.end in ("stall", "timeout"):
            self._stay_silent()
        elif answer.end != "clean":
            self._break_off(hard=not answer.status)

    def _body(self) -> Iterator[bytes]:
        """The request's body, by length or in chunks."""
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            yield self.rfile.read(int(self.headers.get("content-length") or 0))
            return
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for number, chunk in enumerate(filter(None, answer.chunks)):
            if number and self.server.pace:
                self.server.stopping.wait(self.server.pace)
            self.wfile.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
            self.wfile.flush()
        if answer.end == "clean":
            self.wfile.write(b"0\r\n\r\n")

    def _break_off(self, *, hard: bool) -> None:
        """Close so that the client's next read fails."""
        self.close_connection = True
        if hard:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _ABORT)
            self.connection.close()

    def _stay_silent(self) -> None:
        """Send nothing until the client hangs up or the server stops."""
        self.close_connection = True
        self.connection.settimeout(_SLICE)
        while not self.server.stopping.is_set():
            try:
                if not self.connection.recv(1):
                    return
            except TimeoutError:
                continue
