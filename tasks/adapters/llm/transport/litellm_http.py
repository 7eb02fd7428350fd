"""Models that only litellm supports: Bedrock's signed requests, Vertex's tokens. An optional extra (docs/models.md).

litellm makes one attempt; retries, cost and error classes are decided here, as for the other transports. Requests and
replies use the chat dialect, without streams. litellm reads the keys of each provider from environment variables, so
this module handles none.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from tasks.adapters.llm.base import Reply
from tasks.adapters.llm.catalogue.models import ModelCard
from tasks.adapters.llm.dialects import chat
from tasks.adapters.llm.dialects.spoken import NotAReply, count
from tasks.adapters.llm.errors import ContentFiltered, ContextTooLong, ModelError, ProviderFailed, ProviderRefused
from tasks.adapters.llm.records.request import ModelRequest
from tasks.adapters.llm.secret import Secret
from tasks.adapters.llm.transport.openai_http import NEVER_SENT
from tasks.adapters.llm.transport.provider_errors import SHOWN, complaint, retry_after_s

EXTRA = "pip install 'rolling-swt-bench[litellm]'"
TIMEOUTS = ("Timeout", "ReadTimeout", "WriteTimeout", "APITimeoutError")
LOST = ("APIConnectionError", "ReadError", "RemoteProtocolError", "WriteError")
"""Exception names in a chain of causes after which the provider may have completed the reply."""
REFUSED = "HTTPStatusError"
"""In the chain if the provider itself sent the status. litellm also reports 500 for replies that it cannot parse."""
NO_CREDENTIALS = ("NoCredentialsError", "DefaultCredentialsError", "RefreshError", "TokenRetrievalError")
ADDRESS = {"bedrock": "aws_bedrock_runtime_endpoint"}
"""Parameter for the base URL, by the first part of the model id, if it is not `api_base`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiteLLMWire:
    """A provider that litellm supports. Thread-safe; the first call imports litellm."""

    base_url: str = ""
    """Base URL for litellm; empty means litellm's default for the provider."""
    key: Secret
    """Key to remove from replies and messages."""
    timeout_s: float = 600.0

    def close(self) -> None:
        """Do nothing: litellm manages its connections itself."""

    def send(self, request: ModelRequest, card: ModelCard) -> Reply:
        """Return the whole reply. `cost_usd` is litellm's estimate, for cards without a price."""
        litellm = _imported()
        began = time.monotonic()
        try:
            answer = litellm.completion(**self._asked(request, card))
        except Exception as error:  # the libraries below may raise anything; the caller is never at fault
            raise self._typed(litellm, error) from None
        seconds = time.monotonic() - began
        raw = self.key.scrub(json.dumps(answer.model_dump(), default=str))
        try:
            reply = chat.reply_of(json.loads(raw), raw=raw, seconds=seconds)
        except NotAReply as problem:
            raise ProviderFailed(f"litellm's answer is none: {problem}", kind="garbage") from None
        hidden = getattr(answer, "_hidden_params", None) or {}
        return replace(_with_cache(reply), cost_usd=hidden.get("response_cost"))

    def _asked(self, request: ModelRequest, card: ModelCard) -> dict[str, Any]:
        body = chat.request_body(request, limit_name=card.limit_name)
        address = {ADDRESS.get(request.model_id.partition("/")[0], "api_base"): self.base_url} if self.base_url else {}
        return {**body, **address, "timeout": self.timeout_s, "num_retries": 0, "max_retries": 0}

    def _typed(self, litellm: ModuleType, error: Exception) -> ModelError:
        """Return the error as one of our types."""
        said, causes = self.key.scrub(str(error)), {type(one).__name__ for one in _chain(error)}
        shown = said.partition("\n")[0][:SHOWN]
        if isinstance(error, ImportError) or causes & set(NO_CREDENTIALS):
            return complaint(401, {"message": shown}, self.key)
        if isinstance(error, litellm.ContextWindowExceededError):
            return ContextTooLong(shown, hint="shorten the prompt, or choose a model with a larger window")
        if isinstance(error, litellm.ContentPolicyViolationError):
            return ContentFiltered(shown, hint="the provider does not answer this content")
        if causes & set(NEVER_SENT):
            return ProviderFailed(f"the provider cannot be reached: {shown}", kind="connection")
        if causes & set(TIMEOUTS):
            return ProviderFailed(f"no reply within {self.timeout_s:g} s: {shown}", kind="timeout")
        status = getattr(error, "status_code", None)
        if causes & set(LOST) or not isinstance(status, int) or not 400 <= status < 600:
            return ProviderFailed(f"the reply was lost: {shown}", kind="cut")
        if status >= 500 and REFUSED not in causes:
            return ProviderFailed(f"the reply could not be read: {shown}", kind="garbage")
        headers = getattr(getattr(error, "response", None), "headers", None) or {}
        body = getattr(error, "body", None)
        code = body.get("code") if isinstance(body, dict) else None
        return complaint(status, {"code": code, "message": said}, self.key, retry_after_s(headers))


def _imported() -> ModuleType:
    """Import litellm with its network requests and terminal output disabled."""
    # Without this variable, litellm requests prices from GitHub, three times.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    try:
        import litellm
    except ImportError as error:
        raise ProviderRefused(f"litellm is not installed: {error}", hint=EXTRA) from None
    litellm.suppress_debug_info = True
    litellm.telemetry = False
    litellm.drop_params = False  # an unsupported parameter must be refused, as with the other transports
    module: ModuleType = litellm
    return module


def _with_cache(reply: Reply) -> Reply:
    """Add the tokens written to a cache, which the chat dialect of other providers does not count."""
    usage = (json.loads(reply.raw).get("usage") or {}) if reply.raw else {}
    written = count(usage.get("cache_creation_input_tokens"))
    return replace(reply, usage=replace(reply.usage, written=written))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
