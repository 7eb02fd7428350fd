"""Sends keepalive events to streaming callers until the whole reply is available.

Clients close silent connections after some minutes, at most ten; a long reply takes longer. After a while the response
therefore starts, and later errors can only be sent as events, as providers do.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

SILENT_S = 20.0
"""Silence before the response starts. Errors of budgets and tokens, and most replies, come earlier with their own
status."""
ALIVE_S = 10.0
"""Seconds between two keepalive events."""
PING = 'event: ping\ndata: {"type": "ping"}\n\n'
COMMENT = ": the reply is on its way\n\n"
"""Ignored by every parser of event streams; the dialect `messages` has a ping event."""


async def patiently(work: asyncio.Task[Response], asked: asyncio.Event, dialect: str) -> Response:
    """Return the response of `work`; for a slow streaming request, return an early response that waits for it."""
    while not (await asyncio.wait({work}, timeout=SILENT_S))[0]:
        if asked.is_set():
            break  # this may be known late: the body arrives slowly, or waits for a slot
    else:
        return await work
    return StreamingResponse(_waiting(work, dialect), media_type="text/event-stream")


async def heard_out(request: Request, answering: Awaitable[Response], unheard: Callable[[], None]) -> Response:
    """Return the response to a request whose body was read; call `unheard` if the client disconnects before it."""
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
    """Return the body of an error as an event of a stream."""
    if dialect == "responses":
        failed = {"object": "response", "status": "failed", "error": body["error"], "output": []}
        return f"event: response.failed\ndata: {json.dumps({'type': 'response.failed', 'response': failed})}\n\n"
    return f"event: error\ndata: {json.dumps(body)}\n\n" if dialect == "messages" else f"data: {json.dumps(body)}\n\n"
