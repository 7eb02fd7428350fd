"""The local GitHub on a socket, and as a transport of httpx without one.

    POST /graphql          what GitHub answers
    GET  /dev              requests and faults so far, by name, as JSON
    POST /dev              {"until": "2026-01-31T00:00:00Z"|null, "vanish": {"owner/name": 404}, "faults": "502=0.1"}

The server signs nothing and checks no token: any will do. It listens on this machine only.
"""

from __future__ import annotations

import json
import time
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx

from tasks.rehearsal.local_github.faults import dice_from
from tasks.rehearsal.local_github.hub import Delivery, HttpAnswer, Hub


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


def server(hub: Hub, port: int = 0) -> ThreadingHTTPServer:
    """A server on 127.0.0.1, on any free port for 0; call `serve_forever` on it, and `shutdown` to end it."""

    class Handler(_Handler):
        the_hub = hub

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    the_hub: Hub

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.path == "/dev":
            return self._told(body)
        headers = {name.lower(): value for name, value in self.headers.items()}
        return self._send(self.the_hub.handle(headers, body))

    def do_GET(self) -> None:
        if self.path != "/dev":
            return self._send(HttpAnswer(status=404))
        return self._send_json({"requests": dict(self.the_hub.asked), "faults": dict(self.the_hub.faults)})

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: requests are counted."""

    def _told(self, body: bytes) -> None:
        """Change what the server shows."""
        told = json.loads(body)
        with self.the_hub.world.lock:
            if "until" in told:
                self.the_hub.world.until = datetime.fromisoformat(told["until"]) if told["until"] else None
            self.the_hub.world.vanished.update(told.get("vanish", {}))
            if "faults" in told:
                self.the_hub.dice = dice_from(told["faults"])
        return self._send_json({"until": told.get("until")})

    def _send_json(self, payload: Any) -> None:
        self._send(HttpAnswer(headers={"content-type": "application/json"}, body=json.dumps(payload).encode()))

    def _send(self, answer: HttpAnswer) -> None:
        """A cut answer promises more than it brings; one that never comes closes the connection in the end."""
        if answer.delivery is not Delivery.WHOLE:
            self.close_connection = True
        if answer.delivery is Delivery.NEVER:
            time.sleep(self.the_hub.hang_s)
            return
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(answer.body)))
        self.end_headers()
        half = len(answer.body) // 2
        self.wfile.write(answer.body[:half] if answer.delivery is Delivery.CUT else answer.body)
