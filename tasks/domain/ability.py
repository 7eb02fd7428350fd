"""Methods and months on one scale."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tasks.domain.names import SnapshotName
from tasks.domain.table import table


@table("grader", "guarded", folder="grader")
@dataclass(frozen=True, slots=True, kw_only=True)
class MethodAbility:
    """How able a method is, whichever months it ran on (`tasks/ability`). A later fit takes the place of all rows."""

    grader: str
    guarded: bool
    """Whether robust successes alone count."""
    method: str
    model: str | None
    part: int
    """Abilities are comparable within a part: what shares methods or snapshots with one another. That of the first
    snapshot is 0."""
    instances: int
    """Measured, of all snapshots of the fit."""
    solved: int
    ability: float
    """In logits, above the mean difficulty of the part's first snapshot."""
    low: float
    high: float
    """95 % interval, from instances drawn again."""
    times: int
    """How often they were."""
    fitted_at: datetime


@table("grader", "guarded", folder="grader")
@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotDifficulty:
    """How hard a snapshot's instances are to the methods of the same fit."""

    grader: str
    guarded: bool
    snapshot: SnapshotName
    part: int
    instances: int
    """That it brings: those of an earlier snapshot of the fit count there."""
    difficulty: float
    """Mean, in logits, above that of the part's first snapshot."""
    low: float
    high: float
    """95 % interval, from instances drawn again."""
    spread: float
    """Standard deviation of the instances around it, the same for all snapshots of a fit."""
    fitted_at: datetime


@table("grader", "guarded", folder="grader")
@dataclass(frozen=True, slots=True, kw_only=True)
class TimeEffect:
    """What a year more since its model's cutoff does to a method's success on a snapshot (`tasks/ability`)."""

    grader: str
    guarded: bool
    snapshot: SnapshotName
    method: str
    model: str
    instances: int
    """Dated and measured ones."""
    repositories: int
    effect: float
    """In logits a year; below 0 where newer instances are solved less."""
    low: float
    high: float
    """95 % interval."""
    p: float
    """One-sided, that the effect is below 0."""
    spread: float
    """Standard deviation of repositories, in logits."""
    fitted_at: datetime
