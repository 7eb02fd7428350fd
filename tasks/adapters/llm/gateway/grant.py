"""What a run token allows, and what is known of its run."""

from __future__ import annotations

import hashlib
import secrets
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock

from tasks.adapters.llm.base import UNSAID, Options
from tasks.adapters.llm.gateway.recorder import Recorder
from tasks.adapters.llm.limits.budget import Budget, Meter, Spent
from tasks.adapters.llm.router import Caller
from tasks.domain.llm import Work

PREFIX = "swt-run-"
ANY = "*"
"""As a key of `aliases`: whatever other name an agent asks for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What one run of an agent may do."""

    work: Work
    model: str
    """Name in data/models.toml; an agent may always ask for it by this name."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Other names that the agent may ask for → names in data/models.toml; `*` for all others."""
    budget: Budget = field(default_factory=Budget)
    """Of this run alone: replays count, so that a repeated run ends where it ended the first time."""
    meters: tuple[Meter, ...] = ()
    """Of whoever else pays: the sweep."""
    options: Options = UNSAID
    """Of the sweep: they go before what the agent says."""
    valid_s: float = 4 * 3600.0


@dataclass(slots=True)
class GrantedRun:
    """A grant in use. Its token is kept as a hash."""

    grant: Grant
    run_id: str
    """Public: names the run in rows and files, and opens nothing."""
    expires_at: datetime
    started_at: datetime
    meter: Meter
    """Keeps the run's own budget."""
    caller: Caller
    recorder: Recorder
    trouble: str = ""
    """What of ours or the provider's went wrong last and was not made good by a later call: slug and message."""
    stopped: str = ""
    """Which ceiling ended the run: `budget: calls`, `expired`."""
    calls: int = 0
    replayed: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    asked: Counter[str] = field(default_factory=Counter)
    """How often each content was asked: an agent that repeats itself gets a new reply each time."""
    lock: Lock = field(default_factory=Lock, repr=False)

    @property
    def spent(self) -> Spent:
        return self.meter.spent

    def model_for(self, asked: str) -> str | None:
        """The model behind a name that an agent used; null where it may not use it."""
        plain = asked.rpartition("/")[2]
        if self.grant.model in (asked, plain):
            return self.grant.model
        aliases = self.grant.aliases
        return aliases.get(asked) or aliases.get(plain) or aliases.get(ANY)

    def nth(self, content: str) -> int:
        """How often this content was asked before in this run."""
        with self.lock:
            self.asked[content] += 1
            return self.asked[content] - 1

    def unheard(self, content: str) -> None:
        """Whoever asked this has hung up: asked again, it is the same question, and its reply may be paid for."""
        with self.lock:
            self.asked[content] = max(0, self.asked[content] - 1)


def new_token() -> str:
    """Unguessable: 256 random bits."""
    return PREFIX + secrets.token_urlsafe(32)


def token_hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
