"""HTTP servers of this process: starlette applications under uvicorn, in a thread, over TCP or a Unix socket.

Nothing is printed: requests hold keys.
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
"""Bytes of a request: more than any model takes."""
BODY_S = 120.0
"""Seconds that a request's body may take to arrive."""
CONNECTIONS = 512
"""At once on one server, and as many calls at work. A further one is closed: each holds a descriptor of this process,
which has other work to do with them."""
METHODS = ("GET", "HEAD", "POST")
T = TypeVar("T")


class Cut(Response):
    """An answer that promises more than it brings: half of it (or none), and the connection is closed."""

    def __init__(self, content: bytes, *, media_type: str, brought: int | None = None) -> None:
        super().__init__(content, media_type=media_type)
        self.brought = len(content) // 2 if brought is None else brought

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI's names
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": bytes(self.body)[: self.brought], "more_body": True})


def hung_up() -> Cut:
    """No answer at all."""
    return Cut(b"nothing", media_type="text/plain", brought=0)


def application(answer: Callable[[Request], Awaitable[Response]]) -> Starlette:
    """One function answers whatever is asked."""
    return Starlette(routes=[Route("/{path:path}", answer, methods=list(METHODS))])


def said(status: int, body: object, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse(body, status, dict(headers or {}))


def events(parts: Iterable[str]) -> Response:
    """Server-sent events."""

    async def chunks() -> Any:
        for part in list(parts):
            yield part

    return StreamingResponse(chunks(), media_type="text/event-stream", headers={"Cache-Control": "no-cache"})


def said_length(request: Request) -> int | None:
    """Bytes that the body will have, as its sender says; null where it does not say, or no number."""
    length = request.headers.get("content-length", "")
    return int(length) if length.isdecimal() and length.isascii() else None


async def read_body(request: Request, largest: int = LARGEST) -> bytes:
    """The body; `BadInput` where it is too long, before it is read where it says so, or does not arrive."""
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
    """The body; `BadInput` where it is not a JSON object."""
    try:
        body = json.loads(await read_body(request, largest))
    except (ValueError, RecursionError):
        raise BadInput("the request is not JSON") from None
    if not isinstance(body, dict):
        raise BadInput("the request is not a JSON object")
    return body


async def in_thread(work: Callable[[], T], limiter: CapacityLimiter) -> T:
    """What waits for a model or a disk keeps nobody else waiting. A server that ends does not wait for it."""
    return await run_sync(work, abandon_on_cancel=True, limiter=limiter)


def listener(port: int) -> socket.socket:
    """On the loopback; any free port for 0."""
    return socket.create_server(("127.0.0.1", port), backlog=64)


def unix_listener(path: Path) -> socket.socket:
    """At `path`, which every user of the machine may then connect to: give it a folder that only some enter."""
    path.unlink(missing_ok=True)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.bind(str(path))
    path.chmod(0o666)
    return made


class Bounded(H11Protocol):
    """A connection that is closed where there are too many already: uvicorn's own limit answers it, and keeps it."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) >= (self.config.limit_concurrency or 0):
            transport.abort()


@contextmanager
def serving(app: Starlette, listening: socket.socket, connections: int = CONNECTIONS) -> Iterator[None]:
    """Answer in a thread until the block ends."""
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
