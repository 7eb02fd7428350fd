"""A small HTTP server over TCP and Unix sockets: JSON in, JSON or server-sent events out."""

from __future__ import annotations

import json
import socket
import socketserver
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from tasks.domain.errors import BadInput

LARGEST = 64 << 20
"""Bytes of a request: more than any model takes."""


class Handler(BaseHTTPRequestHandler):
    """What every server here needs of a handler. Nothing is printed: requests hold keys."""

    protocol_version = "HTTP/1.1"
    timeout = 3600

    def setup(self) -> None:
        super().setup()
        if self.connection.family != socket.AF_UNIX:
            self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def read_json(self) -> dict[str, Any]:
        """The body; `BadInput` where it is not a JSON object."""
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > LARGEST:
            self.close_connection = True
            raise BadInput("the request has no length, or is too long")
        try:
            body = json.loads(self.rfile.read(int(length)))
        except ValueError:
            raise BadInput("the request is not JSON") from None
        if not isinstance(body, dict):
            raise BadInput("the request is not a JSON object")
        return body

    def send_json(self, status: int, body: object, headers: Mapping[str, str] | None = None) -> None:
        self.send_bytes(status, json.dumps(body).encode(), {"Content-Type": "application/json"} | dict(headers or {}))

    def send_bytes(self, status: int, data: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def send_events(self, events: Iterable[str]) -> None:
        """Each event as a chunk, and the end of the stream."""
        self.send_response(200)
        for name, value in (("Content-Type", "text/event-stream"), ("Cache-Control", "no-cache")):
            self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in events:
            self.wfile.write(chunk(event.encode()))
        self.wfile.write(chunk(b""))

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


def chunk(data: bytes) -> bytes:
    """One chunk of a chunked body; the last one where there is no data."""
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


class _Quiet(socketserver.BaseServer):
    """A caller that goes away is no error."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class TcpServer(_Quiet, ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def server_bind(self) -> None:
        """Without the base class's look-up of the host's name, which can take seconds."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]


class UnixServer(_Quiet, socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64


@contextmanager
def serving(server: socketserver.BaseServer) -> Iterator[None]:
    """Answer in a thread until the block ends."""
    with ExitStack() as stack:
        stack.callback(server.server_close)
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        stack.callback(thread.join)
        stack.callback(server.shutdown)
        yield


def unix_server(path: Path, handler: type[Handler]) -> UnixServer:
    """Listen at `path`, which every user of the machine may then connect to: give it a folder that only some enter."""
    path.unlink(missing_ok=True)
    server = UnixServer(str(path), handler)
    path.chmod(0o666)
    return server
