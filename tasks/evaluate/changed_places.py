"""Where a fix changes a file: the lines, and the functions that they are in, on both sides."""

from __future__ import annotations

import ast
import keyword
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from tasks.adapters.patch.model import FilePatch
from tasks.adapters.patch.render import Change
from tasks.evaluate.dead_code import starred_subscript
from tasks.evaluate.quoting import Unedited, parse
from tasks.evaluate.rewriting import Function, outer_functions

_SPARE = 4
"""Functions of each side that are put into a file, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Consecutive lines of a hunk that are removed and added."""

    line: int
    """1-based line before the fix: the first removed one, else the one that lines are added below."""
    new_line: int
    """The same after the fix: the first added one, else the one below which lines are missing."""
    removed: tuple[str, ...]
    added: tuple[str, ...]


@dataclass(frozen=True)
class FixedFunctions:
    """The functions of a file that have changed lines."""

    old: tuple[Function, ...]
    new: tuple[Function, ...]

    @classmethod
    def of(cls, change: Change, blocks: Collection[Block]) -> FixedFunctions:
        old = [(block.line, max(len(block.removed), 1)) for block in blocks]
        new = [(block.new_line, max(len(block.added), 1)) for block in blocks]
        return cls(_functions_at(change.before, old), _functions_at(change.after, new))

    @cached_property
    def spare(self) -> tuple[Function, ...]:
        """Some of both sides, to stand among others under private names."""
        return tuple(node for side in (self.old, self.new) for node in list(filter(_can_be_moved, side))[:_SPARE])

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Those that only one side has."""
        return tuple(sorted(_words(self.old) ^ _words(self.new)))


def blocks_of(file: FilePatch) -> Iterator[Block]:
    """The changed places of one file of a patch in normal form."""
    for hunk in file.hunks:
        old, new = hunk.old_start, hunk.new_start
        removed: list[str] = []
        added: list[str] = []
        for line in (*hunk.lines, " "):
            if line[0] == " " and (removed or added):
                yield Block(
                    line=old if removed else max(old - 1, 1),
                    new_line=new if added else max(new - 1, 1),
                    removed=tuple(removed),
                    added=tuple(added),
                )
                old, new = old + len(removed), new + len(added)
                removed, added = [], []
            if line[0] == " ":
                old, new = old + 1, new + 1
            else:
                (removed if line[0] == "-" else added).append(line[1:])


def _functions_at(text: str | None, ranges: Iterable[tuple[int, int]]) -> tuple[Function, ...]:
    """The functions of a file that have lines of these ranges (first line, how many)."""
    tree = parse(text or "")
    if isinstance(tree, Unedited):
        return ()
    lines = {first + at for first, number in ranges for at in range(number)}
    return tuple(
        node
        for node in outer_functions(tree)
        if not lines.isdisjoint(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    )


def _words(functions: Iterable[Function]) -> set[str]:
    """Names of attributes, keywords and others that these functions use."""
    found = {
        word
        for function in functions
        for node in ast.walk(function)
        for word in (getattr(node, "attr", None), getattr(node, "arg", None), getattr(node, "id", None))
    }
    return {word for word in found if isinstance(word, str) and not (word.startswith("__") or keyword.iskeyword(word))}


def _can_be_moved(node: Function) -> bool:
    return not any(map(starred_subscript, ast.walk(node)))
