"""Decides which failures are retried, how often, and after which pause: the only retry policy for units of work.

| class of error | attempts |
| --- | --- |
| infrastructure (`retry` is true) | 3 |
| terminal, usage | 1 |
| other exceptions | 1: a retry does not fix a bug |
"""

from __future__ import annotations

from dataclasses import dataclass

from tasks.domain.errors import SwtError


def may_pass(error: BaseException) -> bool:
    """Whether a retry may help."""
    return isinstance(error, SwtError) and error.retry


@dataclass(frozen=True, slots=True)
class Retries:
    """Number of attempts and pauses for errors that a retry may fix."""

    attempts: int = 3
    pause_s: float = 2.0
    """Before the second attempt; the pause doubles before each further one."""
