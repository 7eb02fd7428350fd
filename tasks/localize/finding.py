"""What a localization came to, before it is rows."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.domain.localization import LocalizationStatus
from tasks.domain.names import RepoPath
from tasks.localize.trail import Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One file of a ranking."""

    path: RepoPath
    score: float | None
    confidence: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a localization came to."""

    status: LocalizationStatus
    reason: str
    ranking: tuple[Place, ...]
    reviewed: bool
    steps: tuple[Step, ...]
    calls: int
    views: int
