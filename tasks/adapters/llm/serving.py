"""HTTP servers of this process: starlette applications under uvicorn, in a thread, over TCP and Unix sockets.

Nothing is printed: requests hold keys.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

import uvicorn
from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from tasks.domain.errors import BadInput

LARGEST = 64 << 20
"""Bytes of a request: more than any model takes."""
CONNECTIONS = 512
"""At once on one server, and as many calls at work; further callers are told 503."""
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


async def read_body(request: Request) -> bytes:
    """The body; `BadInput` where it is too long, before it is read where it says so."""
    length = request.headers.get("content-length", "0")
    parts: list[bytes] = []
    size = int(length) if length.isdigit() else LARGEST + 1
    if size <= LARGEST:
        size = 0
        async for part in request.stream():
            parts.append(part)
            size += len(part)
            if size > LARGEST:
                break
    if size > LARGEST:
        raise BadInput("the request is too long")
    return b"".join(parts)


async def read_json(request: Request) -> dict[str, Any]:
    """The body; `BadInput` where it is not a JSON object."""
    try:
        body = json.loads(await read_body(request))
    except ValueError:
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


@contextmanager
def serving(app: Starlette, *listeners: socket.socket) -> Iterator[None]:
    """Answer in a thread until the block ends. The first listener is one of TCP."""
    server = uvicorn.Server(_config(app))
    thread = Thread(target=server.run, kwargs={"sockets": list(listeners)}, daemon=True)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.005)
        yield
    finally:
        server.should_exit = server.force_exit = True
        thread.join()
        for one in listeners:
            one.close()


def _config(app: Starlette) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http="h11",
        loop="asyncio",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        limit_concurrency=CONNECTIONS,
        timeout_keep_alive=600,
    )
