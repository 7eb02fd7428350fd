"""HTTP servers of this process: starlette applications under uvicorn, in a thread, over TCP or a Unix socket.

Prints nothing, because requests contain keys.
"""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

import uvicorn
from anyio import CapacityLimiter, fail_after
from anyio.to_thread import run_sync
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from tasks.domain.errors import BadInput

LARGEST = 64 << 20
"""Maximum size of a request in bytes: more than any model accepts."""
BODY_S = 120.0
"""Time limit in seconds for the arrival of a request's body."""
CONNECTIONS = 512
"""Maximum number of connections per server, and of calls in progress. A server closes further connections, since each
uses a file descriptor of this process."""
METHODS = ("GET", "HEAD", "POST")
T = TypeVar("T")


class Cut(Response):
    """A truncated response: promises the full length, sends half of it (or nothing), and closes the connection."""

    def __init__(self, content: bytes, *, media_type: str, brought: int | None = None) -> None:
        super().__init__(content, media_type=media_type)
        self.brought = len(content) // 2 if brought is None else brought

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI's names
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": bytes(self.body)[: self.brought], "more_body": True})


def hung_up() -> Cut:
    """Return a response without any content."""
    return Cut(b"nothing", media_type="text/plain", brought=0)


def application(answer: Callable[[Request], Awaitable[Response]]) -> Starlette:
    """Return an application in which one function answers all requests."""
    return Starlette(routes=[Route("/{path:path}", answer, methods=list(METHODS))])


def said(status: int, body: object, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse(body, status, dict(headers or {}))


def events(parts: Iterable[str]) -> Response:
    """Return a response with server-sent events."""

    async def chunks() -> Any:
        for part in list(parts):
            yield part

    return StreamingResponse(chunks(), media_type="text/event-stream", headers={"Cache-Control": "no-cache"})


def said_length(request: Request) -> int | None:
    """Return the declared length of the body in bytes; None if it is missing or not a number."""
    length = request.headers.get("content-length", "")
    return int(length) if length.isdecimal() and length.isascii() else None


async def read_body(request: Request, largest: int = LARGEST) -> bytes:
    """Return the body. Raises `BadInput` if it is too long or does not arrive in time.

    Checks a declared length before it reads.
    """
    if (said_length(request) or 0) > largest:
        raise BadInput("the request is too long")
    try:
        with fail_after(BODY_S):
            return await _body(request, largest)
    except TimeoutError:
        raise BadInput(f"the request did not arrive within {BODY_S:.0f} seconds") from None


async def _body(request: Request, largest: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        parts.append(part)
        size += len(part)
        if size > largest:
            raise BadInput("the request is too long")
    return b"".join(parts)


async def read_json(request: Request, largest: int = LARGEST) -> dict[str, Any]:
    """Return the body as a JSON object. Raises `BadInput` if it is not one."""
    try:
        body = json.loads(await read_body(request, largest))
    except (ValueError, RecursionError):
        raise BadInput("the request is not JSON") from None
    if not isinstance(body, dict):
        raise BadInput("the request is not a JSON object")
    return body


async def in_thread(work: Callable[[], T], limiter: CapacityLimiter) -> T:
    """Run blocking work in a thread, so that it delays no other request. A stopping server does not wait for it."""
    return await run_sync(work, abandon_on_cancel=True, limiter=limiter)


def listener(port: int) -> socket.socket:
    """Listen on the loopback interface; 0 selects any free port."""
    return socket.create_server(("127.0.0.1", port), backlog=64)


def unix_listener(path: Path) -> socket.socket:
    """Listen at `path`. Every user of the machine may connect: put it into a folder with restricted access."""
    path.unlink(missing_ok=True)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.bind(str(path))
    path.chmod(0o666)
    return made


class Bounded(H11Protocol):
    """A connection that is closed if there are too many. uvicorn's own limit sends a response and keeps it open."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) >= (self.config.limit_concurrency or 0):
            transport.abort()


@contextmanager
def serving(app: Starlette, listening: socket.socket, connections: int = CONNECTIONS) -> Iterator[None]:
    """Serve in a thread until the block ends."""
    server = uvicorn.Server(_config(app, connections))
    thread = Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.005)
        yield
    finally:
        server.should_exit = server.force_exit = True
        thread.join()
        listening.close()


def _config(app: Starlette, connections: int) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=Bounded,
        loop="asyncio",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        limit_concurrency=connections + 1,
        timeout_keep_alive=600,
    )
