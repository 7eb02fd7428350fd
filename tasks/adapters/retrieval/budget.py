"""Tokens of a prompt, and what of a ranking fits into a number of them.

The tokenizers of most models cannot be had without a download, and each model has its own; so tokens are estimated, in
the measure of the papers (`cl100k_base`): a token for each piece that this tokenizer never joins with another, and more
for long words and rows of signs. How far off that is stands in `benchmarks/README.md`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tasks.domain.localization import Localization
from tasks.domain.names import RepoPath

_PIECE = re.compile(
    r"[^\r\n\w]?[^\W\d_]+"  # a word, with the space or sign before it
    r"|\d{1,3}"
    r"|\ ?(?:[^\s\w]|_)+[\r\n]*"  # signs
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_LONG_WORD = re.compile(r"[^\W\d_]{6,}")
_LONG_SIGNS = re.compile(r"(?:[^\s\w]|_){4,}")
_WORD, _SIGNS = 5, 4
"""Characters that one token holds."""
_WORD_MORE, _SIGNS_MORE = 0.12, 0.3
"""Tokens for each further character."""


def estimated_tokens(text: str) -> int:
    """About how many tokens `text` is."""
    words, signs = _LONG_WORD.findall(text), _LONG_SIGNS.findall(text)
    more_words = sum(map(len, words)) - _WORD * len(words)
    more_signs = sum(map(len, signs)) - _SIGNS * len(signs)
    return round(len(_PIECE.findall(text)) + _WORD_MORE * more_words + _SIGNS_MORE * more_signs)


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
