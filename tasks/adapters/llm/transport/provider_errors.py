"""Maps provider errors to ours, which define whether to retry."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tasks.adapters.llm.errors import (
    AccountRefused,
    ContentFiltered,
    ContextTooLong,
    ModelError,
    ProviderFailed,
    ProviderRefused,
)
from tasks.adapters.llm.secret import Secret

TOO_LONG = re.compile(
    r"context.{0,20}(length|window)|maximum context|prompt is too long|too many (input )?tokens", re.I
)
FILTERED = ("content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation")
MODERATED = re.compile(r"moderation|flagged", re.I)
"""OpenRouter sends 403 for a prompt that moderation blocks; other providers send 403 for a bad key
(https://openrouter.ai/docs/api-reference/errors)."""
NO_ACCOUNT = (401, 402, 403)
NO_CREDIT = ("insufficient_quota", "billing_not_active", "billing_hard_limit_reached")
EMPTY = re.compile(
    r"credit balance is too low|insufficient (balance|credits?|funds|quota)|api key (not valid|expired)", re.I
)
"""Texts that some providers send with status 400: Anthropic for an account without credit, Google for a key. Since
providers also repeat the caller's text with status 400, a match affects only the current call."""
ACCOUNT_HINT = "look at the account's credit, and at the key's variable, named in data/models.toml; then run it again"
SHOWN = 300
"""Maximum number of characters of a provider's text in a message."""


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
"""HTTP status for each error kind, for errors without a status, as in a stream
(https://docs.anthropic.com/en/api/errors, https://platform.openai.com/docs/api-reference/responses-streaming)."""


def complaint(status: int, said: Mapping[str, Any], key: Secret, retry_after: float | None = None) -> ModelError:
    """Return the error for a status and a body with `code` or `type`, and `message`.

    Only a status or a code is certain enough to stop all calls to a provider. A 403 without a code may come from a
    firewall that blocks the text of one request.
    """
    code, text = str(said.get("code") or said.get("type") or ""), str(said.get("message") or "")
    message = f"HTTP {status} {key.scrub(code)[:SHOWN]}: {key.scrub(text)[:SHOWN]}".strip()
    if code in NO_CREDIT:
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
        return AccountRefused(message, hint=ACCOUNT_HINT, certain=status != 403 or bool(code))
    if status == 400 and EMPTY.search(text):
        return AccountRefused(message, hint=ACCOUNT_HINT, certain=False)
    return ProviderRefused(message, hint="look at the model's id and parameters in data/models.toml")


def status_of(said: Mapping[str, Any]) -> int:
    """Return the HTTP status of an error that came with 200: its own code, the status of its kind, else 500."""
    code = said.get("code")
    if isinstance(code, int) and 400 <= code < 600:
        return code
    return KINDS.get(str(code or said.get("type")), 500)


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of `Retry-After`; None if it is missing or a date."""
    try:
        return max(0.0, float(headers.get("retry-after", "")))
    except ValueError:
        return None
