"""Python's own parser and compiler, made thread-safe, and a comparison of syntax trees."""

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
"""Maximum number of levels of a tree.

Python's `unparse` and `dump`, and some functions here, use up to three calls per level, of a thousand available ones.
Of 7,348 files of seven real projects two have more levels: tables of numbers.
"""
MOST_FIELDS = 10_000
"""Maximum number of fields of one f-string.

CPython before 3.12 parses n fields in n² steps. 130,000 fields (400 kB) take 20 seconds, during which no other thread
can parse.
"""
_LONG_NUMBER = re.compile(r"0[xXoObB][\da-fA-F_]{3000}")
"""Numbers that Python can parse but not convert to text, because they have more than 4,300 decimal digits."""
_ONE_AT_A_TIME = Lock()
_AGAIN = 5

Block = list[ast.stmt]
T = TypeVar("T")


class TooComplex(ValueError):
    """Code with more than `DEEPEST` levels, an f-string with more than `MOST_FIELDS` fields, or a number with thousands
    of digits. Python may still be able to run it."""


def syntax_tree(source: str | bytes) -> ast.Module:
    """Parses like `ast.parse`, without warnings and one thread at a time.

    CPython before 3.11.5 counts the depth of the current tree per interpreter, so two threads at once occasionally get
    a `SystemError` (python/cpython#106905). Suppressing warnings is not thread-safe either. Libraries do not use the
    lock, and code called by garbage collection may parse as well, so the function retries.

    Raises the errors of `ast.parse`: `SyntaxError`, `ValueError`, `MemoryError`. `TooComplex` is a `ValueError`:
    callers can walk the tree recursively without checking its depth, and no input can crash or block this process.
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
    """Whether two trees are equal except for positions. `kept` returns the statements of a block that count, given its
    node.

    It stops at the first difference, changes neither tree and does not recurse, unlike `ast.dump` of stripped copies.
    The standard library has `ast.compare` from Python 3.14 on, which cannot leave anything out.
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
    """Returns the symbol table of `symtable`, which also parses, like `syntax_tree`."""
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
    with suppress(tokenize.TokenError, SyntaxError):  # the parser reports these errors
        for token in tokenize.generate_tokens(StringIO(text).readline):
            formatted = token.type == tokenize.STRING and re.match("(?i)r?fr?['\"]", token.string)
            if formatted and token.string.count("{") > MOST_FIELDS:
                return True
    return False


def _is_deeper(tree: ast.AST, levels: int) -> bool:
    """Checks level by level: `ast.walk` takes twice as long."""
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
