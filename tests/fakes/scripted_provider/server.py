"""The provider as an HTTP server. It keeps its own books, which tests hold ours against."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from secrets import token_hex
from threading import Lock
from types import ModuleType
from typing import Any

from anyio import CapacityLimiter, sleep
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from tasks.adapters.llm.base import Reply, Usage
from tasks.adapters.llm.dialects import chat
from tasks.adapters.llm.dialects.by_name import BY_PATH, name_of
from tasks.adapters.llm.dialects.spoken import ClientRequest, NotUnderstood, SpokenAnswer
from tasks.adapters.llm.transport.http_server import (
    CONNECTIONS,
    Cut,
    application,
    events,
    hung_up,
    in_thread,
    listener,
    read_json,
    said,
    serving,
)
from tasks.demo.recorded_replies import with_usage
from tasks.domain.errors import BadInput
from tests.fakes.scripted_provider.batches import Batches
from tests.fakes.scripted_provider.script import SAID_INSTEAD, STREAMED, Fault, Script, Step
from tests.fakes.scripted_provider.streams import faulty, stream_of

BATCHED = "batch"
"""In place of the path of a call that came in a batch."""
EVENTS = "text/event-stream"
ANSWERED = (Fault.NONE, Fault.WRONG_TYPE, Fault.NO_USAGE, Fault.ODD_USAGE, *SAID_INSTEAD)
"""Steps after which the caller has a whole reply."""

BODIES: Mapping[Fault, bytes] = {
    Fault.GARBAGE: b'{"choices": [{"mess',
    Fault.EMPTY_BODY: b"",
    Fault.NULL: b"null",
    Fault.NO_REPLY: b'{"id": "1", "object": "something.else"}',
    Fault.ERROR_IN_200: b'{"error": {"message": "upstream failed", "code": "internal"}}',
    Fault.BUSY_IN_200: b'{"error": {"message": "upstream is busy", "code": 429}}',
}
"""What stands where a reply should be, with status 200."""
DONE = (
    *ANSWERED,
    *(Fault.CUT, Fault.STALLED, Fault.GARBAGE, Fault.HTML, Fault.EMPTY_BODY, Fault.NULL, Fault.NO_REPLY),
    *(Fault.UNENDED, Fault.ONLY_PINGS, Fault.ERROR_MIDWAY, Fault.HALF_EVENT),
)
"""Steps for which the work was done, and is charged."""
STALL_S = 30.0
"""A stalled reply is half said, and then nothing for so long."""

REFUSALS: Mapping[Fault, tuple[int, str, str]] = {
    Fault.RATE_LIMIT: (429, "rate_limit_exceeded", "too many requests"),
    Fault.SERVER: (500, "server_error", "something broke"),
    Fault.OVERLOADED: (529, "overloaded_error", "overloaded"),
    Fault.CONTEXT: (400, "context_length_exceeded", "This model's maximum context length is 8192 tokens."),
    Fault.FILTER: (400, "content_filter", "The prompt was filtered."),
    Fault.NO_QUOTA: (429, "insufficient_quota", "You exceeded your current quota, please check your plan."),
    Fault.NO_CREDIT: (402, "invalid_request_error", "Insufficient Balance"),
    Fault.LOW_BALANCE: (400, "invalid_request_error", "Your credit balance is too low to access the API."),
    Fault.FORBIDDEN: (403, "permission_error", "Your API key does not have permission to use the resource."),
    Fault.MODERATED: (403, "forbidden", "The model requires moderation and your input was flagged."),
    Fault.EXHAUSTED: (400, "script_exhausted", "The script has no step left."),
    Fault.BUSY_FOR_HOURS: (429, "rate_limit_exceeded", "Daily limit reached."),
    Fault.REQUEST_TIMEOUT: (408, "request_timeout", "The request took too long."),
    Fault.CONFLICT: (409, "conflict", "Another request holds the resource."),
    Fault.TOO_EARLY: (425, "too_early", "The model is being loaded."),
    Fault.BAD_GATEWAY: (502, "bad_gateway", "Bad gateway"),
    Fault.UNAVAILABLE: (503, "service_unavailable", "The engine is overloaded."),
    Fault.GATEWAY_TIMEOUT: (504, "gateway_timeout", "Gateway timeout"),
    Fault.NO_MODEL: (404, "model_not_found", "The model does not exist or you do not have access to it."),
    Fault.BAD_PARAMETER: (400, "unsupported_parameter", "Unsupported parameter: 'temperature'."),
    Fault.UNPROCESSABLE: (422, "unprocessable_entity", "messages: field required"),
    Fault.TOO_LARGE: (413, "request_too_large", "Request exceeds the maximum size"),
    Fault.TOO_MANY_TOKENS: (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
    Fault.POLICY: (400, "content_policy_violation", "Your request was rejected by our safety system."),
    Fault.BILLING_OFF: (429, "billing_not_active", "Your account is not active, please check your billing details."),
    Fault.HARD_LIMIT: (400, "billing_hard_limit_reached", "Billing hard limit has been reached."),
    Fault.EXPIRED_KEY: (400, "invalid_argument", "API key expired. Please renew the API key."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """One request, as the provider's books have it."""

    path: str
    headers: Mapping[str, str]
    spoken: ClientRequest
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
    batches: Batches = field(init=False, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)
    _limiter: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(CONNECTIONS), repr=False)

    def __post_init__(self) -> None:
        self.batches = Batches(self._play_in_batch)

    @contextmanager
    def serve(self, port: int = 0) -> Iterator[str]:
        """Listen on the loopback; gives the base URL of the chat dialect, `http://127.0.0.1:PORT/v1`."""
        tcp = listener(port)
        with serving(application(self._answer), tcp):
            yield f"http://127.0.0.1:{tcp.getsockname()[1]}/v1"

    async def _answer(self, request: Request) -> Response:
        path = request.url.path.removeprefix("/v1")
        if path.startswith(("/files", "/batches", "/messages/batches")):
            return await self.batches.answer(request, path)
        if request.method != "POST":
            return said(200, {"object": "list", "data": [{"id": "scripted", "object": "model"}]})
        dialect = BY_PATH.get(path)
        if dialect is None:
            return said(404, chat.error_body("not_found", f"no such path: {request.url.path}"))
        try:
            body = await read_json(request)
            call = replace(dialect.spoken(body), body=body)
        except (BadInput, NotUnderstood) as problem:
            return said(400, dialect.error_body("invalid_request_error", str(problem)))
        return await in_thread(lambda: self._play(request, dialect, call), self._limiter)

    def _play(self, request: Request, dialect: ModuleType, call: ClientRequest) -> Response:
        key = _key(request)
        step = self.script(call) if self.key in ("", key) else Step(fault=Fault.AUTH)
        reply = with_usage(SAID_INSTEAD.get(step.fault, step.reply), call)
        headers = dict(request.headers)
        self.note(Served(path=request.url.path, headers=headers, spoken=call, fault=step.fault, usage=reply.usage))
        time.sleep(step.wait_s)
        return _said(dialect, SpokenAnswer(reply, call, token_hex(12), int(time.time())), step, key)

    def _play_in_batch(self, dialect: ModuleType, call: ClientRequest) -> tuple[int, Mapping[str, Any]]:
        """One item of a batch: the same script; faults are refusals or spoil the reply."""
        step = self.script(call)
        reply = with_usage(SAID_INSTEAD.get(step.fault, step.reply), call)
        self.note(Served(path=BATCHED, headers={}, spoken=call, fault=step.fault, usage=reply.usage))
        if step.fault in REFUSALS:
            status, kind, text = REFUSALS[step.fault]
            return status, dialect.error_body(kind, text)
        return 200, _body(dialect, SpokenAnswer(reply, call, token_hex(12), int(time.time())), step)

    def note(self, served: Served) -> None:
        with self._lock:
            self.books.append(served)


def _key(request: Request) -> str:
    return request.headers.get("authorization", "").removeprefix("Bearer ") or request.headers.get("x-api-key", "")


def _said(dialect: ModuleType, answer: SpokenAnswer, step: Step, key: str) -> Response:
    if step.fault in REFUSALS or step.fault is Fault.AUTH:
        return _refused(dialect, step, key)
    if step.fault is Fault.ECHO:
        said_last = answer.spoken.messages[-1].text if answer.spoken.messages else ""
        return said(400, dialect.error_body("invalid_request_error", f"Invalid value: '{said_last}'"), {})
    if step.fault is Fault.HANG_UP:
        return hung_up()
    if step.fault in BODIES:
        return Response(BODIES[step.fault], media_type="application/json")
    if step.fault in (Fault.HTML, Fault.HTML_ERROR):
        status = 200 if step.fault is Fault.HTML else 502
        return Response(b"<html>Bad gateway</html>", status, media_type="text/html")
    if answer.spoken.stream:
        return _streamed(dialect, answer, step)
    data = json.dumps(_body(dialect, answer, step)).encode()
    if step.fault is Fault.STALLED:
        return _stalling(data)
    kind = "text/html" if step.fault is Fault.WRONG_TYPE else "application/json"
    return Cut(data, media_type=kind) if step.fault is Fault.CUT else Response(data, media_type=kind)


def _streamed(dialect: ModuleType, answer: SpokenAnswer, step: Step) -> Response:
    name, body = name_of(dialect), _body(dialect, answer, step)
    parts = stream_of(name, body, with_usage=answer.spoken.with_usage)
    if step.fault is Fault.CUT:
        half = "".join(parts[: len(parts) // 2]).encode()
        return Cut("".join(parts).encode(), media_type=EVENTS, brought=len(half))
    if step.fault in (Fault.STALLED, *STREAMED):
        return StreamingResponse(faulty(step.fault, name, parts, STALL_S), media_type=EVENTS)
    return events(parts)


def _refused(dialect: ModuleType, step: Step, key: str) -> Response:
    status, kind, text = REFUSALS.get(step.fault, (401, "invalid_api_key", f"Incorrect API key provided: {key}"))
    pause = 7200.0 if step.fault is Fault.BUSY_FOR_HOURS else step.retry_after_s
    headers = {} if pause is None else {"Retry-After": f"{pause:g}"}
    return said(status, dialect.error_body(kind, text), headers)


def _body(dialect: ModuleType, answer: SpokenAnswer, step: Step) -> Mapping[str, Any]:
    body: dict[str, Any] = dialect.rendered(answer) | step.body
    if step.fault is Fault.ODD_USAGE:
        body["usage"] = dict.fromkeys(body["usage"], "many")
    return {name: value for name, value in body.items() if name != "usage" or step.fault is not Fault.NO_USAGE}


def _stalling(data: bytes) -> Response:
    async def parts() -> AsyncIterator[bytes]:
        yield data[: len(data) // 2]
        await sleep(STALL_S)

    return StreamingResponse(parts(), media_type="application/json")


def text_step(text: str, *, prompt: int | None = None, completion: int | None = None) -> Step:
    """A step that says a text, with these token counts."""
    return Step(reply=Reply(text=text, usage=Usage(prompt=prompt, completion=completion, cached=0)))
