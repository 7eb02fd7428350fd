"""Every error that users can meet.

    SwtError
    ├── UsageError            the request cannot be fulfilled (exit 2)
    │   ├── BadInput          a file or row of the user is wrong; the message has the line
    │   ├── NotFound          a snapshot, mirror, commit, recipe or query does not exist
    │   └── TokenRefused      no GitHub token is usable; defined in tasks/adapters/github/failures.py
    ├── TerminalError         a retry cannot help: the instance or candidate has failed
    │   ├── BuildFailed       an environment cannot be built
    │   ├── GitHubGone        404, 451, not found; defined beside TokenRefused
    │   ├── LeakFound         a method would see future code, so it is not started
    │   └── GateFailed        a control has the wrong verdict, so a snapshot is not published
    └── InfrastructureError   an internal failure, never the candidate's: retried by its class
        ├── LeaseError        the database of leases does not answer, or a lease was lost
        ├── StoreError        a truncated or foreign file in the store
        │   └── StoreAway     an object store does not answer, or refuses access
        ├── GitFailed         git failed; defined in tasks/adapters/git/command.py
        ├── GitHubFailed      every attempt at one query failed; defined beside TokenRefused
        └── SandboxError      the sandbox could not be started or lost its process

Each has a `slug` (a section of docs/errors.md), and a `hint` with the next step.
"""

from __future__ import annotations

from typing import ClassVar


class SwtError(Exception):
    """An error with a message about what happened and where; `hint` is the next step."""

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
    """Also an `OSError`, so that code which handles a failing disk handles it too."""


class SandboxError(InfrastructureError):
    slug = "sandbox"
