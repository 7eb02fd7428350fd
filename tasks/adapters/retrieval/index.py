"""BM25 over term counts, as one sparse matrix: the scores of all terms in all documents, computed once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tasks.adapters.retrieval.counts import Counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """The two free numbers of BM25."""

    k1: float
    """How fast further occurrences of a term stop counting."""
    b: float
    """How much long documents are held against them."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of all documents, ready to be asked."""

    scores: Any
    """Sparse matrix by columns, documents × terms."""

    def ask(self, query: Mapping[int, int]) -> NDArray[np.float64]:
        """The score of every document for a query: term number → how often it is asked for."""
        documents, terms = self.scores.shape
        known = [number for number in query if number < terms]
        if not known:
            return np.zeros(documents)
        wanted = np.array([query[number] for number in known], np.float64)
        return np.asarray(self.scores[:, known] @ wanted)


def field_of(counts: Counts, weights: Weights) -> Field:
    """Lucene's BM25: idf = ln(1 + (N - n + 0.5) / (n + 0.5)), tf / (tf + k1 (1 - b + b · length / mean length))."""
    matrix = _matrix(counts)
    documents, terms = matrix.shape
    lengths = np.asarray(matrix.sum(axis=1)).ravel()
    mean = lengths.mean() if lengths.any() else 1.0
    found_in = np.bincount(matrix.indices, minlength=terms)
    idf = np.log1p((documents - found_in + 0.5) / (found_in + 0.5))
    damping = weights.k1 * (1 - weights.b + weights.b * lengths / mean)
    frequency = matrix.data
    rows = np.repeat(np.arange(documents), np.diff(matrix.indptr))
    matrix.data = idf[matrix.indices] * frequency / (frequency + damping[rows])
    return Field(matrix.tocsc())


def added(one: Counts, other: Counts) -> Counts:
    """The counts of the same documents with both texts."""
    width = _width(one, other)
    total = _matrix(one, width) + _matrix(other, width)
    return Counts(
        starts=total.indptr.astype(np.int64),
        terms=total.indices.astype(np.int32),
        counts=total.data.astype(np.int32),
        tokens=one.tokens + other.tokens,
    )


def _matrix(counts: Counts, width: int | None = None) -> Any:
    documents = len(counts.starts) - 1
    shape = (documents, _width(counts) if width is None else width)
    return sparse.csr_matrix((counts.counts.astype(np.float64), counts.terms, counts.starts), shape=shape)


def _width(*several: Counts) -> int:
    """Columns that hold every term number."""
    return 1 + max((int(counts.terms.max()) for counts in several if len(counts.terms)), default=-1)
