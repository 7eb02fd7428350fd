"""Asks GitHub: bounded attempts, page sizes that adapt, limits respected, whole replies only."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
import tenacity

from tasks.adapters.clock import Clock, SystemClock
from tasks.adapters.github import replies
from tasks.adapters.github.failures import (
    GitHubFailed,
    Limited,
    PrimaryLimit,
    SecondaryLimit,
    Setback,
    TooMuch,
    Torn,
    Unauthorized,
)
from tasks.adapters.github.queries import document
from tasks.adapters.github.replies import GraphQLReply
from tasks.adapters.github.tokens import Token, TokenPool

API = "https://api.github.com/graphql"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRetries:
    """How often one question is asked."""

    attempts: int = 10
    """Replies that are torn, partial or too much, together."""
    limits: int = 40
    """Rests because of a limit: each is an hour at most."""
    first_wait_s: float = 1.0
    longest_wait_s: float = 60.0
    timeout_s: float = 60.0
    """For one request; GitHub itself gives up after ten seconds or so."""


@dataclass(slots=True)
class PageSize:
    """How many nodes to ask for: halved by a reply that was too much, doubled after ten good pages."""

    now: int = 25
    floor: int = 5
    ceiling: int = 50
    asked: int = 0
    """How many the last request asked for."""
    _good: int = 0

    def ask(self) -> int:
        self.asked = self.now
        return self.asked

    def shrink(self) -> None:
        self.now, self._good = max(self.floor, self.now // 2), 0

    def praise(self) -> None:
        self._good += 1
        if self._good >= 10:
            self.now, self._good = min(self.ceiling, self.now * 2), 0


class _Bearer(httpx.Auth):
    """Signs a request at the last moment; httpx shows the header as `[secure]`."""

    def __init__(self, token: Token) -> None:
        self._token = token

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers["Authorization"] = f"bearer {self._token.reveal()}"
        yield request


@dataclass(slots=True)
class GitHub:
    """The client. Threads may share it; each token has one request in flight."""

    pool: TokenPool
    http: httpx.Client
    url: str = API
    patience: RequestRetries = field(default_factory=RequestRetries)
    clock: Clock = field(default_factory=SystemClock)
    sent: Counter[str] = field(default_factory=Counter)
    """Requests by name of the query, failed ones among them."""
    points: int = 0

    def ask(self, name: str, variables: Mapping[str, Any], size: PageSize | None = None) -> Mapping[str, Any]:
        """The data of a query; with `size`, the variable `size` is filled in and adapts.

        `GitHubFailed` when attempts are used up, `GitHubGone` for what is not there, `StaleCursor`, `NoTokenAccepted`.
        """
        setbacks: Counter[bool] = Counter()
        retrying = tenacity.Retrying(
            sleep=self.clock.sleep,
            stop=lambda _: setbacks[True] >= self.patience.limits or setbacks[False] >= self.patience.attempts,
            wait=self._wait,
            retry=tenacity.retry_if_exception_type(Setback),
            reraise=True,
        )
        try:
            return retrying(self._attempt, name, variables, size, setbacks)
        except Setback as setback:
            what = " ".join(str(variables.get(key, "")) for key in ("owner", "name", "number")).strip()
            message = f"{name} of {what} failed {sum(setbacks.values())} times, lastly: {setback}"
            raise GitHubFailed(message, hint="run the same command again: it goes on from here") from None

    def _attempt(
        self, name: str, variables: Mapping[str, Any], size: PageSize | None, setbacks: Counter[bool]
    ) -> Mapping[str, Any]:
        try:
            reply = self._once(name, {**variables, "size": size.ask()} if size else variables)
        except Setback as setback:
            setbacks[isinstance(setback, Limited)] += 1
            if size and isinstance(setback, TooMuch):
                size.shrink()
            _log.debug("%s: %s", name, setback)
            raise
        if size:
            size.praise()
        return reply.data

    def _once(self, name: str, variables: Mapping[str, Any]) -> GraphQLReply:
        """One request on one token."""
        with self.pool.lease() as token:
            self.sent[name] += 1
            try:
                reply = self._post({"query": document(name), "variables": dict(variables)}, token)
            except PrimaryLimit as limit:
                rest = self.pool.exhausted(token, limit.reset_at, limit.told_at)
                _log.info("token %s rests %.0f s: points used up", token.name, rest)
                raise
            except SecondaryLimit as limit:
                rest = self.pool.hurried(token, limit.retry_after_s)
                _log.info("token %s rests %.0f s: too fast", token.name, rest)
                raise
            except Unauthorized:
                self.pool.refuse(token)
                raise
            self.pool.spent(token, reply.remaining)
        self.points += reply.cost or 0
        return reply

    def _post(self, payload: Mapping[str, Any], token: Token) -> GraphQLReply:
        try:
            response = self.http.post(self.url, json=payload, auth=_Bearer(token), timeout=self.patience.timeout_s)
        except httpx.TimeoutException:
            raise TooMuch("timeout") from None
        except httpx.HTTPError as error:
            raise Torn(type(error).__name__) from None
        return replies.read(response.status_code, response.headers, response.content)

    def _wait(self, state: tenacity.RetryCallState) -> float:
        """Seconds before the next attempt. After a limit it is the token that waits, or another one goes on."""
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, Limited | Unauthorized):
            return 0.0
        doubled = self.patience.first_wait_s * 2 ** (state.attempt_number - 1)
        return float(min(doubled, self.patience.longest_wait_s))
