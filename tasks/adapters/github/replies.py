"""One HTTP reply of GitHub's GraphQL interface → its data, or the setback that it is.

Facts: https://docs.github.com/en/graphql/overview/rate-limits-and-query-limits-for-the-graphql-api
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from tasks.adapters.github.failures import (
    GitHubGone,
    PartialReply,
    PrimaryLimit,
    SecondaryLimit,
    StaleCursor,
    TooMuch,
    Torn,
    Unauthorized,
)

_GONE_STATUS = (404, 410, 451)
_GONE_TYPES = ("NOT_FOUND", "FORBIDDEN", "INSUFFICIENT_SCOPES")
_SAID = 200
"""Characters of GitHub's own words that go into a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphQLReply:
    """A whole reply."""

    data: Mapping[str, Any]
    """Without `rateLimit`."""
    cost: int | None
    """Points; null where the query did not ask."""
    remaining: int | None
    """Points left on the token."""


def read(status: int, headers: Mapping[str, str], body: bytes) -> GraphQLReply:
    """The data of a good reply. Raises a `Setback`, `GitHubGone` or `StaleCursor` for any other.

    `headers` are looked up in small letters.
    """
    if status != 200:
        _raise_status(status, headers, body)
    payload = _payload(body)
    errors = payload.get("errors")
    if errors:
        _raise_errors(errors, headers)
    data = payload.get("data")
    if not isinstance(data, dict):
        raise PartialReply("a reply without data")
    if data.get("repository", data) is None:
        raise PartialReply("a reply without a repository, and without an error that says why")
    limit = data.pop("rateLimit", None) or {}
    return GraphQLReply(
        data=data, cost=limit.get("cost"), remaining=limit.get("remaining", _number(headers, "remaining"))
    )


def _payload(body: bytes) -> dict[str, Any]:
    try:
        payload = json.loads(body)
    except ValueError:
        raise Torn(f"{len(body)} bytes that are no JSON") from None
    if not isinstance(payload, dict):
        raise Torn("JSON that is no object")
    return payload


def _raise_status(status: int, headers: Mapping[str, str], body: bytes) -> None:
    said = body[:_SAID].decode("utf-8", "replace")
    if status in (502, 504):
        raise TooMuch(f"HTTP {status}")
    if status >= 500:
        raise Torn(f"HTTP {status}")
    if status == 401:
        raise Unauthorized("HTTP 401")
    if status in (403, 429):
        _raise_limit(status, headers, said)
    if status in _GONE_STATUS:
        raise GitHubGone(f"HTTP {status}: {said}", hint="take the repository off the list, or see whether it moved")
    raise GitHubGone(f"HTTP {status}: {said}", hint="GitHub does not accept the question; see docs/errors.md")


def _raise_limit(status: int, headers: Mapping[str, str], said: str) -> None:
    """A limit, where the reply speaks of one."""
    if _number(headers, "remaining") == 0:
        raise PrimaryLimit(f"HTTP {status}", _reset(headers), _date(headers.get("date")))
    if status == 429 or "retry-after" in headers or "rate limit" in said.lower():
        raise SecondaryLimit(f"HTTP {status}", _retry_after(headers))
    raise GitHubGone(f"HTTP {status}: {said}", hint="the token may not read this repository")


def _raise_errors(errors: list[Mapping[str, Any]], headers: Mapping[str, str]) -> None:
    types = {str(error.get("type") or (error.get("extensions") or {}).get("code") or "") for error in errors}
    said = "; ".join(str(error.get("message", "")) for error in errors)[:_SAID]
    if "secondary rate limit" in said.lower():
        raise SecondaryLimit("HTTP 200", _retry_after(headers))
    if any(kind.startswith("RATE_LIMIT") for kind in types):
        raise PrimaryLimit("HTTP 200", _reset(headers), _date(headers.get("date")))
    if "RESOURCE_LIMITS_EXCEEDED" in types or "timeout" in said.lower():
        raise TooMuch(said)
    if "INVALID_CURSOR_ARGUMENTS" in types:
        raise StaleCursor(said)
    if types <= set(_GONE_TYPES):
        raise GitHubGone(f"{', '.join(sorted(types))}: {said}", hint="the repository may have moved, or the number")
    raise PartialReply(said)


def _number(headers: Mapping[str, str], name: str) -> int | None:
    text = headers.get(f"x-ratelimit-{name}", "")
    return int(text) if text.isdigit() else None


def _reset(headers: Mapping[str, str]) -> datetime | None:
    seconds = _number(headers, "reset")
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds; the header may also name a moment, which is one of GitHub's clock."""
    text = headers.get("retry-after", "")
    if text.isdigit():
        return float(text)
    until, now = _date(text), _date(headers.get("date"))
    return max(0.0, (until - now).total_seconds()) if until and now else None


def _date(text: str | None) -> datetime | None:
    """A date as HTTP writes it; null where it is none."""
    try:
        when = parsedate_to_datetime(text) if text else None
    except ValueError:
        return None
    return when if when is None or when.tzinfo else when.replace(tzinfo=UTC)
