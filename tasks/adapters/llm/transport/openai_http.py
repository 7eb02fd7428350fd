"""One attempt at one call: the openai SDK's transport over a base URL, and what its errors mean."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

from tasks.adapters.llm.base import Reply
from tasks.adapters.llm.catalogue.models import ModelCard
from tasks.adapters.llm.dialects.by_name import BY_NAME, PATHS
from tasks.adapters.llm.dialects.spoken import NotAReply
from tasks.adapters.llm.dialects.streamed import ASKED, SaidError, Unfinished, assembled
from tasks.adapters.llm.errors import ModelError, ProviderFailed
from tasks.adapters.llm.records.request import ModelRequest
from tasks.adapters.llm.secret import Secret
from tasks.adapters.llm.transport.provider_errors import SHOWN, complaint, retry_after_s, status_of
from tasks.adapters.llm.transport.streaming import Patience, Speechless, TooLarge, events, whole

if TYPE_CHECKING:
    import httpx2
    import openai

VERSION = "2023-06-01"
"""Of the messages dialect (https://docs.anthropic.com/en/api/versioning)."""
WHOLE = {"X-Stainless-Raw-Response": "true"}
"""By which the SDK is asked for a reply as it came, and not as one of its types."""
AS_IT_COMES = {"X-Stainless-Raw-Response": "stream"}
"""The same, while it is still arriving."""
EVENT_STREAM = "text/event-stream"
NEVER_SENT = ("ConnectError", "ConnectTimeout", "PoolTimeout")
"""Causes of a lost connection after which the provider has seen nothing."""

ACCOUNT_NAMES = ("OpenAI-Organization", "OpenAI-Project")
"""Headers that the SDK would fill from variables of its own, for whichever provider."""


class Transport(Protocol):
    """Something that can be asked once. Raises `ModelError`s; a `ProviderFailed` may be tried again."""

    def send(self, request: ModelRequest, card: ModelCard) -> Reply: ...

    def close(self) -> None: ...


@dataclass(slots=True)
class OpenAIWire:
    """A provider of any of the three dialects. Thread-safe; the client is made at the first call.

    The openai SDK carries all of them: one transport, one set of errors, no second SDK to load."""

    base_url: str
    key: Secret
    timeout_s: float = 600.0
    _lock: Lock = field(default_factory=Lock, init=False, repr=False)
    _made: openai.OpenAI | None = field(default=None, init=False, repr=False)

    def close(self) -> None:
        """Close connections that are kept for the next call."""
        with self._lock:
            if self._made is not None:
                self._made.close()
            self._made = None

    def send(self, request: ModelRequest, card: ModelCard) -> Reply:
        """The whole reply. Seconds are those until its last byte; `cost_usd` is the caller's to fill in."""
        import httpx2
        import openai

        body = BY_NAME[request.dialect].request_body(request, limit_name=card.limit_name)
        if card.streamed(request):
            body |= ASKED[request.dialect]
        headers = {**AS_IT_COMES, **self._account(request.dialect), **json.loads(request.headers)}
        began = time.monotonic()
        try:
            # The typed methods of the SDK know no `messages`, and drop nothing and add nothing that is needed here.
            path = PATHS[request.dialect]
            # As bytes of our own: the SDK's encoder ends at half a surrogate pair, which models do emit.
            content = json.dumps(body).encode()
            answer: Any = self._client().post(path, cast_to=object, content=content, options={"headers": headers})
            with closing(answer.http_response) as response:
                raw = self.key.scrub(self._heard(response, request.dialect))
        except openai.APIError as error:
            raise self._typed(error) from None
        except httpx2.RequestError as error:
            raise self._broken(error) from None
        return self._read(raw, request.dialect, time.monotonic() - began)

    def _heard(self, response: httpx2.Response, dialect: str) -> str:
        """The whole answer as JSON text, however it came: who is asked for a stream may answer at once."""
        patience, chunks = Patience(self.timeout_s), response.iter_bytes()
        try:
            if not response.headers.get("content-type", "").startswith(EVENT_STREAM):
                return whole(chunks, patience)
            return json.dumps(assembled(dialect, events(chunks, patience)))
        except Speechless:
            raise ProviderFailed(f"no reply within {self.timeout_s:g} s", kind="timeout") from None
        except TooLarge:
            raise ProviderFailed("the reply is larger than any reply", kind="garbage") from None
        except Unfinished:
            raise ProviderFailed("the stream ended before the reply did", kind="cut") from None
        except SaidError as error:
            problem = self.complaint(status_of(error.said), error.said)
            problem.maybe_paid = error.begun
            raise problem from None
        except NotAReply as problem:
            raise self._no_reply(dialect, problem) from None

    def _broken(self, error: httpx2.RequestError) -> ModelError:
        """What ended an answer that had begun."""
        import httpx2

        if isinstance(error, httpx2.TimeoutException):
            return ProviderFailed(f"no word within {self.timeout_s:g} s", kind="timeout")
        return ProviderFailed(f"the connection ended before the reply did: {type(error).__name__}", kind="cut")

    def _no_reply(self, dialect: str, problem: NotAReply) -> ProviderFailed:
        said = self.key.scrub(str(problem))[:SHOWN]
        return ProviderFailed(f"the provider's answer is none of the {dialect} dialect: {said}", kind="garbage")

    def talk(
        self,
        method: str,
        path: str,
        dialect: str,
        *,
        body: Mapping[str, Any] | None = None,
        upload: tuple[str, bytes] | None = None,
    ) -> str:
        """What a provider says to anything but a call, an upload is a file for a batch. `ModelError`."""
        import openai

        options: Any = {"headers": {**WHOLE, **self._account(dialect)}}
        try:
            if method == "get":
                answer: Any = self._client().get(path, cast_to=object, options=options)
            elif upload:
                options["headers"] |= {"Content-Type": "multipart/form-data"}
                answer = self._client().post(
                    path, cast_to=object, body={"purpose": "batch"}, files=[("file", upload)], options=options
                )
            else:
                content = json.dumps(body).encode()
                answer = self._client().post(path, cast_to=object, content=content, options=options)
            return self.key.scrub(answer.text)
        except openai.APIError as error:
            raise self._typed(error) from None

    def read(self, raw: str, dialect: str) -> Reply | ModelError:
        """A reply that came in a batch, or what is wrong with it."""
        try:
            return self._read(raw, dialect, 0.0)
        except ModelError as problem:
            return problem

    def complaint(self, status: int, said: Mapping[str, Any]) -> ModelError:
        """What a provider said of one call instead of a reply."""
        return complaint(status, said, self.key)

    def _account(self, dialect: str) -> dict[str, Any]:
        """Whose account it is; the SDK says it itself for the dialects that are its own."""
        import openai

        if dialect != "messages":
            return {}
        return {"x-api-key": self.key.reveal(), "anthropic-version": VERSION, "Authorization": openai.Omit()}

    def _client(self) -> openai.OpenAI:
        import openai

        with self._lock:
            if self._made is None:
                self._made = openai.OpenAI(
                    base_url=self.base_url,
                    api_key=self.key.reveal() or "none",
                    timeout=self.timeout_s,
                    max_retries=0,
                    default_headers={name: openai.Omit() for name in ACCOUNT_NAMES},  # type: ignore[misc]
                )
            return self._made

    def _read(self, raw: str, dialect: str, seconds: float) -> Reply:
        """The reply in an answer with status 200; some providers put errors there."""
        try:
            body = json.loads(raw)
        except (ValueError, RecursionError):
            raise ProviderFailed(f"the provider's answer is not JSON: {raw[:80]!r}", kind="garbage") from None
        if isinstance(body, dict) and isinstance(body.get("error"), dict):
            raise self.complaint(status_of(body["error"]), body["error"])
        try:
            reply: Reply = BY_NAME[dialect].reply_of(body, raw=raw, seconds=seconds)
        except NotAReply as problem:
            raise self._no_reply(dialect, problem) from None
        except RecursionError:
            raise self._no_reply(dialect, NotAReply("it is nested too deep")) from None
        return reply

    def _typed(self, error: openai.APIError) -> ModelError:
        """The same as one of ours, without the SDK's request (its headers hold the key)."""
        import openai

        if isinstance(error, openai.APIStatusError):
            said = error.body if isinstance(error.body, dict) else {"message": error.response.text[:SHOWN]}
            return complaint(error.status_code, said, self.key, retry_after_s(error.response.headers))
        cause = type(error.__cause__).__name__
        if cause in NEVER_SENT:
            return ProviderFailed(f"the provider cannot be reached at {self.base_url}: {cause}", kind="connection")
        if isinstance(error, openai.APITimeoutError):
            return ProviderFailed(f"no reply within {self.timeout_s:g} s", kind="timeout")
        if isinstance(error, openai.APIConnectionError):
            return ProviderFailed(f"the connection ended before the reply did: {cause}", kind="cut")
        return ProviderFailed(f"the answer could not be read: {self.key.scrub(str(error))[:SHOWN]}", kind="garbage")
