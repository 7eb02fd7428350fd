"""The local GitHub on a socket, and as a transport of httpx without one.

    POST /graphql          what GitHub answers
    GET  /dev              requests and faults so far, by name, as JSON
    POST /dev              {"until": "2026-01-31T00:00:00Z"|null, "vanish": {"owner/name": 404}, "faults": "502=0.1",
                            "delete": {"owner/name": [7]}, "unlisted": {"owner/name": 2}, "rename": {"a/b": "c/d"},
                            "disagree": {"owner/name": {"7": "counts"}}}; a status of 200 brings one back

The server signs nothing and checks no token: any will do. It listens on this machine only.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from http import HTTPStatus

import httpx
from anyio import CapacityLimiter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from tasks.adapters.llm.transport.http_server import (
    CONNECTIONS,
    Cut,
    application,
    hung_up,
    in_thread,
    listener,
    read_body,
    said,
    serving,
)
from tasks.rehearsal.local_github.faults import dice_from
from tasks.rehearsal.local_github.hub import Delivery, HttpAnswer, Hub
from tasks.rehearsal.local_github.world import Disagreement


def transport(hub: Hub) -> httpx.MockTransport:
    """For a client in this process: `httpx.Client(transport=transport(hub))`."""

    def handle(request: httpx.Request) -> httpx.Response:
        answer = hub.handle(request.headers, request.read())
        if answer.delivery is Delivery.NEVER:
            raise httpx.ReadTimeout("no answer", request=request)
        if answer.delivery is Delivery.CUT:
            raise httpx.RemoteProtocolError("the connection ended within the body", request=request)
        return httpx.Response(answer.status, headers=dict(answer.headers), content=answer.body)

    return httpx.MockTransport(handle)


@contextmanager
def listening(hub: Hub, port: int = 0) -> Iterator[str]:
    """Answers on 127.0.0.1, on any free port for 0, until the block ends; gives the address: `http://127.0.0.1:PORT`."""
    tcp = listener(port)
    with serving(hub_app(hub), tcp):
        yield f"http://127.0.0.1:{tcp.getsockname()[1]}"


def hub_app(hub: Hub) -> Starlette:
    limiter = CapacityLimiter(CONNECTIONS)

    async def answer(request: Request) -> Response:
        if request.url.path == "/dev":
            return _dev(hub, request.method, await read_body(request))
        if request.method != "POST":
            return Response(status_code=404)
        headers, body = dict(request.headers), await read_body(request)
        return await in_thread(lambda: _sent(hub, hub.handle(headers, body)), limiter)

    return application(answer)


def _dev(hub: Hub, method: str, body: bytes) -> Response:
    """What the server was asked; or, told so, it shows something else."""
    if method != "POST":
        return said(200, {"requests": dict(hub.asked), "faults": dict(hub.faults)})
    told = json.loads(body)
    with hub.world.lock:
        if "until" in told:
            hub.world.until = datetime.fromisoformat(told["until"]) if told["until"] else None
        gone = {**hub.world.vanished, **told.get("vanish", {})}
        hub.world.vanished = {name: status for name, status in gone.items() if status != HTTPStatus.OK}
        hub.world.renamed.update(told.get("rename", {}))
        hub.world.unlisted.update(told.get("unlisted", {}))
        for name, others in told.get("disagree", {}).items():
            known = {int(number): Disagreement(how) for number, how in others.items()}
            hub.world.disagreements.setdefault(name, {}).update(known)
        for name, numbers in told.get("delete", {}).items():
            hub.world.deleted.setdefault(name, set()).update(numbers)
        if "faults" in told:
            hub.dice = dice_from(told["faults"])
    return said(200, {"until": told.get("until")})


def _sent(hub: Hub, answer: HttpAnswer) -> Response:
    """A cut answer promises more than it brings; one that never comes closes the connection in the end."""
    if answer.delivery is Delivery.NEVER:
        time.sleep(hub.hang_s)
        return hung_up()
    if answer.delivery is Delivery.CUT:
        return Cut(answer.body, media_type="application/json")
    headers = {name: value for name, value in answer.headers.items() if name != "date"}  # uvicorn writes its own
    return Response(answer.body, answer.status, headers)
