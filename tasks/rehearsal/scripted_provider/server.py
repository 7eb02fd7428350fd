"""The provider as an HTTP server. It keeps its own books, which tests hold ours against."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from secrets import token_hex
from threading import Lock
from types import ModuleType
from typing import Any

from tasks.adapters.llm.base import Reply, Usage
from tasks.adapters.llm.dialects import chat, messages, responses
from tasks.adapters.llm.dialects.spoken import NotUnderstood, Spoken, SpokenAnswer
from tasks.adapters.llm.serving import Handler, TcpServer, chunk, serving
from tasks.domain.errors import BadInput
from tasks.rehearsal.scripted_provider.script import Fault, Script, Step, priced

DIALECTS: Mapping[str, ModuleType] = {
    "/v1/chat/completions": chat,
    "/v1/responses": responses,
    "/v1/messages": messages,
}
ANSWERED = (Fault.NONE, Fault.WRONG_TYPE, Fault.NO_USAGE)
"""Steps after which the caller has a whole reply."""

DONE = (*ANSWERED, Fault.CUT, Fault.GARBAGE, Fault.HTML)
"""Steps for which the work was done, and is charged."""

REFUSALS: Mapping[Fault, tuple[int, str, str]] = {
    Fault.RATE_LIMIT: (429, "rate_limit_exceeded", "too many requests"),
    Fault.SERVER: (500, "server_error", "something broke"),
    Fault.OVERLOADED: (529, "overloaded_error", "overloaded"),
    Fault.CONTEXT: (400, "context_length_exceeded", "This model's maximum context length is 8192 tokens."),
    Fault.FILTER: (400, "content_filter", "The prompt was filtered."),
    Fault.EXHAUSTED: (400, "script_exhausted", "The script has no step left."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """One request, as the provider's books have it."""

    path: str
    headers: Mapping[str, str]
    spoken: Spoken
    fault: Fault
    usage: Usage

    @property
    def charged(self) -> bool:
        return self.fault in DONE

    @property
    def delivered(self) -> bool:
        return self.fault in ANSWERED


@dataclass
class ScriptedProvider:
    """Answers by a script. With `key`, others get 401."""

    script: Script
    key: str = ""
    books: list[Served] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock, repr=False)

    @contextmanager
    def serve(self, port: int = 0) -> Iterator[str]:
        """Listen on the loopback; gives the base URL of the chat dialect, `http://127.0.0.1:PORT/v1`."""
        handler = type("ProviderHandler", (_ProviderHandler,), {"provider": self})
        server = TcpServer(("127.0.0.1", port), handler)
        with serving(server):
            yield f"http://127.0.0.1:{server.server_port}/v1"

    def note(self, served: Served) -> None:
        with self._lock:
            self.books.append(served)


class _ProviderHandler(Handler):
    provider: ScriptedProvider

    def do_GET(self) -> None:
        self.send_json(200, {"object": "list", "data": [{"id": "scripted", "object": "model"}]})

    def do_POST(self) -> None:
        dialect = DIALECTS.get(self.path.partition("?")[0])
        if dialect is None:
            return self.send_json(404, chat.error_body("not_found", f"no such path: {self.path}"))
        try:
            call = dialect.spoken(self.read_json())
        except (BadInput, NotUnderstood) as problem:
            return self.send_json(400, dialect.error_body("invalid_request_error", str(problem)))
        step = self.provider.script(call) if self._has_key() else Step(fault=Fault.AUTH)
        reply = priced(step.reply, call)
        headers = {name.lower(): value for name, value in self.headers.items()}
        served = Served(path=self.path, headers=headers, spoken=call, fault=step.fault, usage=reply.usage)
        self.provider.note(served)
        time.sleep(step.wait_s)
        return self._say(dialect, SpokenAnswer(reply, call, token_hex(12), int(time.time())), step)

    def _has_key(self) -> bool:
        given = self.headers.get("Authorization", "").removeprefix("Bearer ") or self.headers.get("x-api-key", "")
        return not self.provider.key or given == self.provider.key

    def _say(self, dialect: ModuleType, answer: SpokenAnswer, step: Step) -> None:
        if step.fault in REFUSALS or step.fault is Fault.AUTH:
            self._refuse(dialect, step)
        elif step.fault is Fault.HANG_UP:
            self._hang_up()
        elif step.fault is Fault.GARBAGE:
            self.send_bytes(200, b'{"choices": [{"mess', {"Content-Type": "application/json"})
        elif step.fault is Fault.HTML:
            self.send_bytes(200, b"<html>Bad gateway</html>", {"Content-Type": "text/html"})
        elif answer.spoken.stream:
            self._stream(list(dialect.events(answer)), cut=step.fault is Fault.CUT)
        else:
            self._whole(_body(dialect, answer, step), step)

    def _refuse(self, dialect: ModuleType, step: Step) -> None:
        key = self.headers.get("Authorization", "").removeprefix("Bearer ")
        status, kind, text = REFUSALS.get(step.fault, (401, "invalid_api_key", f"Incorrect API key provided: {key}"))
        headers = {} if step.retry_after_s is None else {"Retry-After": f"{step.retry_after_s:g}"}
        self.send_json(status, dialect.error_body(kind, text), headers)

    def _whole(self, body: Mapping[str, Any], step: Step) -> None:
        data = json.dumps(body).encode()
        kind = "text/html" if step.fault is Fault.WRONG_TYPE else "application/json"
        if step.fault is not Fault.CUT:
            return self.send_bytes(200, data, {"Content-Type": kind})
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[: len(data) // 2])
        return self._hang_up()

    def _stream(self, events: list[str], *, cut: bool) -> None:
        if not cut:
            return self.send_events(events)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in events[: len(events) // 2]:
            self.wfile.write(chunk(event.encode()))
        return self._hang_up()

    def _hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)


def _body(dialect: ModuleType, answer: SpokenAnswer, step: Step) -> Mapping[str, Any]:
    body: dict[str, Any] = dialect.rendered(answer)
    return {name: value for name, value in body.items() if name != "usage" or step.fault is not Fault.NO_USAGE}


def text_step(text: str, *, prompt: int | None = None, completion: int | None = None) -> Step:
    """A step that says a text, with these token counts."""
    return Step(reply=Reply(text=text, usage=Usage(prompt=prompt, completion=completion, cached=0)))
