"""The gateway over HTTP, on a separate Unix socket for each agent run (forwarding.py connects the agent).

The gateway streams an answer from a whole reply, which is paid for and stored before the agent gets its first byte.
Until then it sends keepalive events (patience.py). Errors use the caller's dialect, with `x-should-retry: false`,
because the gateway has already retried.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from anyio import CapacityLimiter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from tasks.adapters.llm.dialects import chat, messages
from tasks.adapters.llm.dialects.by_name import BY_PATH, name_of
from tasks.adapters.llm.dialects.spoken import ClientRequest, NotUnderstood
from tasks.adapters.llm.errors import (
    AccountRefused,
    BudgetExhausted,
    ContentFiltered,
    ContextTooLong,
    ProviderFailed,
    ProviderRefused,
    ReplayMiss,
    ReplyCut,
)
from tasks.adapters.llm.gateway.core import Gateway, ModelRefused, TokenRefused
from tasks.adapters.llm.gateway.grant import GrantedRun
from tasks.adapters.llm.gateway.patience import heard_out, patiently
from tasks.adapters.llm.transport.http_server import (
    application,
    events,
    in_thread,
    read_json,
    said,
    said_length,
    serving,
    unix_listener,
)
from tasks.domain.errors import BadInput, SwtError

COUNTING = "/messages/count_tokens"
DECIDING = ("anthropic-beta",)
NO_RETRY = {"x-should-retry": "false"}
SOCKET = "model.sock"
CONNECTIONS = 64
"""Connections of one run. Measured agents used up to four."""
SMALL = 1 << 20
"""Bytes of a body that is read without a slot; some 250,000 tokens."""
LARGEST = 16 << 20
"""Maximum size of a body in bytes: more than any model accepts, since images are not passed on."""
LARGE_AT_ONCE = 2
"""Concurrent bodies above `SMALL`: 16 MiB of JSON may take twenty times that in memory."""


class Said(NamedTuple):
    """How an error is reported."""

    status: int
    kind: str
    text: str
    """Text before the error's own message."""


ERRORS: Mapping[type[SwtError], Said] = {
    TokenRefused: Said(401, "authentication_error", ""),
    ModelRefused: Said(404, "not_found_error", ""),
    NotUnderstood: Said(400, "invalid_request_error", ""),
    BadInput: Said(400, "invalid_request_error", ""),
    BudgetExhausted: Said(403, "insufficient_quota", "The budget of this run is used up; stop and hand in your work. "),
    ReplyCut: Said(503, "overloaded_error", ""),
    ContextTooLong: Said(400, "context_length_exceeded", "prompt is too long: maximum context length exceeded. "),
    ContentFiltered: Said(400, "content_policy_violation", ""),
    ProviderFailed: Said(503, "overloaded_error", "The model cannot be reached now. "),
    AccountRefused: Said(403, "permission_error", ""),
    ProviderRefused: Said(403, "permission_error", ""),
    ReplayMiss: Said(404, "not_found_error", ""),
}
OURS = Said(500, "api_error", "The gateway failed. ")


@contextmanager
def listening(gateway: Gateway, folder: Path) -> Iterator[Path]:
    """Serve at a socket until the block ends. `folder` is private and temporary; its path must be below 90 bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o711)
    path = folder / SOCKET
    with serving(gateway_app(gateway), unix_listener(path), CONNECTIONS):
        yield path
    path.unlink(missing_ok=True)


def gateway_app(gateway: Gateway) -> Starlette:
    """Return an application with the three dialects, the list of models, and an OK status for other GET requests."""
    rooms = Rooms(calls=CapacityLimiter(CONNECTIONS), large=CapacityLimiter(LARGE_AT_ONCE))

    async def answer(request: Request) -> Response:
        path = _plain(request.url.path)
        if request.method == "POST":
            return await _call(gateway, request, path, rooms)
        if request.method == "GET" and path == "/models":
            return _models(gateway, request)
        return said(200, {"status": "ok"})

    return application(answer)


class Rooms(NamedTuple):
    """Concurrency limits of one gateway."""

    calls: CapacityLimiter
    large: CapacityLimiter

    def of(self, request: Request) -> AbstractAsyncContextManager[None]:
        """Return the slot for reading a body. Large bodies need one of few slots, because the agent is untrusted.

        A body without a declared length counts as large.
        """
        length = said_length(request)
        return self.large if length is None or length > SMALL else nullcontext()


def _models(gateway: Gateway, request: Request) -> Response:
    try:
        run = gateway.run_of(_token(request))
    except TokenRefused as error:
        return _refused(chat, error)
    names = [run.grant.model, *(name for name in run.grant.aliases if name != "*")]
    listed = [{"id": name, "object": "model", "created": 0, "owned_by": "swt"} for name in names]
    return said(200, {"object": "list", "data": listed})


async def _call(gateway: Gateway, request: Request, path: str, rooms: Rooms) -> Response:
    dialect = messages if path == COUNTING else BY_PATH.get(path)
    if dialect is None:
        return said(404, chat.error_body("not_found_error", f"no such path: {path}"))
    streamed = asyncio.Event()
    work = asyncio.create_task(_worked(gateway, request, path, dialect, rooms, streamed))
    return await patiently(work, streamed, name_of(dialect))


async def _worked(
    gateway: Gateway, request: Request, path: str, dialect: ModuleType, rooms: Rooms, streamed: asyncio.Event
) -> Response:
    """Handle a call. Checks the token before it reads the body; sets `streamed` if the call requests a stream."""
    try:
        run = gateway.run_of(_token(request))
        async with rooms.of(request):
            body = await read_json(request, LARGEST)
            spoken = replace(dialect.spoken(body), body=body, headers=_deciding(request))
            if path == COUNTING:
                return said(200, {"input_tokens": messages.tokens_of(spoken)})
            if spoken.stream:
                streamed.set()
            answering = in_thread(partial(_answered, gateway, run, dialect, spoken), rooms.calls)
            return await heard_out(request, answering, partial(gateway.unheard, run, dialect, spoken))
    except SwtError as error:
        return _refused(dialect, error)
    except Exception as error:  # the agent gets a response, and the row marks an internal error
        return _refused(dialect, SwtError(type(error).__name__))


def _answered(gateway: Gateway, run: GrantedRun, dialect: ModuleType, spoken: ClientRequest) -> Response:
    answer = gateway.call(run, dialect, spoken)
    return events(dialect.events(answer)) if spoken.stream else said(200, dialect.rendered(answer))


def _refused(dialect: ModuleType, error: SwtError) -> Response:
    how = next((ERRORS[kind] for kind in type(error).__mro__ if kind in ERRORS), OURS)
    return said(how.status, dialect.error_body(how.kind, f"{how.text}{error}"), NO_RETRY)


def _token(request: Request) -> str:
    bearer = request.headers.get("authorization", "").removeprefix("Bearer ").strip()
    return bearer or request.headers.get("x-api-key", "").strip()


def _deciding(request: Request) -> dict[str, str]:
    """Return the headers that affect a reply."""
    return {name: request.headers[name] for name in DECIDING if name in request.headers}


def _plain(path: str) -> str:
    """Return a path without `/v1`, which only some agents add."""
    plain = path.rstrip("/")
    while plain.startswith("/v1/"):
        plain = plain.removeprefix("/v1")
    return plain
