"""One attempt at one call: the openai SDK's transport over a base URL, and what its errors mean."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

from tasks.adapters.llm.base import Reply
from tasks.adapters.llm.dialects.all import BY_NAME, PATHS
from tasks.adapters.llm.dialects.spoken import NotAReply
from tasks.adapters.llm.dialects.streamed import ASKED, SaidError, Unfinished, assembled
from tasks.adapters.llm.errors import (
    AccountRefused,
    ContentFiltered,
    ContextTooLong,
    ModelError,
    ProviderFailed,
    ProviderRefused,
)
from tasks.adapters.llm.listening import Patience, Speechless, TooLarge, events, whole
from tasks.adapters.llm.models import ModelCard
from tasks.adapters.llm.request import ModelRequest
from tasks.adapters.llm.secret import Secret

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

TOO_LONG = re.compile(
    r"context.{0,20}(length|window)|maximum context|prompt is too long|too many (input )?tokens", re.I
)
FILTERED = ("content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation")
MODERATED = re.compile(r"moderation|flagged", re.I)
"""OpenRouter says 403 to a prompt that it does not pass on, as others do to a key
(https://openrouter.ai/docs/api-reference/errors)."""
NO_ACCOUNT = (401, 402, 403)
NO_CREDIT = ("insufficient_quota", "billing_not_active", "billing_hard_limit_reached")
EMPTY = re.compile(
    r"credit balance is too low|insufficient (balance|credits?|funds|quota)|api key (not valid|expired)", re.I
)
"""What some providers say with status 400: Anthropic of an account without credit, Google of a key."""
ACCOUNT_HINT = "look at the account's credit, and at the key's variable, named in data/models.toml; then run it again"
SHOWN = 300
"""Characters of a provider's complaint that a message holds."""


KINDS: Mapping[str, int] = {
    "authentication_error": 401,
    "billing_error": 402,
    "invalid_prompt": 400,
    "invalid_request_error": 400,
    "not_found_error": 404,
    "overloaded_error": 529,
    "permission_error": 403,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "request_too_large": 413,
}
"""What providers call errors where no status says it, as in a stream
(https://docs.anthropic.com/en/api/errors, https://platform.openai.com/docs/api-reference/responses-streaming)."""


class Wire(Protocol):
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
            problem = self._complaint(_status(error.said), error.said, None)
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
        """What a provider said of one call of a batch instead of a reply."""
        return self._complaint(status, said, None)

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
            raise self._complaint(_status(body["error"]), body["error"], None)
        try:
            reply: Reply = BY_NAME[dialect].reply_of(body, raw=raw, seconds=seconds)
        except NotAReply as problem:
            raise self._no_reply(dialect, problem) from None
        return reply

    def _typed(self, error: openai.APIError) -> ModelError:
        """The same as one of ours, without the SDK's request (its headers hold the key)."""
        import openai

        if isinstance(error, openai.APIStatusError):
            said = error.body if isinstance(error.body, dict) else {"message": error.response.text[:SHOWN]}
            return self._complaint(error.status_code, said, _retry_after(error.response.headers))
        cause = type(error.__cause__).__name__
        if cause in NEVER_SENT:
            return ProviderFailed(f"the provider cannot be reached at {self.base_url}: {cause}", kind="connection")
        if isinstance(error, openai.APITimeoutError):
            return ProviderFailed(f"no reply within {self.timeout_s:g} s", kind="timeout")
        if isinstance(error, openai.APIConnectionError):
            return ProviderFailed(f"the connection ended before the reply did: {cause}", kind="cut")
        return ProviderFailed(f"the answer could not be read: {self.key.scrub(str(error))[:SHOWN]}", kind="garbage")

    def _complaint(self, status: int, said: Mapping[str, Any], retry_after: float | None) -> ModelError:
        code, text = str(said.get("code") or said.get("type") or ""), str(said.get("message") or "")
        message = f"HTTP {status} {self.key.scrub(code)[:SHOWN]}: {self.key.scrub(text)[:SHOWN]}".strip()
        if code in NO_CREDIT or (status == 400 and EMPTY.search(text)):
            return AccountRefused(message, hint=ACCOUNT_HINT)
        if status == 429:
            return ProviderFailed(message, kind="rate-limit", retry_after_s=retry_after)
        if status in (408, 409, 425) or status >= 500:
            return ProviderFailed(message, kind="server", retry_after_s=retry_after)
        if code == "context_length_exceeded" or TOO_LONG.search(text):
            return ContextTooLong(message, hint="shorten the prompt, or choose a model with a larger window")
        if code in FILTERED or (status == 403 and MODERATED.search(text)):
            return ContentFiltered(message, hint="the provider does not answer this content")
        if status in NO_ACCOUNT:
            return AccountRefused(message, hint=ACCOUNT_HINT)
        return ProviderRefused(message, hint="look at the model's id and parameters in data/models.toml")


def _status(said: Mapping[str, Any]) -> int:
    """The HTTP status that an error would have had, where it came with 200: its own code, or what its kind stands for,
    else 500."""
    code = said.get("code")
    if isinstance(code, int) and 400 <= code < 600:
        return code
    return KINDS.get(str(code or said.get("type")), 500)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds of `Retry-After`; null where it is missing or a date."""
    try:
        return max(0.0, float(headers.get("retry-after", "")))
    except ValueError:
        return None
