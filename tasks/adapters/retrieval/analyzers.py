"""Text → terms, in the two ways that `variants.py` gives names to.

`english_terms` follows Lucene's English analyzer, which Pyserini uses by default: words by the Unicode segmentation
rules, possessives dropped, lower case, 33 stop words, Porter's stemmer. `code_terms` keeps identifiers whole and adds
their snake_case and camelCase parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any

MAX_TERM = 255
"""Characters; Lucene cuts longer words there. For code they are data, not words, and left out."""

REMEMBERED = 1 << 18
"""Words whose terms are kept in memory."""

_STOPPED = """
    a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to
    was will with
"""
STOP_WORDS = frozenset(_STOPPED.split())

_WORD = re.compile(
    r"""\w+(?:                                      # letters, digits and underscores, and inside a word
        (?: (?<=[^\W\d_])[.:'\u2019\u00b7](?=[^\W\d_])   # a dot, colon or apostrophe between letters
          | (?<=\d)[.,;'\u2019](?=\d)                    # a dot, comma or semicolon between digits
        )\w+)*""",
    re.VERBOSE,
)
_POSSESSIVE = re.compile(r"['\u2019][sS]$")
_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_BOUNDARY = re.compile(r"_+|(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")


def english_terms(text: str) -> Iterator[str]:
    """`The model's Fields_x run in a.b` → `model`, `fields_x`, `run`, `a.b`."""
    for word in _WORD.findall(text):
        term = _english(word)
        if term:
            yield term


def code_terms(text: str) -> Iterator[str]:
    """`getFieldValue of my_model` → `getfieldvalue`, `get`, `field`, `value`, `of`, `my_model`, `my`, `model`."""
    for name in _IDENTIFIER.findall(text):
        yield from _identifier(name)


@lru_cache(maxsize=REMEMBERED)
def _english(word: str) -> str:
    """The term of one word; empty where it has none."""
    term = _POSSESSIVE.sub("", word).lower()
    if term in STOP_WORDS or not term.strip("_"):
        return ""
    return str(_stemmer().stemWord(term[:MAX_TERM]))


@cache
def _stemmer() -> Any:
    import Stemmer

    return Stemmer.Stemmer("porter")


@lru_cache(maxsize=REMEMBERED)
def _identifier(name: str) -> tuple[str, ...]:
    """An identifier in lower case and, where it has more than one, its parts."""
    if len(name) > MAX_TERM or not name.strip("_"):
        return ()
    parts = tuple(part.lower() for part in _BOUNDARY.split(name) if len(part) > 1)
    whole = name.lower()
    return (whole, *parts) if parts and parts != (whole,) else (whole,)
