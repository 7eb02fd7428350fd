"""The client against replies that are written down: what it waits for, what it asks again, what it gives up."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import pytest

from tasks.adapters.github.client import GitHub, PageSize, RequestRetries
from tasks.adapters.github.failures import GitHubFailed, GitHubGone, NoTokenAccepted, StaleCursor
from tasks.adapters.github.tokens import Token, TokenPool, tokens_from

NOW = datetime(2026, 11, 1, tzinfo=UTC)
ASKED = {"owner": "o", "name": "r"}
GOOD = {"data": {"repository": {"id": "R"}, "rateLimit": {"cost": 1, "remaining": 90}}}
TOO_FAST = {"message": "You have exceeded a secondary rate limit."}

Script = Iterable[httpx.Response | Exception]


@dataclass(slots=True)
class Stopwatch:
    moment: datetime = NOW
    slept: list[float] = field(default_factory=list)

    def now(self) -> datetime:
        return self.moment

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.moment += timedelta(seconds=seconds)


@dataclass(slots=True)
class Theatre:
    """A client, and the requests it sent."""

    client: GitHub
    clock: Stopwatch
    requests: list[httpx.Request]

    @property
    def waited(self) -> float:
        return (self.clock.moment - NOW).total_seconds()

    def bearers(self) -> list[str]:
        return [request.headers["authorization"] for request in self.requests]


def playing(script: Script, *, secrets: str = "alpha", patience: RequestRetries | None = None) -> Theatre:
    """A client that gets these replies in turn."""
    replies = iter(script)
    requests: list[httpx.Request] = []
    clock = Stopwatch()

    def handle(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        reply = next(replies)
        if isinstance(reply, Exception):
            raise reply
        return reply

    http = httpx.Client(transport=httpx.MockTransport(handle))
    pool = TokenPool(tokens_from(secrets), clock)
    return Theatre(GitHub(pool, http, "http://github.test", patience or RequestRetries(), clock), clock, requests)


def good() -> httpx.Response:
    return httpx.Response(200, json=GOOD)


def errors(*found: dict[str, Any], status: int = 200, data: Any = None, **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(status, json={"data": data, "errors": list(found)}, headers=named)


def test_a_reply_comes_without_its_rate_limit() -> None:
    theatre = playing([good()])
    assert theatre.client.ask("repository", ASKED) == {"repository": {"id": "R"}}
    assert theatre.client.points == 1
    assert json.loads(theatre.requests[0].content)["variables"] == ASKED


BAD: dict[str, Callable[[], httpx.Response | Exception]] = {
    "502": lambda: httpx.Response(502, text="<html>"),
    "504": lambda: httpx.Response(504),
    "500": lambda: httpx.Response(500),
    "timeout": lambda: httpx.ReadTimeout("slow"),
    "broken connection": lambda: httpx.RemoteProtocolError("cut"),
    "half a body": lambda: httpx.Response(200, text='{"data": {"repos'),
    "no object": lambda: httpx.Response(200, text="[]"),
    "partial": lambda: errors({"message": "Something went wrong"}, data={"repository": None}),
    "no data": lambda: httpx.Response(200, json={"data": None}),
    "no repository": lambda: httpx.Response(200, json={"data": {"repository": None}}),
    "a page of a proxy": lambda: httpx.Response(200, text="<html>Sign in to the Wi-Fi</html>"),
    "resources": lambda: errors({"type": "RESOURCE_LIMITS_EXCEEDED", "message": "too much"}),
}


@pytest.mark.parametrize("name", sorted(BAD))
def test_a_bad_reply_is_asked_for_again(name: str) -> None:
    theatre = playing([BAD[name](), good()])
    assert theatre.client.ask("repository", ASKED)["repository"]["id"] == "R"
    assert theatre.waited == 1


@pytest.mark.parametrize("name", sorted(BAD))
def test_attempts_are_bounded_and_waits_double(name: str) -> None:
    theatre = playing([BAD[name]() for _ in range(9)], patience=RequestRetries(attempts=5))
    with pytest.raises(GitHubFailed, match="failed 5 times"):
        theatre.client.ask("repository", ASKED)
    assert len(theatre.requests) == 5
    assert theatre.clock.slept == [1, 2, 4, 8]


@pytest.mark.parametrize("name", ["502", "504", "timeout", "resources"])
def test_what_was_too_much_halves_the_page_down_to_its_floor(name: str) -> None:
    size = PageSize(now=25)
    theatre = playing([BAD[name](), BAD[name](), BAD[name](), good()])
    theatre.client.ask("repository", ASKED, size)
    assert [json.loads(request.content)["variables"]["size"] for request in theatre.requests] == [25, 12, 6, 5]


def test_ten_good_pages_grow_it() -> None:
    size = PageSize(now=25, ceiling=50)
    theatre = playing([good() for _ in range(30)])
    for _ in range(30):
        theatre.client.ask("repository", ASKED, size)
    sizes = [json.loads(request.content)["variables"]["size"] for request in theatre.requests]
    assert sizes == [25] * 10 + [50] * 20


@pytest.mark.parametrize("status", [200, 403, 429])
def test_used_up_points_are_waited_for(status: int) -> None:
    reset = str(int((NOW + timedelta(minutes=20)).timestamp()))
    limit = {"type": "RATE_LIMITED", "message": "API rate limit exceeded"}
    script = [errors(limit, status=status, x_ratelimit_remaining="0", x_ratelimit_reset=reset), good()]
    theatre = playing(script)
    theatre.client.ask("repository", ASKED)
    assert 1201 <= theatre.waited <= 1206, "until the reset, and a little more that differs"


@pytest.mark.parametrize("status", [200, 403, 429])
def test_being_too_fast_waits_as_long_as_told(status: int) -> None:
    body = {"errors": [TOO_FAST]} if status == 200 else TOO_FAST
    theatre = playing([httpx.Response(status, json=body, headers={"retry-after": "37"}), good()])
    theatre.client.ask("repository", ASKED)
    assert 37 <= theatre.waited <= 42


@pytest.mark.parametrize("status", [200, 403, 429])
def test_being_too_fast_again_and_again_waits_longer_up_to_a_cap(status: int) -> None:
    body = {"errors": [TOO_FAST]} if status == 200 else TOO_FAST
    theatre = playing([*(httpx.Response(status, json=body) for _ in range(6)), good()])
    theatre.client.ask("repository", ASKED)
    naps = [nap for nap in theatre.clock.slept if nap > 0]
    assert [int(nap // 60) for nap in naps] == [1, 2, 4, 8, 15, 15]


def test_limits_are_bounded_too() -> None:
    theatre = playing([httpx.Response(429) for _ in range(9)], patience=RequestRetries(limits=3))
    with pytest.raises(GitHubFailed, match="failed 3 times"):
        theatre.client.ask("repository", ASKED)


@pytest.mark.parametrize("status", [404, 410, 451])
def test_what_is_gone_is_asked_for_once(status: int) -> None:
    theatre = playing([httpx.Response(status, text="not here")])
    with pytest.raises(GitHubGone, match=f"HTTP {status}: not here"):
        theatre.client.ask("repository", ASKED)


@pytest.mark.parametrize("kind", ["NOT_FOUND", "FORBIDDEN"])
def test_so_is_what_an_answer_calls_gone(kind: str) -> None:
    theatre = playing([errors({"type": kind, "message": "Could not resolve"}, data={"repository": None})])
    with pytest.raises(GitHubGone, match=kind):
        theatre.client.ask("repository", ASKED)


@pytest.mark.parametrize("status", [400, 403])
def test_a_refusal_that_is_no_limit_is_final(status: int) -> None:
    theatre = playing([httpx.Response(status, json={"message": "Resource not accessible"})])
    with pytest.raises(GitHubGone, match=f"HTTP {status}"):
        theatre.client.ask("repository", ASKED)


def test_a_forgotten_cursor_is_told_apart() -> None:
    theatre = playing([errors({"type": "INVALID_CURSOR_ARGUMENTS", "message": "no valid cursor"})])
    with pytest.raises(StaleCursor):
        theatre.client.ask("repository", ASKED)


def test_the_token_with_most_points_left_goes_first() -> None:
    def left(points: int) -> httpx.Response:
        return httpx.Response(200, json={"data": {"repository": {}, "rateLimit": {"cost": 1, "remaining": points}}})

    theatre = playing([left(100), left(300), left(99), left(98)], secrets="alpha,beta")
    for _ in range(4):
        theatre.client.ask("repository", ASKED)
    assert theatre.bearers() == ["bearer alpha", "bearer beta", "bearer beta", "bearer alpha"]


def test_another_token_goes_on_where_one_rests() -> None:
    theatre = playing([httpx.Response(429), good(), good()], secrets="alpha beta")
    theatre.client.ask("repository", ASKED)
    theatre.client.ask("repository", ASKED)
    assert theatre.bearers() == ["bearer alpha", "bearer beta", "bearer beta"]
    assert theatre.waited == 0


def test_a_refused_token_is_not_used_again() -> None:
    theatre = playing([httpx.Response(401), good(), good()], secrets="alpha beta")
    theatre.client.ask("repository", ASKED)
    theatre.client.ask("repository", ASKED)
    assert theatre.bearers()[1:] == ["bearer beta", "bearer beta"]


def test_no_token_left_is_an_error_that_names_them_by_hash() -> None:
    theatre = playing([httpx.Response(401)])
    with pytest.raises(NoTokenAccepted, match=r"\(8ed3f6ad\)") as caught:
        theatre.client.ask("repository", ASKED)
    assert "alpha" not in str(caught.getrepr(showlocals=True, style="long"))


def test_no_token_at_all_says_what_to_set() -> None:
    with pytest.raises(NoTokenAccepted) as caught:
        TokenPool((), Stopwatch())
    assert "SWT_GITHUB_TOKENS" in caught.value.hint


def test_a_token_shows_in_no_form() -> None:
    token = Token("ghp_never_shown")
    assert "never" not in f"{token} {token!r} {[token]} {vars(Token)} {token.name}"
    assert token == Token("ghp_never_shown")
    with pytest.raises(TypeError, match="not written"):
        pickle.dumps(token)
    with pytest.raises(TypeError, match="not written"):
        copy.deepcopy(token)


def test_tokens_are_read_from_a_list() -> None:
    assert [token.reveal() for token in tokens_from(" a, b\nc,,a ")] == ["a", "b", "c"]
    assert tokens_from("") == ()


def test_a_failure_shows_no_token_in_its_traceback() -> None:
    secret = "ghp_" + "shh" * 3
    theatre = playing([httpx.ConnectError("refused")] * 3, secrets=secret, patience=RequestRetries(attempts=3))
    with pytest.raises(GitHubFailed) as caught:
        theatre.client.ask("repository", ASKED)
    shown = caught.getrepr(showlocals=True, style="long", chain=True)
    assert secret not in str(shown.reprtraceback).replace(f"{secret!r}", "", 1), "but for this test's own variable"
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("ahead", [timedelta(hours=3), timedelta(0), timedelta(hours=-3), timedelta(days=-400)])
def test_the_clock_of_the_reply_counts_and_not_ours(ahead: timedelta) -> None:
    """Three hours ahead, every reset had passed: forty questions were asked of a used-up limit within four minutes."""
    github = NOW - ahead
    limit = {"type": "RATE_LIMITED", "message": "API rate limit exceeded"}
    reset = str(int((github + timedelta(minutes=20)).timestamp()))
    theatre = playing([errors(limit, date=format_datetime(github, usegmt=True), x_ratelimit_reset=reset), good()])
    theatre.client.ask("repository", ASKED)
    assert 1201 <= theatre.waited <= 1206


@pytest.mark.parametrize(("reset", "least"), [(NOW - timedelta(hours=3), 61), (NOW + timedelta(days=9), 3601)])
def test_without_that_clock_a_reset_that_cannot_be_is_not_believed(reset: datetime, least: float) -> None:
    limit = {"type": "RATE_LIMITED", "message": "API rate limit exceeded"}
    theatre = playing([errors(limit, x_ratelimit_reset=str(int(reset.timestamp()))), good()])
    theatre.client.ask("repository", ASKED)
    assert least <= theatre.waited <= least + 5


def test_a_wait_may_be_said_as_a_moment() -> None:
    now = NOW + timedelta(hours=5)
    told = {"date": format_datetime(now, usegmt=True), "retry-after": format_datetime(now + timedelta(minutes=7))}
    theatre = playing([httpx.Response(429, headers=told), good()])
    theatre.client.ask("repository", ASKED)
    assert 420 <= theatre.waited <= 425
