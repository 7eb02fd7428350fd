"""Ranking the Python files of a base commit for an issue. Files come from the mirror: nothing is checked out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tasks.adapters.git.mirrors import Mirrors
from tasks.adapters.patch.split import is_test_path
from tasks.adapters.retrieval.budget import ENCODING, token_count
from tasks.adapters.retrieval.counts import TermCache
from tasks.adapters.retrieval.index import Field, added, field_of
from tasks.adapters.retrieval.variants import RETRIEVERS, Retriever
from tasks.domain.localization import RetrieverKind
from tasks.domain.names import RepoName, RepoPath, Sha, repo_folder

PATH = "path:"
"""Prefix of the names under which paths are counted; blobs are counted under their SHA-1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredFile:
    """One file of a ranking."""

    path: RepoPath
    score: float
    tokens: int
    """What its path and contents cost in a prompt (budget.py)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitIndex:
    """The Python files of one commit, ready to be ranked."""

    retriever: Retriever
    paths: tuple[RepoPath, ...]
    """Sorted."""
    tokens: Sequence[int]
    contents: Field
    path_field: Field | None
    numbers: TermCache

    def rank(self, statement: str, k: int) -> tuple[ScoredFile, ...]:
        """The best `k` files that share a term with the issue; equal scores by path."""
        asked = self.retriever.query(statement)
        number = self.numbers.numbers(asked)
        query = {number[term]: times for term, times in asked.items() if term in number}
        scores = self._scores(query)
        best = np.argsort(-scores, kind="stable")[:k]
        return tuple(
            ScoredFile(path=self.paths[at], score=float(scores[at]), tokens=int(self.tokens[at]))
            for at in best
            if scores[at] > 0
        )

    def _scores(self, query: Mapping[int, int]) -> np.ndarray:
        scores = self.contents.ask(query)
        if self.path_field is not None and self.retriever.path_share:
            scores = scores + self.retriever.path_share * self.path_field.ask(query)
        return scores


@dataclass(frozen=True, slots=True)
class Searcher:
    """Makes indexes. Safe to share by threads and processes.

    cache/
    └── <owner>__<name>-<analyzer>-<encoding>.sqlite     term counts by blob (counts.py)
    """

    mirrors: Mirrors
    cache: Path

    def index(self, repo: RepoName, commit: Sha, variant: RetrieverKind, *, with_tests: bool = False) -> CommitIndex:
        """The index of a commit; `NotFound` where the mirror or the commit is missing."""
        retriever = RETRIEVERS[variant]
        entries = tuple(
            entry for entry in self.mirrors.python_files(repo, commit) if with_tests or not is_test_path(entry.path)
        )
        cached = self._counts(repo, retriever)
        contents = cached.counts([entry.sha for entry in entries], lambda shas: self._texts(repo, shas))
        paths = cached.counts([PATH + entry.path for entry in entries], _names)
        both = added(contents, paths)
        return CommitIndex(
            retriever=retriever,
            paths=tuple(RepoPath(entry.path) for entry in entries),
            tokens=both.tokens.tolist(),
            contents=field_of(both if retriever.path_share is None else contents, retriever.weights),
            path_field=None if retriever.path_share is None else field_of(paths, retriever.weights),
            numbers=cached,
        )

    def _counts(self, repo: RepoName, retriever: Retriever) -> TermCache:
        name = f"{repo_folder(repo)}-{retriever.analyzer}-{ENCODING}.sqlite"
        return TermCache(self.cache / name, retriever.analyze, token_count)

    def _texts(self, repo: RepoName, shas: Sequence[str]) -> Iterator[str]:
        return (blob.decode("utf-8", "replace") for blob in self.mirrors.blobs(repo, shas))


def _names(names: Sequence[str]) -> Iterator[str]:
    return (name.removeprefix(PATH) for name in names)
