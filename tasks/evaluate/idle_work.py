"""Expressions of constants alone that run and come to nothing: they cannot fail, and nobody can see them.

What a function loads, calls and is compiled to is then another in every edited run. Whoever takes out of it what never
runs, and compares the rest with what he knows, or looks in it for a word of the fix, finds both on both sides; so does
a profiler that compares which functions of Python it calls.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence

WORDS = ("item", "value", "entry", "found", "result", "part", "node", "each", "known", "given", "kept", "made", "seen")
"""Of names that are made up."""
_MODULES = ("bisect", "collections", "functools", "itertools", "operator", "re", "string", "sys", "types")
_REMARKS = ("see above", "kept as it is", "nothing else to do", "order matters", "for callers", "as before", "checked")
_METHODS = (
    "capitalize", "casefold", "center", "count", "encode", "endswith", "expandtabs", "find", "format", "index",
    "isalnum", "isalpha", "isdigit", "islower", "isspace", "istitle", "isupper", "join", "ljust", "lower",
    "lstrip", "partition", "replace", "rfind", "rjust", "rpartition", "rsplit", "rstrip", "split", "splitlines",
    "startswith", "strip", "swapcase", "title", "translate", "upper", "zfill",
)  # fmt: skip
"""Of text, since CPython 3.6 and before: the code under test runs on older ones than we do."""
_UNASKED = (
    "capitalize", "casefold", "expandtabs", "isalnum", "isalpha", "isdigit", "islower", "isspace", "istitle", "isupper",
    "lower", "lstrip", "rsplit", "rstrip", "split", "splitlines", "strip", "swapcase", "title", "upper",
)  # fmt: skip
"""Of these methods, those that need no argument."""
BUILTINS = frozenset({"dict", "ascii", "bin", "chr", "format", "hex", "oct", "repr"})
"""What may be called where the module does not bind its name."""
_TELLING = tuple(sorted(BUILTINS - {"dict"}))
"""Of these, those that make a text of a number."""
_NAMED = 6
"""Words of a fix that one function is given, at most."""
_FORMS = (
    "{word!r}.{method}",
    "({number} {operator} {other})",
    "({word!r}, {number})",
    "[{number}, {other}][{index}]",
    "{number} {comparison} {other}",
)
_DICT = "dict({word}={number}, {method}={other})"
_CALLS = ("{word!r}.{unasked}()", "({word!r}, {number}).count({other})", "[{number}, {other}].copy()")
_TOLD = "{telling}({number}).{unasked}()"
_NAMING = ("({word!r}, {number})", "[{word!r}]", "lambda each: each.{word}", "{{{word!r}: {number}}}")


def idle_work(draw: random.Random, words: Sequence[str], *, builtins: Collection[str]) -> list[str]:
    """A few expressions for one function, some of them naming some of `words`; `builtins`: which of `BUILTINS` are what
    their names say. At least one calls something."""
    free = [name for name in _TELLING if name in builtins]
    calls = (*_CALLS, _TOLD) if free else _CALLS
    forms = (*_FORMS, *calls, _DICT) if "dict" in builtins else (*_FORMS, *calls)
    naming = (*_NAMING, _DICT) if "dict" in builtins else _NAMING
    drawn = [draw.choice(calls), *(draw.choice(forms) for _ in range(draw.randrange(3)))]
    made = [_filled(draw, form, draw.choice(WORDS), free) for form in drawn]
    made += [_filled(draw, draw.choice(naming), word, free) for word in draw.sample(words, min(len(words), _NAMED))]
    draw.shuffle(made)
    return made


def _filled(draw: random.Random, form: str, word: str, free: Sequence[str]) -> str:
    return form.format(
        word=word,
        method=draw.choice([name for name in _METHODS if name != word]),
        unasked=draw.choice(_UNASKED),
        telling=draw.choice(free) if free else "",
        number=draw.randrange(1, 9),
        other=draw.randrange(1, 9),
        index=draw.randrange(2),
        operator=draw.choice(("+", "-", "*", "%", "//", "|")),
        comparison=draw.choice(("==", "<", ">", "!=")),
    )


def fresh(draw: random.Random, taken: set[str]) -> str:
    """A name that the file does not have yet."""
    name = "_".join(draw.sample(WORDS, 2))
    while name in taken:
        name += f"_{draw.choice(WORDS)}"
    taken.add(name)
    return name


def import_under(name: str, draw: random.Random) -> str:
    """A line that binds a module of the standard library to a name."""
    return f"import {draw.choice(_MODULES)} as {name}\n"


def _remark(draw: random.Random, _taken: set[str]) -> str:
    return f"# {draw.choice(_REMARKS)}\n" + "\n" * draw.randrange(1, 4)


def _private_function(draw: random.Random, taken: set[str]) -> str:
    name, one, two = (f"_{fresh(draw, taken)}" for _ in range(3))
    body = draw.choice(
        (
            f"return {one} if {two} is None else {two}",
            f"return [{one}, {two}][::-1]",
            f"if {one}:\n        return {two}\n    return {one}",
            f"{two} = ({one}, {two})\n    return {two}",
        )
    )
    return f"def {name}({one}, {two}=None):\n    {body}\n\n\n"


def _private_import(draw: random.Random, taken: set[str]) -> str:
    return import_under(f"_{fresh(draw, taken)}", draw) + "\n"


ADDED: tuple[Callable[[random.Random, set[str]], str], ...] = (_remark, _private_function, _private_import)
"""What may stand between the definitions of a module."""
