"""The gateway over HTTP: on the loopback for agents on this machine, on a Unix socket for sandboxes without a network.

A streamed answer is made of a whole reply: it is paid for and on disk before the agent sees its first word.
Errors are said in the caller's dialect, with `x-should-retry: false`: the gateway has tried as often as makes sense.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from anyio import CapacityLimiter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from tasks.adapters.llm.dialects import chat, messages
from tasks.adapters.llm.dialects.all import BY_PATH
from tasks.adapters.llm.dialects.spoken import NotUnderstood, Spoken
from tasks.adapters.llm.errors import (
    AccountRefused,
    BudgetExhausted,
    ContentFiltered,
    ContextTooLong,
    ProviderFailed,
    ProviderRefused,
    ReplayMiss,
    UnansweredInLimit,
)
from tasks.adapters.llm.gateway.core import Gateway, ModelRefused, TokenRefused
from tasks.adapters.llm.gateway.grant import GrantedRun
from tasks.adapters.llm.serving import (
    CONNECTIONS,
    application,
    events,
    in_thread,
    listener,
    read_json,
    said,
    serving,
    unix_listener,
)
from tasks.domain.errors import BadInput, SwtError

COUNTING = "/messages/count_tokens"
DECIDING = ("anthropic-beta",)
NO_RETRY = {"x-should-retry": "false"}
SOCKET = "model.sock"


class Said(NamedTuple):
    """How an error is said."""

    status: int
    kind: str
    text: str
    """What goes before the error's own message."""


ERRORS: Mapping[type[SwtError], Said] = {
    TokenRefused: Said(401, "authentication_error", ""),
    ModelRefused: Said(404, "not_found_error", ""),
    NotUnderstood: Said(400, "invalid_request_error", ""),
    BadInput: Said(400, "invalid_request_error", ""),
    BudgetExhausted: Said(403, "insufficient_quota", "The budget of this run is used up; stop and hand in your work. "),
    UnansweredInLimit: Said(503, "overloaded_error", ""),
    ContextTooLong: Said(400, "context_length_exceeded", "prompt is too long: maximum context length exceeded. "),
    ContentFiltered: Said(400, "content_policy_violation", ""),
    ProviderFailed: Said(503, "overloaded_error", "The model cannot be reached now. "),
    AccountRefused: Said(403, "permission_error", ""),
    ProviderRefused: Said(403, "permission_error", ""),
    ReplayMiss: Said(404, "not_found_error", ""),
}
OURS = Said(500, "api_error", "The gateway failed. ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """Where a gateway can be reached."""

    url: str
    """On this machine, `http://127.0.0.1:PORT`; agents add `/v1` themselves or not, as their dialect wants."""
    socket: Path
    """To be mounted into a sandbox (reach.py)."""


@contextmanager
def listening(gateway: Gateway, folder: Path, *, port: int = 0) -> Iterator[Listening]:
    """Answer until the block ends. `folder` is private and short-lived; its path has to be shorter than 90 bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o711)
    tcp, path = listener(port), folder / SOCKET
    with serving(gateway_app(gateway), tcp, unix_listener(path)):
        yield Listening(url=f"http://127.0.0.1:{tcp.getsockname()[1]}", socket=path)
    path.unlink(missing_ok=True)


def gateway_app(gateway: Gateway) -> Starlette:
    """The three dialects, the list of models, and a sign of life for everything else that is read."""
    limiter = CapacityLimiter(CONNECTIONS)

    async def answer(request: Request) -> Response:
        path = _plain(request.url.path)
        if request.method == "POST":
            return await _call(gateway, request, path, limiter)
        if request.method == "GET" and path == "/models":
            return _models(gateway, request)
        return said(200, {"status": "ok"})

    return application(answer)


def _models(gateway: Gateway, request: Request) -> Response:
    try:
        run = gateway.run_of(_token(request))
    except TokenRefused as error:
        return _refused(chat, error)
    names = [run.grant.model, *(name for name in run.grant.aliases if name != "*")]
    listed = [{"id": name, "object": "model", "created": 0, "owned_by": "swt"} for name in names]
    return said(200, {"object": "list", "data": listed})


async def _call(gateway: Gateway, request: Request, path: str, limiter: CapacityLimiter) -> Response:
    """The token comes first: without one, nothing of the body is read."""
    dialect = messages if path == COUNTING else BY_PATH.get(path)
    if dialect is None:
        return said(404, chat.error_body("not_found_error", f"no such path: {path}"))
    try:
        run = gateway.run_of(_token(request))
        body = await read_json(request)
        spoken = replace(dialect.spoken(body), body=body, headers=_deciding(request))
        if path == COUNTING:
            return said(200, {"input_tokens": messages.tokens_of(spoken)})
        return await in_thread(partial(_answered, gateway, run, dialect, spoken), limiter)
    except SwtError as error:
        return _refused(dialect, error)
    except Exception as error:  # the agent gets an answer, and the run is told apart from a failed one
        return _refused(dialect, SwtError(type(error).__name__))


def _answered(gateway: Gateway, run: GrantedRun, dialect: ModuleType, spoken: Spoken) -> Response:
    answer = gateway.call(run, dialect, spoken)
    return events(dialect.events(answer)) if spoken.stream else said(200, dialect.rendered(answer))


def _refused(dialect: ModuleType, error: SwtError) -> Response:
    how = next((ERRORS[kind] for kind in type(error).__mro__ if kind in ERRORS), OURS)
    return said(how.status, dialect.error_body(how.kind, f"{how.text}{error}"), NO_RETRY)


def _token(request: Request) -> str:
    bearer = request.headers.get("authorization", "").removeprefix("Bearer ").strip()
    return bearer or request.headers.get("x-api-key", "").strip()


def _deciding(request: Request) -> dict[str, str]:
    """Headers that decide a reply."""
    return {name: request.headers[name] for name in DECIDING if name in request.headers}


def _plain(path: str) -> str:
    """A path without `/v1`, which agents add or do not."""
    plain = path.rstrip("/")
    while plain.startswith("/v1/"):
        plain = plain.removeprefix("/v1")
    return plain
