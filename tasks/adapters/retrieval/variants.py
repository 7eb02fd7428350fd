"""The two retrievers by name. They stay apart: no table may mix their figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tasks.adapters.retrieval.analyzers import code_terms, english_terms
from tasks.adapters.retrieval.index import Weights
from tasks.domain.localization import RetrieverKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Retriever:
    """Everything that decides a ranking."""

    variant: RetrieverKind
    analyzer: str
    """Name and version of `analyze`: cached counts are kept apart by it."""
    analyze: Callable[[str], Iterable[str]]
    weights: Weights
    path_share: float | None
    """Weight of the path's score; null where the path is part of the contents."""
    title_times: int
    """How often the first line of the statement is asked for."""

    def query(self, statement: str) -> Counter[str]:
        """The terms of an issue, with how often each is asked for."""
        title, _, body = statement.strip().partition("\n")
        terms = Counter(self.analyze(body))
        for term, times in Counter(self.analyze(title)).items():
            terms[term] += times * self.title_times
        return terms


RETRIEVERS = {
    RetrieverKind.LUCENE: Retriever(
        variant=RetrieverKind.LUCENE,
        analyzer="english-1",
        analyze=english_terms,
        weights=Weights(k1=0.9, b=0.4),
        path_share=None,
        title_times=1,
    ),
    RetrieverKind.CODE: Retriever(
        variant=RetrieverKind.CODE,
        analyzer="code-1",
        analyze=code_terms,
        weights=Weights(k1=1.5, b=0.75),
        path_share=0.3,
        title_times=3,
    ),
}
