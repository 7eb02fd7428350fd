"""BM25 by itself, as a localization method."""

from __future__ import annotations

from tasks.adapters.retrieval.search import CommitIndex
from tasks.domain.localization import IssueReport, LocalizationStatus, StepKind, Turn
from tasks.localize.finding import LocalizationResult, RankedFile, TrailStep
from tasks.localize.settings import Bm25Settings


def retrieve(report: IssueReport, index: CommitIndex, settings: Bm25Settings) -> LocalizationResult:
    """The best `settings.k` files for the issue as it is written."""
    hits = index.rank(report.statement, settings.k)
    return LocalizationResult(
        status=LocalizationStatus.RANKED,
        reason="",
        ranking=tuple(RankedFile(path=hit.path, score=hit.score, confidence=None) for hit in hits),
        reviewed=False,
        steps=(TrailStep(turn=Turn.RETRIEVE, kind=StepKind.TOOL, tool="bm25", k=settings.k),),
        calls=0,
        views=0,
    )
