"""Python's own parser and compiler, for code that runs on several threads, and how two of its trees are compared."""

from __future__ import annotations

import ast
import re
import symtable
import sys
import tokenize
import warnings
from collections.abc import Callable
from contextlib import suppress
from io import StringIO
from threading import Lock
from typing import Any, TypeVar

DEEPEST = 200
"""Levels that a tree may have. Python's own `unparse` and `dump`, and some functions of ours, take up to three calls
for each, of the thousand that there are. Of 7,348 files of seven real projects two have more: tables of numbers."""
MOST_FIELDS = 10_000
"""Of one f-string. CPython before 3.12 reads n of them in n² steps: 130,000, which are 400 kB, take 20 seconds, in
which nobody else can parse."""
_LONG_NUMBER = re.compile(r"0[xXoObB][\da-fA-F_]{3000}")
"""What Python reads and cannot write: it makes no text of a number of more than 4,300 decimal digits."""
_ONE_AT_A_TIME = Lock()
_AGAIN = 5

Block = list[ast.stmt]
T = TypeVar("T")


class TooComplex(ValueError):
    """Code of more than `DEEPEST` levels, with an f-string of more than `MOST_FIELDS`, or with a number of thousands of
    digits: Python may run it all the same."""


def syntax_tree(source: str | bytes) -> ast.Module:
    """`ast.parse` without its warnings, one thread at a time.

    CPython before 3.11.5 counts the depth of a tree under way per interpreter, so two threads at once now and then end
    in a `SystemError` (python/cpython#106905); what silences warnings is not safe with threads either. Libraries do not
    know of the lock, and whatever a garbage collection calls may parse half-way, hence the further attempts. Raises
    what `ast.parse` does: `SyntaxError`, `ValueError`, `MemoryError`. Of the second kind is `TooComplex`: whoever walks
    a tree by recursion need not think of its depth, and nobody can end or halt us by one.
    """
    text = source if isinstance(source, str) else source.decode("utf-8", "surrogateescape")
    if _LONG_NUMBER.search(text):
        raise TooComplex("a number of it has thousands of digits")
    if sys.version_info < (3, 12) and _has_endless_f_string(text):
        raise TooComplex(f"an f-string of it has more than {MOST_FIELDS:,} fields")
    try:
        tree = _quietly(lambda: ast.parse(source))
    except RecursionError as error:
        raise TooComplex(f"it is nested too deeply: {error}") from error
    if _is_deeper(tree, DEEPEST):
        raise TooComplex(f"it is nested more than {DEEPEST} levels deep")
    return tree


def alike(one: ast.AST, other: ast.AST, kept: Callable[[ast.AST, Block], Block] = lambda _, block: block) -> bool:
    """Whether two trees are the same but for positions. Of a block of statements counts what `kept` leaves, which is
    given the node that it belongs to as well.

    It ends at the first difference, changes neither tree and calls nothing for each level, as `ast.dump` of stripped
    copies did. The standard library has `ast.compare` from Python 3.14 on, which cannot leave anything out.
    """

    def field(node: ast.AST, name: str) -> Any:
        value = getattr(node, name, None)
        return kept(node, value) if isinstance(value, list) and value and isinstance(value[0], ast.stmt) else value

    waiting: list[tuple[Any, Any]] = [(one, other)]
    while waiting:
        mine, theirs = waiting.pop()
        if type(mine) is not type(theirs):
            return False
        if isinstance(mine, ast.AST):
            waiting += [(field(mine, name), field(theirs, name)) for name in mine._fields]
        elif isinstance(mine, list):
            if len(mine) != len(theirs):
                return False
            waiting += zip(mine, theirs, strict=True)
        elif repr(mine) != repr(theirs):
            return False
    return True


def scopes(source: str) -> symtable.SymbolTable:
    """As `syntax_tree`, of `symtable`, which parses as well."""
    return _quietly(lambda: symtable.symtable(source, "", "exec"))


def _quietly(read: Callable[[], T]) -> T:
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(_AGAIN):
            with suppress(SystemError):
                return read()
        return read()


def _has_endless_f_string(text: str) -> bool:
    if text.count("{") <= MOST_FIELDS:
        return False
    with suppress(tokenize.TokenError, SyntaxError):  # which are the parser's to tell
        for token in tokenize.generate_tokens(StringIO(text).readline):
            formatted = token.type == tokenize.STRING and re.match("(?i)r?fr?['\"]", token.string)
            if formatted and token.string.count("{") > MOST_FIELDS:
                return True
    return False


def _is_deeper(tree: ast.AST, levels: int) -> bool:
    """Level by level: `ast.walk` takes twice as long."""
    level: list[Any] = [tree]
    for _ in range(levels):
        below: list[Any] = []
        for node in level:
            for name in node._fields:
                value = getattr(node, name, None)
                if isinstance(value, list):
                    below += value
                elif isinstance(value, ast.AST):
                    below.append(value)
        level = [node for node in below if isinstance(node, ast.AST)]
        if not level:
            return False
    return True
