"""What a localization came to, before it is rows."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.adapters.llm.errors import ContentFiltered, ContextTooLong, ModelError, ProviderFailed
from tasks.domain.localization import LocalizationStatus, StepKind, Turn
from tasks.domain.names import RepoPath
from tasks.localize.replies import RefusedView
from tasks.methods.conversation import OutOfBudget, Unusable


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailStep:
    """A `localization_step` row without its keys."""

    turn: Turn
    kind: StepKind
    tool: str = ""
    k: int | None = None
    path: str = ""
    reason: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedFile:
    """One file of a ranking."""

    path: RepoPath
    score: float | None
    confidence: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalizationResult:
    """What a localization came to."""

    status: LocalizationStatus
    reason: str
    ranking: tuple[RankedFile, ...]
    reviewed: bool
    steps: tuple[TrailStep, ...]
    calls: int
    views: int


@dataclass(frozen=True, slots=True)
class Ending:
    """Why a localization, or its review, is over without an answer."""

    status: LocalizationStatus
    reason: str
    detail: str


def ending_of(error: OutOfBudget | Unusable | ModelError) -> Ending:
    """How a localization ends by an error. Raises it again where it is a failure of ours, and so nobody's result."""
    match error:
        case OutOfBudget(what="seconds"):
            return Ending(LocalizationStatus.TIMEOUT, "wall-time", "the time for a localization is over")
        case OutOfBudget():
            return Ending(LocalizationStatus.ABORTED, "too-many-calls", "the calls for a localization are made")
        case ProviderFailed(kind="timeout"):
            return Ending(LocalizationStatus.TIMEOUT, "model-timeout", str(error))
        case ContextTooLong() | ContentFiltered():
            return Ending(LocalizationStatus.ABORTED, error.slug, str(error))
        case RefusedView(final=True):
            return Ending(LocalizationStatus.ABORTED, "still-viewing", str(error))
        case Unusable():
            return Ending(LocalizationStatus.ABORTED, "invalid-output", str(error))
    raise error
