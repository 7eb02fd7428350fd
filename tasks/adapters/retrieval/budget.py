"""Tokens of a prompt, and what of a ranking fits into a number of them.

Every model has its own tokenizer, and most cannot be had; budgets are kept in the measure of the papers, and a count in
it is exact.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

ENCODING = "cl100k_base"
"""The tokenizer of the papers. Counts that are kept, and what was decided by them, are kept under its name."""


def token_count(text: str) -> int:
    """How many tokens of `ENCODING` a text is. Safe to call from any thread."""
    return int(_tokenizer().count(text.encode("utf-8", "replace").decode()))


@cache
def _tokenizer() -> Any:
    """The part of the package that is written in Rust: what stands in front of it refuses texts of 200,000 tokens.

    Half a CPU second and 70 MB, so only for those who count.
    """
    from bpe_openai._bindings import tokenizer_for_encoding

    return tokenizer_for_encoding(ENCODING)


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
