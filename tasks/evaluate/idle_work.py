"""Expressions of constants alone that run and come to nothing: they cannot fail, and nobody can see them.

What a function loads, calls and is compiled to is then another in every edited run. Whoever takes out of it what never
runs, and compares the rest with what he knows, or looks in it for a word of the fix, finds both on both sides.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

WORDS = ("item", "value", "entry", "found", "result", "part", "node", "each", "known", "given", "kept", "made", "seen")
"""Of names that are made up."""
_METHODS = (
    "capitalize", "casefold", "center", "count", "encode", "endswith", "expandtabs", "find", "format", "index",
    "isalnum", "isalpha", "isdigit", "islower", "isspace", "istitle", "isupper", "join", "ljust", "lower",
    "lstrip", "partition", "replace", "rfind", "rjust", "rpartition", "rsplit", "rstrip", "split", "splitlines",
    "startswith", "strip", "swapcase", "title", "translate", "upper", "zfill",
)  # fmt: skip
"""Of text, since CPython 3.6 and before: the code under test runs on older ones than we do."""
_NAMED = 6
"""Words of a fix that one function is given, at most."""
_FORMS = (
    "{word!r}.{method}",
    "({number} {operator} {other})",
    "({word!r}, {number})",
    "[{number}, {other}][{index}]",
    "{number} {comparison} {other}",
)
_CALL = "dict({word}={number}, {method}={other})"
_NAMING = ("({word!r}, {number})", "[{word!r}]", "lambda each: each.{word}", "{{{word!r}: {number}}}")


def idle_work(draw: random.Random, words: Sequence[str], *, plain_dict: bool) -> list[str]:
    """A few expressions for one function, some of them naming some of `words`; `plain_dict`: `dict` is the builtin."""
    forms = (*_FORMS, _CALL) if plain_dict else _FORMS
    naming = (*_NAMING, _CALL) if plain_dict else _NAMING
    made = [_filled(draw, forms, draw.choice(WORDS)) for _ in range(draw.randrange(1, 4))]
    made += [_filled(draw, naming, word) for word in draw.sample(words, min(len(words), _NAMED))]
    draw.shuffle(made)
    return made


def _filled(draw: random.Random, forms: Sequence[str], word: str) -> str:
    return draw.choice(forms).format(
        word=word,
        method=draw.choice([name for name in _METHODS if name != word]),
        number=draw.randrange(1, 9),
        other=draw.randrange(1, 9),
        index=draw.randrange(2),
        operator=draw.choice(("+", "-", "*", "%", "//", "|")),
        comparison=draw.choice(("==", "<", ">", "!=")),
    )
