"""Tokens: never shown, at most one request in flight on each, and the one with most points left goes first."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random

from tasks.adapters.clock import Clock
from tasks.adapters.github.failures import NoTokenAccepted

FULL = 5000
"""Points an hour; what is assumed of a token until its first reply."""
FLOOR_S = 60.0
"""GitHub asks for at least a minute after a secondary limit without `Retry-After`."""
CEILING_S = 900.0
HOUR_S = 3600.0
"""Points come back each hour: a longer wait is a wrong date."""
JITTER_S = 5.0
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class Token:
    """A secret. Its `repr` and `str` are its name: the first eight digits of its SHA-256."""

    __slots__ = ("__secret",)

    def __init__(self, secret: str) -> None:
        self.__secret = secret

    def reveal(self) -> str:
        """The secret itself; called only where a request is signed."""
        return self.__secret

    @property
    def name(self) -> str:
        return hashlib.sha256(self.__secret.encode()).hexdigest()[:8]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Token) and other.reveal() == self.__secret

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"Token({self.name})"

    def __reduce__(self) -> str:
        raise TypeError("a token is not written anywhere")


def tokens_from(text: str) -> tuple[Token, ...]:
    """The tokens in a setting: separated by commas or white space, each once."""
    return tuple(Token(secret) for secret in dict.fromkeys(text.replace(",", " ").split()))


@dataclass(slots=True)
class _Account:
    """What is known of one token."""

    token: Token
    remaining: int = FULL
    resting_until: datetime = _LONG_AGO
    busy: bool = False
    refused: bool = False
    hurried: int = 0
    """Secondary limits in a row."""


@dataclass(slots=True)
class TokenPool:
    """Hands out tokens to any number of threads."""

    tokens: Iterable[Token]
    clock: Clock
    random: Random = field(default_factory=lambda: Random(0))  # noqa: S311 - spreads waits, guards nothing
    _accounts: list[_Account] = field(init=False)
    _free: threading.Condition = field(init=False, default_factory=threading.Condition)

    def __post_init__(self) -> None:
        self._accounts = [_Account(token) for token in self.tokens]
        if not self._accounts:
            what = "there is no GitHub token: neither SWT_GITHUB_TOKENS nor GITHUB_TOKEN is set"
            raise NoTokenAccepted(what, hint="export SWT_GITHUB_TOKENS=…")

    @contextmanager
    def lease(self) -> Iterator[Token]:
        """A token for one request; waits while all are in use or resting. `NoTokenAccepted` where none is left."""
        account = self._take()
        try:
            yield account.token
        finally:
            with self._free:
                account.busy = False
                self._free.notify_all()

    def spent(self, token: Token, remaining: int | None) -> None:
        """A good reply, which says how many points are left."""
        with self._free:
            account = self._of(token)
            account.hurried = 0
            account.remaining = account.remaining - 1 if remaining is None else remaining

    def exhausted(self, token: Token, reset_at: datetime | None, told_at: datetime | None = None) -> float:
        """The token rests until its points are back, and a little longer; the seconds.

        Both moments are of GitHub's clock. Ours may be hours off: it is asked only where `told_at` is not known, and a
        moment that has passed by it is not believed.
        """
        with self._free:
            account = self._of(token)
            account.remaining = 0
            left = (reset_at - (told_at or self.clock.now())).total_seconds() if reset_at else FLOOR_S
            wait = max(left, 0.0 if told_at else FLOOR_S)
            return self._rest(account, min(wait, HOUR_S) + 1 + self.random.random() * JITTER_S)

    def hurried(self, token: Token, retry_after_s: float | None) -> float:
        """The token rests as long as it was told to, or else for a minute and twice that each further time."""
        with self._free:
            account = self._of(token)
            account.hurried += 1
            doubled = min(FLOOR_S * 2 ** (account.hurried - 1), CEILING_S)
            wait = doubled if retry_after_s is None else retry_after_s
            return self._rest(account, wait + self.random.random() * JITTER_S)

    def refuse(self, token: Token) -> None:
        """GitHub does not accept it: it is not handed out again."""
        with self._free:
            self._of(token).refused = True

    def _rest(self, account: _Account, seconds: float) -> float:
        account.resting_until = self.clock.now() + timedelta(seconds=seconds)
        return seconds

    def _of(self, token: Token) -> _Account:
        return next(account for account in self._accounts if account.token is token)

    def _take(self) -> _Account:
        while True:
            with self._free:
                usable = [account for account in self._accounts if not account.refused]
                if not usable:
                    names = ", ".join(account.token.name for account in self._accounts)
                    raise NoTokenAccepted(f"GitHub refused every token ({names})", hint="make a new one, and set it")
                idle = [account for account in usable if not account.busy]
                if not idle:
                    self._free.wait()
                    continue
                now = self.clock.now()
                ready = [account for account in idle if account.resting_until <= now]
                if ready:
                    best = max(ready, key=lambda account: account.remaining)
                    best.busy = True
                    return best
                wait = min(account.resting_until for account in idle) - now
                if len(idle) < len(usable):
                    self._free.wait(min(wait.total_seconds(), 1.0))
                    continue
            self.clock.sleep(wait.total_seconds())
