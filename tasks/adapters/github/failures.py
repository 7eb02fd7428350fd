"""What can go wrong between GitHub and us.

    GitHubFailed     attempts are used up: infrastructure, the next sync goes on where this one stopped
    GitHubGone       404, 451, not found, forbidden: permanent, recorded, the sync of other repositories goes on
    TokenRefused     no token is left that GitHub accepts

Below them, `Setback` and its kinds: one bad reply, which never leaves the client.
"""

from __future__ import annotations

from datetime import datetime

from tasks.domain.errors import InfrastructureError, TerminalError, UsageError


class GitHubFailed(InfrastructureError):
    """Every attempt at one question failed; the message has the last reason."""

    slug = "github"


class GitHubGone(TerminalError):
    """The repository or the issue is not there for us, and asking again cannot help."""

    slug = "github-gone"


class NoTokenAccepted(UsageError):
    """GitHub accepts none of the tokens."""

    slug = "github-token"


class Setback(Exception):
    """A reply that is worth another attempt."""


class TooMuch(Setback):
    """502, 504, a timeout, RESOURCE_LIMITS_EXCEEDED: ask for less."""


class Torn(Setback):
    """A body that is no whole JSON, a broken connection, another 5xx."""


class PartialReply(Setback):
    """`data` beside `errors`, or neither: not to be stored."""


class Limited(Setback):
    """Too many requests: the token rests."""


class PrimaryLimit(Limited):
    """The hourly points are used up until `reset_at`."""

    def __init__(self, message: str, reset_at: datetime | None, told_at: datetime | None) -> None:
        super().__init__(message)
        self.reset_at = reset_at
        """By GitHub's clock; null where the reply does not say."""
        self.told_at = told_at
        """What that clock showed; null where the reply does not say."""


class SecondaryLimit(Limited):
    """Too fast."""

    def __init__(self, message: str, retry_after_s: float | None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        """Null where the reply does not say."""


class Unauthorized(Setback):
    """401: this token is of no use."""


class StaleCursor(Exception):
    """GitHub no longer knows the cursor: the walk starts anew."""
