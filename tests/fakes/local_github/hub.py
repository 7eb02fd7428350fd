"""One HTTP request → one HTTP answer, as GitHub gives it: signatures, points, faults, and the answer itself."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from email.utils import format_datetime
from enum import StrEnum
from typing import Any

from graphql import GraphQLSyntaxError

from tasks.adapters.clock import Clock, SystemClock
from tests.fakes.local_github.cost import points
from tests.fakes.local_github.faults import Dice, GitHubFault
from tests.fakes.local_github.resolvers import ParsedQuery, answer, iso, question, told
from tests.fakes.local_github.world import World

BUDGET = 5000
_HOUR = timedelta(hours=1)
_TOO_FAST = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
_TIMEOUT = "Something went wrong while executing your query."


class Delivery(StrEnum):
    """How an answer travels."""

    WHOLE = "whole"
    CUT = "cut"
    """The connection ends after half of it."""
    NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
    """What goes over the wire."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    delivery: Delivery = Delivery.WHOLE


@dataclass(slots=True)
class _PointAccount:
    """Points of one token in one hour."""

    remaining: int
    resets: datetime


@dataclass(slots=True)
class Hub:
    """The server without its socket."""

    world: World
    dice: Dice = field(default_factory=Dice)
    clock: Clock = field(default_factory=SystemClock)
    budget: int = BUDGET
    """Points per token and hour."""
    hang_s: float = 15.0
    """How long a socket stays silent before it closes, where no answer comes."""
    refused: Set[str] = frozenset()
    """Tokens that are not accepted."""
    asked: Counter[str] = field(default_factory=Counter)
    """Requests by name of the operation, whatever came of them."""
    faults: Counter[str] = field(default_factory=Counter)
    """How often each fault was given."""
    _accounts: dict[str, _PointAccount] = field(default_factory=dict)

    def handle(self, headers: Mapping[str, str], body: bytes) -> HttpAnswer:
        """`headers` are looked up in small letters. `x-fault: 502` asks for a fault in this one answer."""
        given = self._handled(headers, body)
        return replace(given, headers={**given.headers, "date": format_datetime(self.clock.now(), usegmt=True)})

    def _handled(self, headers: Mapping[str, str], body: bytes) -> HttpAnswer:
        secret = headers.get("authorization", "").partition(" ")[2]
        if not secret or secret in self.refused:
            return _said(401, "Bad credentials")
        try:
            payload = json.loads(body)
            asked = question(payload["query"])
        except (ValueError, KeyError, TypeError, GraphQLSyntaxError):
            return _said(400, "Problems parsing JSON, or the query in it")
        self.asked[_operation(asked)] += 1
        wanted = headers.get("x-fault")
        with self.world.lock:
            fault = GitHubFault(wanted) if wanted else self.dice.draw()
        if fault:
            self.faults[fault] += 1
        return self._answer(asked, payload.get("variables") or {}, self._account(secret), fault)

    def _answer(
        self, asked: ParsedQuery, variables: Mapping[str, Any], account: _PointAccount, fault: GitHubFault | None
    ) -> HttpAnswer:
        if blocked := self._blocked(variables):
            return blocked
        if refused := self._refused(account, fault):
            return refused
        if asked.errors:
            return self._json(account, {"errors": [told(error) for error in asked.errors]})
        cost = points(asked.document, variables)
        if cost > account.remaining:
            return self._used_up(account)
        account.remaining -= cost
        return self._good(asked, variables, account, cost, fault)

    def _good(
        self,
        asked: ParsedQuery,
        variables: Mapping[str, Any],
        account: _PointAccount,
        cost: int,
        fault: GitHubFault | None,
    ) -> HttpAnswer:
        """The true answer, or what the network or an overloaded server makes of it."""
        payload = dict(answer(self.world, asked, variables))
        if "rateLimit" in (payload["data"] or {}):
            payload["data"] = {**payload["data"], "rateLimit": self._limit(account, cost)}
        if fault is not None:
            payload = _damaged(payload, fault)
        whole = self._json(account, payload)
        if fault is GitHubFault.CUT:
            return HttpAnswer(headers=whole.headers, body=whole.body, delivery=Delivery.CUT)
        if fault is GitHubFault.TORN:
            return HttpAnswer(headers=whole.headers, body=whole.body[: len(whole.body) // 2])
        if fault is GitHubFault.MOVING:
            self._move(variables)
        return whole

    def _blocked(self, variables: Mapping[str, Any]) -> HttpAnswer | None:
        """A repository that the law took down; one that is just gone is an error in the answer."""
        name = f"{variables.get('owner')}/{variables.get('name')}"
        gone = self.world.vanished.get(name) == 451
        return _said(451, "Repository access blocked") if gone else None

    def _refused(self, account: _PointAccount, fault: GitHubFault | None) -> HttpAnswer | None:
        """The faults that come before the query is looked at."""
        if fault is GitHubFault.HANG:
            return HttpAnswer(delivery=Delivery.NEVER)
        if fault in (GitHubFault.BAD_GATEWAY, GitHubFault.GATEWAY_TIMEOUT, GitHubFault.SERVER_ERROR):
            return HttpAnswer(status=int(fault), headers={"content-type": "text/html"}, body=b"<html>Unicorn!</html>")
        if fault is GitHubFault.PRIMARY:
            account.remaining = 0
            return self._used_up(account)
        if fault is GitHubFault.PROXY:
            return HttpAnswer(headers={"content-type": "text/html"}, body=b"<html>Sign in to the network</html>")
        if fault is GitHubFault.RESOURCES:
            error = {"type": "RESOURCE_LIMITS_EXCEEDED", "message": "Resource limits for this query exceeded."}
            return self._json(account, {"data": None, "errors": [error]})
        if fault is GitHubFault.SECONDARY:
            return self._json(account, {"data": None, "errors": [{"message": _TOO_FAST}]})
        if fault is GitHubFault.SECONDARY_403:
            return _said(403, _TOO_FAST)
        if fault is GitHubFault.SECONDARY_429:
            return _said(429, _TOO_FAST, {"retry-after": "30"})
        return None

    def _limit(self, account: _PointAccount, cost: int) -> dict[str, Any]:
        used = self.budget - account.remaining
        facts = {"cost": cost, "limit": self.budget, "remaining": account.remaining, "used": used}
        return {**facts, "resetAt": iso(account.resets)}

    def _used_up(self, account: _PointAccount) -> HttpAnswer:
        error = {"type": "RATE_LIMITED", "message": "API rate limit exceeded for this user."}
        return self._json(account, {"errors": [error]})

    def _move(self, variables: Mapping[str, Any]) -> None:
        held = self.world.repositories.get(f"{variables.get('owner')}/{variables.get('name')}")
        if held:
            self.world.touch_something(held, self.clock.now(), self.dice.random)

    def _account(self, secret: str) -> _PointAccount:
        """Points are given anew each hour. Tokens are known by their hash."""
        key = hashlib.sha256(secret.encode()).hexdigest()
        now = self.clock.now()
        with self.world.lock:
            if key not in self._accounts or self._accounts[key].resets <= now:
                self._accounts[key] = _PointAccount(self.budget, now + _HOUR)
            return self._accounts[key]

    def _json(self, account: _PointAccount, payload: Mapping[str, Any]) -> HttpAnswer:
        headers = {
            "content-type": "application/json; charset=utf-8",
            "x-ratelimit-limit": str(self.budget),
            "x-ratelimit-remaining": str(account.remaining),
            "x-ratelimit-reset": str(int(account.resets.timestamp()) + 1),
        }
        return HttpAnswer(headers=headers, body=json.dumps(payload).encode())


def _said(status: int, message: str, headers: Mapping[str, str] | None = None) -> HttpAnswer:
    made = {"content-type": "application/json; charset=utf-8", **(headers or {})}
    return HttpAnswer(status=status, headers=made, body=json.dumps({"message": message}).encode())


def _operation(asked: ParsedQuery) -> str:
    """The name that the query gives itself."""
    names = (getattr(getattr(node, "name", None), "value", "") for node in asked.document.definitions)
    return next(iter(names), "") or "anonymous"


def _damaged(payload: dict[str, Any], fault: GitHubFault) -> dict[str, Any]:
    """The answer as this fault leaves it; most leave it alone."""
    if fault is GitHubFault.PARTIAL:
        return _with_a_hole(payload)
    data = dict(payload["data"] or {})
    if fault is GitHubFault.NO_REPOSITORY:
        data["repository"] = None
    if fault in _OF_LISTS and data.get("repository"):
        data["repository"] = {
            name: _short_of(value, fault) if name in ("pullRequests", "issues") else value
            for name, value in data["repository"].items()
        }
    return {**payload, "data": data}


_OF_LISTS = (GitHubFault.NULL_NODE, GitHubFault.NULL_LIST, GitHubFault.SHORT, GitHubFault.CUT_LIST)


def _short_of(connection: dict[str, Any] | None, fault: GitHubFault) -> dict[str, Any] | None:
    """A list with something missing; a list that only counts is left as it is."""
    if not connection or not connection.get("nodes") or "pageInfo" not in connection:
        return connection
    nodes, info = list(connection["nodes"]), dict(connection["pageInfo"])
    if fault is GitHubFault.NULL_LIST:
        return None
    if fault is GitHubFault.NULL_NODE:
        nodes[len(nodes) // 2] = None
    if fault is GitHubFault.SHORT:
        del nodes[-1]
    if fault is GitHubFault.CUT_LIST:
        nodes, info = nodes[: len(nodes) // 2], {**info, "hasNextPage": False}
    return {**connection, "nodes": nodes, "pageInfo": info}


def _with_a_hole(payload: dict[str, Any]) -> dict[str, Any]:
    """The last thing in the answer is missing, with an error that says so."""
    data = payload["data"] or {}
    repository = dict(data.get("repository") or {})
    if repository:
        repository[sorted(repository)[-1]] = None
    return {"data": {**data, "repository": repository}, "errors": [{"message": _TIMEOUT}]}
