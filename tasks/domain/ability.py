"""Abilities of methods and difficulties of months on one scale."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tasks.domain.names import SnapshotName
from tasks.domain.table import table


@table("grader", "guarded", folder="grader")
@dataclass(frozen=True, slots=True, kw_only=True)
class MethodAbility:
    """Ability of a method over all the months that it ran on (`tasks/ability`). A later fit replaces all rows."""

    grader: str
    guarded: bool
    """Whether only robust successes count."""
    method: str
    model: str | None
    part: int
    """Abilities are comparable within a part: the methods and snapshots that shared methods or snapshots connect. The
    part of the first snapshot is 0."""
    instances: int
    """Measured instances over all snapshots of the fit."""
    solved: int
    ability: float
    """In logits, relative to the mean difficulty of the part's first snapshot."""
    low: float
    high: float
    """95 % interval, by resampling instances."""
    times: int
    """Number of resamples."""
    fitted_at: datetime


@table("grader", "guarded", folder="grader")
@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotDifficulty:
    """Difficulty of a snapshot's instances for the methods of the same fit."""

    grader: str
    guarded: bool
    snapshot: SnapshotName
    part: int
    instances: int
    """New instances of this snapshot: an instance counts in the earliest snapshot of the fit that contains it."""
    difficulty: float
    """Mean in logits, relative to that of the part's first snapshot."""
    low: float
    high: float
    """95 % interval, by resampling instances."""
    spread: float
    """Standard deviation of the instances around the mean, the same for all snapshots of a fit."""
    fitted_at: datetime


@table("grader", "guarded", folder="grader")
@dataclass(frozen=True, slots=True, kw_only=True)
class TimeEffect:
    """Effect of one more year since the model's cutoff on a method's success on a snapshot (`tasks/ability`)."""

    grader: str
    guarded: bool
    snapshot: SnapshotName
    method: str
    model: str
    instances: int
    """Dated and measured instances."""
    repositories: int
    effect: float
    """In logits per year; below 0 if newer instances are solved less often."""
    low: float
    high: float
    """95 % interval."""
    p: float
    """One-sided p-value for an effect below 0."""
    spread: float
    """Standard deviation between repositories, in logits."""
    fitted_at: datetime
