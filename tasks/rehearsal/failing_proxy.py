"""An HTTP proxy before an object store, which answers a part of the requests with 500: before they are done, or after.

The second kind is the worse one: the object is there, and who wrote it is told that it is not. Signatures stay good,
since paths and headers are handed on as they came.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tasks.adapters.llm.transport.http_server import listener, serving

METHODS = ["GET", "HEAD", "PUT", "POST", "DELETE"]
OF_A_HOP = frozenset({b"connection", b"keep-alive", b"transfer-encoding", b"expect", b"te", b"upgrade"})
"""Headers between two neighbours only; each side of the proxy has its own."""
SAID = b"<?xml version='1.0'?><Error><Code>InternalError</Code><Message>a rehearsal</Message></Error>"
TIMEOUT_S = 60.0
AFTER = 0.5
"""Of those that fail: done all the same."""
CONNECTIONS = 500


@dataclass(slots=True)
class FailingProxy:
    """Before a server on this machine. Safe to share by threads."""

    upstream: str
    """`host:port`."""
    share: float
    """Of the requests that fail, 0 to 1."""
    rng: random.Random
    asked: int = field(default=0, init=False)
    failed: int = field(default=0, init=False)
    _counting: threading.Lock = field(default_factory=threading.Lock, init=False)

    @contextmanager
    def serve(self) -> Iterator[str]:
        """`host:port`."""
        listening = listener(0)
        port = listening.getsockname()[1]
        with httpx.Client(base_url=f"http://{self.upstream}", timeout=TIMEOUT_S, trust_env=False) as client:

            async def answer(request: Request) -> Response:
                return await run_in_threadpool(self._answer, client, request, await request.body())

            with serving(Starlette(routes=[Route("/{path:path}", answer, methods=METHODS)]), listening, CONNECTIONS):
                yield f"127.0.0.1:{port}"

    def _answer(self, client: httpx.Client, request: Request, body: bytes) -> Response:
        with self._counting:
            self.asked += 1
            fails, done_first = self.rng.random() < self.share, self.rng.random() < AFTER
            self.failed += fails
        if fails and not done_first:
            return _failure()
        target = client.base_url.copy_with(raw_path=_asked(request))
        headers = [pair for pair in request.headers.raw if pair[0].lower() not in OF_A_HOP]
        try:
            with client.stream(request.method, target, headers=headers, content=body) as answer:
                content = b"".join(answer.iter_raw())
        except httpx.TransportError:
            return _failure()
        if fails:
            return _failure()
        told = Response(content, status_code=answer.status_code)
        dropped = OF_A_HOP if request.method == "HEAD" else OF_A_HOP | {b"content-length"}
        told.raw_headers = [pair for pair in answer.headers.raw if pair[0].lower() not in dropped]
        if request.method != "HEAD":
            told.raw_headers.append((b"content-length", str(len(content)).encode()))
        return told


def _asked(request: Request) -> bytes:
    """Path and query, byte for byte: they are signed."""
    query: bytes = request.scope["query_string"]
    path: bytes = request.scope["raw_path"]
    return path + (b"?" + query if query else b"")


def _failure() -> Response:
    return Response(SAID, status_code=500, media_type="application/xml")
