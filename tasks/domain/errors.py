"""Every error that users can meet.

    SwtError
    ├── UsageError            the caller asked for something that cannot be (exit 2)
    │   ├── BadInput          a file or row of theirs is wrong; says which line
    │   ├── NotFound          a snapshot, mirror, commit, recipe or query that is not there
    │   └── TokenRefused      no GitHub token is of use; lives in tasks/adapters/github/failures.py
    ├── TerminalError         trying again cannot help: this instance or candidate is over
    │   ├── BuildFailed       an environment cannot be built
    │   ├── GitHubGone        404, 451, not found; lives there too
    │   ├── LeakFound         a method would see something of the future, so it is not started
    │   └── GateFailed        a control did not do what it has to do, so a snapshot is not published
    └── InfrastructureError   our failure, never the candidate's: retried by its class
        ├── LeaseError        the database of leases does not answer, or a lease was lost
        ├── StoreError        a torn or foreign file in the store
        │   └── StoreAway     an object store that does not answer, or refuses
        ├── GitFailed         git failed; lives with the adapter, tasks/adapters/git/command.py
        ├── GitHubFailed      every attempt at one question failed; lives with TokenRefused
        └── SandboxError      the sandbox could not be started or lost its process

Each carries `slug` (a section of docs/errors.md), and a `hint` that says what to do next.
"""

from __future__ import annotations

from typing import ClassVar


class SwtError(Exception):
    """Says what went wrong and where; `hint` says what to do next."""

    slug: ClassVar[str] = "error"
    retry: ClassVar[bool] = False

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(SwtError):
    slug = "usage"


class BadInput(UsageError):
    slug = "bad-input"


class NotFound(UsageError):
    slug = "not-found"


class TerminalError(SwtError):
    slug = "terminal"


class BuildFailed(TerminalError):
    slug = "build-failed"


class LeakFound(TerminalError):
    slug = "leak"


class GateFailed(TerminalError):
    slug = "gate-failed"


class InfrastructureError(SwtError):
    slug = "infrastructure"
    retry = True


class LeaseError(InfrastructureError):
    slug = "lease"


class StoreError(InfrastructureError):
    slug = "store"


class StoreAway(StoreError, OSError):
    """An `OSError` too: whoever is ready for a disk that fails is ready for this."""


class SandboxError(InfrastructureError):
    slug = "sandbox"
