"""Tokens of a prompt, and what of a ranking fits into a number of them.

The tokenizers of most models cannot be had without a download, and each model has its own; so tokens are estimated, in
the measure of the papers (`cl100k_base`). The text is cut into the pieces that this tokenizer never joins, and each
kind of piece has a mean price by its length. Against the real tokenizer, whole Python files come out within a few per
cent (`benchmarks/README.md`), their sum within one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from tasks.domain.localization import Localization
from tasks.domain.names import RepoPath

_PIECE = re.compile(
    r"(?P<word>[^\r\n\w]?[^\W\d_]+)"
    r"|(?P<digits>\d{1,3})"
    r"|(?P<signs>\ ?(?:[^\s\w]|_)+[\r\n]*)"
    r"|(?P<space>\s*[\r\n]+|\s+(?!\S)|\s+)"
)
_FREE = {"word": 6, "signs": 4}
"""Characters that one token holds on average, the space before them included."""
_MORE = {"word": 0.12, "signs": 0.3}
"""Tokens for each further character."""


def estimated_tokens(text: str) -> int:
    """About how many tokens `text` is."""
    pieces = Counter((match.lastgroup, len(match[0])) for match in _PIECE.finditer(text))
    return round(sum(number * _price(str(kind), length) for (kind, length), number in pieces.items()))


def _price(kind: str, length: int) -> float:
    return 1 + _MORE.get(kind, 0.0) * max(0, length - _FREE.get(kind, 0))


def fitting(sizes: Iterable[int], budget: int, *, pass_over: bool = False) -> tuple[int, ...]:
    """Positions of what is taken from a ranking, first to last, whole or not at all.

    The first file that does not fit ends it, as in the papers' contexts; with `pass_over` smaller ones after it are
    still taken.
    """
    taken: list[int] = []
    left = budget
    for position, size in enumerate(sizes):
        if size <= left:
            taken.append(position)
            left -= size
        elif not pass_over:
            break
    return tuple(taken)


def files_within(ranking: Iterable[Localization], budget: int, *, pass_over: bool = False) -> tuple[RepoPath, ...]:
    """The files of one localization that fit into a context, best first (`fitting`)."""
    rows = sorted(ranking, key=lambda row: row.rank)
    return tuple(rows[at].path for at in fitting((row.tokens for row in rows), budget, pass_over=pass_over))
