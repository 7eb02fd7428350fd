"""Sends one attempt of a call through the openai SDK, and maps its errors."""

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
"""Version of the messages dialect (https://docs.anthropic.com/en/api/versioning)."""
WHOLE = {"X-Stainless-Raw-Response": "true"}
"""Header that makes the SDK return the raw reply instead of one of its types."""
AS_IT_COMES = {"X-Stainless-Raw-Response": "stream"}
"""The same, but while the reply is still arriving."""
EVENT_STREAM = "text/event-stream"
NEVER_SENT = ("ConnectError", "ConnectTimeout", "PoolTimeout")
"""Causes of a lost connection after which the provider has received nothing."""

ACCOUNT_NAMES = ("OpenAI-Organization", "OpenAI-Project")
"""Headers that the SDK would fill from its own environment variables, for any provider."""


class Transport(Protocol):
    """Sends one attempt. Raises `ModelError`s; a `ProviderFailed` may be retried."""

    def send(self, request: ModelRequest, card: ModelCard) -> Reply: ...

    def close(self) -> None: ...


@dataclass(slots=True)
class OpenAIWire:
    """A provider of any of the three dialects. Thread-safe; the first call creates the client.

    The openai SDK carries all dialects: one transport, one set of errors, no second SDK to load.
    """

    base_url: str
    key: Secret
    timeout_s: float = 600.0
    _lock: Lock = field(default_factory=Lock, init=False, repr=False)
    _made: openai.OpenAI | None = field(default=None, init=False, repr=False)

    def close(self) -> None:
        """Close the connections kept for the next call."""
        with self._lock:
            if self._made is not None:
                self._made.close()
            self._made = None

    def send(self, request: ModelRequest, card: ModelCard) -> Reply:
        """Return the whole reply, with the seconds until its last byte; the caller fills in `cost_usd`."""
        import httpx2
        import openai

        body = BY_NAME[request.dialect].request_body(request, limit_name=card.limit_name)
        if card.streamed(request):
            body |= ASKED[request.dialect]
        headers = {**AS_IT_COMES, **self._account(request.dialect), **json.loads(request.headers)}
        began = time.monotonic()
        try:
            # The SDK's typed methods have no `messages`, and add nothing that is needed here.
            path = PATHS[request.dialect]
            # Encoded here: the SDK's encoder fails on lone surrogates, which models do emit.
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
        """Return the whole response as JSON text; a provider may answer a stream request without a stream."""
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
        """Return the error of a response that broke off after it had begun."""
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
        """Return the response to any request but a call; an upload is a file for a batch. Raises `ModelError`."""
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
        """Return a reply of a batch, or its error."""
        try:
            return self._read(raw, dialect, 0.0)
        except ModelError as problem:
            return problem

    def complaint(self, status: int, said: Mapping[str, Any]) -> ModelError:
        """Return the error that a provider sent instead of a reply."""
        return complaint(status, said, self.key)

    def _account(self, dialect: str) -> dict[str, Any]:
        """Return the account headers; the SDK sends its own for the OpenAI dialects."""
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
        """Return the reply in a response with status 200. Some providers send errors with that status."""
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
        """Return the error as one of our types, without the SDK's request, whose headers contain the key."""
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
