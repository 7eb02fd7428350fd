"""The gateway over HTTP: on the loopback for agents on this machine, on a Unix socket for sandboxes without a network.

A streamed answer is made of a whole reply: it is paid for and on disk before the agent sees its first word.
Errors are said in the caller's dialect, with `x-should-retry: false`: the gateway has tried as often as makes sense.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from tasks.adapters.llm.dialects import chat, messages, responses
from tasks.adapters.llm.dialects.spoken import NotUnderstood
from tasks.adapters.llm.errors import (
    BudgetExhausted,
    ContentFiltered,
    ContextTooLong,
    ProviderFailed,
    ProviderRefused,
    ReplayMiss,
)
from tasks.adapters.llm.gateway.core import Gateway, ModelRefused, TokenRefused
from tasks.adapters.llm.serving import Handler, TcpServer, serving, unix_server
from tasks.domain.errors import BadInput, SwtError

PATHS: Mapping[str, ModuleType] = {
    "/chat/completions": chat,
    "/responses": responses,
    "/messages": messages,
}
COUNTING = "/messages/count_tokens"
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
    ContextTooLong: Said(400, "context_length_exceeded", "prompt is too long: maximum context length exceeded. "),
    ContentFiltered: Said(400, "content_policy_violation", ""),
    ProviderFailed: Said(503, "overloaded_error", "The model cannot be reached now. "),
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
    handler = type("GatewayHandler", (_GatewayHandler,), {"gateway": gateway})
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o711)
    with ExitStack() as stack:
        tcp = TcpServer(("127.0.0.1", port), handler)
        stack.enter_context(serving(tcp))
        path = folder / SOCKET
        stack.enter_context(serving(unix_server(path, handler)))
        stack.callback(path.unlink, missing_ok=True)
        yield Listening(url=f"http://127.0.0.1:{tcp.server_port}", socket=path)


class _GatewayHandler(Handler):
    gateway: Gateway

    def do_HEAD(self) -> None:
        self.send_json(200, {})

    def do_GET(self) -> None:
        if _plain(self.path) != "/models":
            return self.send_json(200, {"status": "ok"})
        try:
            run = self.gateway.run_of(self._token())
        except TokenRefused as error:
            return self._say(chat, error)
        names = [run.grant.model, *(name for name in run.grant.aliases if name != "*")]
        listed = [{"id": name, "object": "model", "created": 0, "owned_by": "swt"} for name in names]
        return self.send_json(200, {"object": "list", "data": listed})

    def do_POST(self) -> None:
        path = _plain(self.path)
        dialect = messages if path == COUNTING else PATHS.get(path)
        if dialect is None:
            self.close_connection = True  # the body was not read
            return self.send_json(404, chat.error_body("not_found_error", f"no such path: {path}"))
        try:
            body = self.read_json()
            run = self.gateway.run_of(self._token())
            spoken = dialect.spoken(body)
            if path == COUNTING:
                return self.send_json(200, {"input_tokens": messages.tokens_of(spoken)})
            answer = self.gateway.call(run, dialect, spoken)
        except SwtError as error:
            return self._say(dialect, error)
        except Exception as error:  # the agent gets an answer, and the run is told apart from a failed one
            return self._say(dialect, SwtError(type(error).__name__))
        if spoken.stream:
            return self.send_events(dialect.events(answer))
        return self.send_json(200, dialect.rendered(answer))

    def _say(self, dialect: ModuleType, error: SwtError) -> None:
        said = next((ERRORS[kind] for kind in type(error).__mro__ if kind in ERRORS), OURS)
        self.send_json(said.status, dialect.error_body(said.kind, f"{said.text}{error}"), NO_RETRY)

    def _token(self) -> str:
        bearer = self.headers.get("Authorization", "").removeprefix("Bearer ").strip()
        return bearer or self.headers.get("x-api-key", "").strip()


def _plain(path: str) -> str:
    """A path without its query and without `/v1`, which agents add or do not."""
    plain = path.partition("?")[0].rstrip("/")
    while plain.startswith("/v1/"):
        plain = plain.removeprefix("/v1")
    return plain
