"""What goes through the proxy arrives as it was sent, and what is to fail does, done or not."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tasks.adapters.llm.transport.http_server import listener, serving
from tasks.rehearsal.failing_proxy import METHODS, FailingProxy


class Upstream:
    """Keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, bytes, bytes, bytes, str]] = []

    @contextmanager
    def behind(self, share: float) -> Iterator[str]:
        """The proxy's address."""

        async def answer(request: Request) -> Response:
            path, query = request.scope["raw_path"], request.scope["query_string"]
            self.asked.append((request.method, path, query, await request.body(), request.headers["host"]))
            return Response(b"kept", status_code=201, headers={"etag": '"a"'})

        listening = listener(0)
        port = listening.getsockname()[1]
        with (
            serving(Starlette(routes=[Route("/{path:path}", answer, methods=METHODS)]), listening),
            FailingProxy(f"127.0.0.1:{port}", share, random.Random(0)).serve() as address,
        ):
            yield address


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_path_query_host_and_body_arrive_byte_for_byte(method: str) -> None:
    upstream = Upstream()
    with upstream.behind(0.0) as proxy:
        answer = httpx.request(method, f"http://{proxy}/swt/a%2Bb%20c?x=%2F&y", content=b"\x00body", trust_env=False)
    assert (answer.status_code, answer.content, answer.headers["etag"]) == (201, b"kept", '"a"')
    assert upstream.asked == [(method, b"/swt/a%2Bb%20c", b"x=%2F&y", b"\x00body", proxy)]


def test_head_tells_the_length() -> None:
    with Upstream().behind(0.0) as proxy:
        assert httpx.head(f"http://{proxy}/swt/a", trust_env=False).headers["content-length"] == "4"


def test_half_of_what_fails_was_done() -> None:
    upstream = Upstream()
    with upstream.behind(1.0) as proxy:
        codes = {httpx.put(f"http://{proxy}/{number}", trust_env=False).status_code for number in range(20)}
    assert codes == {500}
    assert 0 < len(upstream.asked) < 20
