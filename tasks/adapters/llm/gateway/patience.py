"""A caller who asked for a stream hears that the connection stands, while the whole reply is on its way.

Clients give up on a connection that says nothing, after minutes or after ten; a long reply takes longer. So after a
while the answer begins, and from then on an error can only be said as an event, as providers do.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

SILENT_S = 20.0
"""Errors of budgets and tokens, and most replies, come sooner, and with a status of their own."""
ALIVE_S = 10.0
"""Between two signs of life."""
PING = 'event: ping\ndata: {"type": "ping"}\n\n'
COMMENT = ": the reply is on its way\n\n"
"""What every reader of event streams passes over; the dialect `messages` has an event for it."""


async def patiently(work: asyncio.Task[Response], asked: asyncio.Event, dialect: str) -> Response:
    """The response that some work ends with; one that begins before it where a stream was asked for and it lasts."""
    while not (await asyncio.wait({work}, timeout=SILENT_S))[0]:
        if asked.is_set():
            break  # it may be known late: the question arrives slowly, or waits for a place
    else:
        return await work
    return StreamingResponse(_waiting(work, dialect), media_type="text/event-stream")


async def heard_out(request: Request, answering: Awaitable[Response], unheard: Callable[[], None]) -> Response:
    """An answer to a request whose body was read; `unheard` is called where its sender hangs up before it is there."""
    work, gone = asyncio.ensure_future(answering), asyncio.ensure_future(_hung_up(request))
    await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
    gone.cancel()
    if not work.done():
        unheard()
    return await work


async def _hung_up(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _waiting(work: asyncio.Task[Response], dialect: str) -> AsyncIterator[str | bytes]:
    while not work.done():
        yield PING if dialect == "messages" else COMMENT
        await asyncio.wait({work}, timeout=ALIVE_S)
    response = work.result()
    if isinstance(response, StreamingResponse):
        async for part in response.body_iterator:
            yield part if isinstance(part, str) else bytes(part)
    else:
        yield _error(dialect, json.loads(bytes(response.body)))


def _error(dialect: str, body: Mapping[str, Any]) -> str:
    """The body of an error as an event of a stream."""
    if dialect == "responses":
        failed = {"object": "response", "status": "failed", "error": body["error"], "output": []}
        return f"event: response.failed\ndata: {json.dumps({'type': 'response.failed', 'response': failed})}\n\n"
    return f"event: error\ndata: {json.dumps(body)}\n\n" if dialect == "messages" else f"data: {json.dumps(body)}\n\n"
