"""Rights of a run token, and the state of its run."""

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
"""Key of `aliases` that matches every other model name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """Rights of one run of an agent."""

    work: Work
    model: str
    """Name in data/models.toml; the agent may always use this name."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Other names that the agent may use → names in data/models.toml; `*` for all others."""
    budget: Budget = field(default_factory=Budget)
    """Budget of this run alone. Replays count, so that a repeated run stops at the same point."""
    meters: tuple[Meter, ...] = ()
    """Meters of other payers, such as the sweep."""
    options: Options = UNSAID
    """Options of the sweep; they override the agent's."""
    valid_s: float = 4 * 3600.0


@dataclass(slots=True)
class GrantedRun:
    """A grant in use. Its token is kept as a hash."""

    grant: Grant
    run_id: str
    """Public id of the run in rows and files; grants no access."""
    expires_at: datetime
    started_at: datetime
    meter: Meter
    """Meter of the run's own budget."""
    caller: Caller
    recorder: Recorder
    trouble: str = ""
    """Slug and message of the last internal or provider error that no later call resolved."""
    stopped: str = ""
    """The limit that ended the run: `budget: calls`, `expired`."""
    calls: int = 0
    replayed: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    asked: Counter[str] = field(default_factory=Counter)
    """Number of calls per content: an agent that repeats a call gets a new reply each time."""
    lock: Lock = field(default_factory=Lock, repr=False)

    @property
    def spent(self) -> Spent:
        return self.meter.spent

    def model_for(self, asked: str) -> str | None:
        """Return the model for a name that an agent used; None if it is not allowed."""
        plain = asked.rpartition("/")[2]
        if self.grant.model in (asked, plain):
            return self.grant.model
        aliases = self.grant.aliases
        return aliases.get(asked) or aliases.get(plain) or aliases.get(ANY)

    def nth(self, content: str) -> int:
        """Return the number of earlier calls with this content in this run."""
        with self.lock:
            self.asked[content] += 1
            return self.asked[content] - 1

    def unheard(self, content: str) -> None:
        """Undo the count of a call whose caller disconnected: a repeated call then has the same key and may find a paid
        reply."""
        with self.lock:
            self.asked[content] = max(0, self.asked[content] - 1)


def new_token() -> str:
    """Return a random token with 256 bits."""
    return PREFIX + secrets.token_urlsafe(32)


def token_hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
