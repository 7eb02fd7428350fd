"""Python's own parser, for code that runs on several threads."""

from __future__ import annotations

import ast
import warnings
from contextlib import suppress
from threading import Lock

_ONE_AT_A_TIME = Lock()
_AGAIN = 5


def syntax_tree(source: str | bytes) -> ast.Module:
    """`ast.parse` without its warnings, one thread at a time.

    CPython before 3.11.5 counts the depth of a tree under way per interpreter, so two threads at once now and then end
    in a `SystemError` (python/cpython#106905); what silences warnings is not safe with threads either. Libraries do not
    know of the lock, and whatever a garbage collection calls may parse half-way, hence the further attempts. Raises
    what `ast.parse` does: `SyntaxError`, `ValueError`, `RecursionError`, `MemoryError`.
    """
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(_AGAIN):
            with suppress(SystemError):
                return ast.parse(source)
        return ast.parse(source)
