"""Extracts the parts of a fix that are not behaviour: documents, data, docstrings, comments and names."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from tasks.adapters.patch.read import split_lines, to_bytes
from tasks.adapters.patch.render import Change
from tasks.domain.syntax import Block, alike, syntax_tree
from tasks.integrity.edits import blocks_of, harmless

Function = ast.FunctionDef | ast.AsyncFunctionDef


def without_behaviour(changes: Iterable[Change], draw: random.Random) -> Iterator[Change]:
    """Yields the changes of a fix without its behaviour.

    Files that are not Python are unchanged. A Python file gets the docstrings and comments of the fix, and a stub for
    each added function. It also gets the new parameters of changed functions, and one function with a random name.
    Special methods get no stub, since Python calls them implicitly. Golden tests decide whether the result is a decoy.
    """
    for change in changes:
        if not change.path.endswith(".py") or change.before is None or change.after is None:
            yield change
        else:
            yield replace(change, after=harmless(_with_names(_with_remarks(change), change.after), draw))


def only_harmless(changes: Iterable[Change], draw: random.Random) -> Iterator[Change]:
    """Yields each Python file of the fix in its base version, with one added function of a random name."""
    for change in changes:
        if change.path.endswith(".py") and change.before is not None:
            yield replace(change, after=harmless(change.before, draw))


def _with_remarks(change: Change) -> str:
    """Returns the base text with those changed blocks that leave the syntax tree equal, apart from docstrings."""
    before, tree = change.before or "", _tree(change.before or "")
    if tree is None:
        return before
    text = split_lines(before)
    for block in reversed(list(blocks_of(change))):
        made = [*text[: block.line - 1], *block.added, *text[block.line - 1 + len(block.removed) :]]
        again = _tree("".join(made))
        if again is not None and alike(again, tree, _without_docstring):
            text = made
    return "".join(text)


def _without_docstring(_: ast.AST, block: Block) -> Block:
    """Removes the docstring of a body. A body that is only a docstring stays, or all stubs would be equal."""
    first = block[0]
    is_text = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    return block[1:] if is_text and len(block) > 1 else block


@dataclass(frozen=True, slots=True, kw_only=True)
class _Insertion:
    """Lines that replace the lines `first` to `last` (1-based, `last` excluded) of a text."""

    first: int
    last: int
    lines: tuple[str, ...]
    indent: int = 0
    """Column of the definition: at the end of a file a method comes before a function."""


def _with_names(text: str, fixed: str) -> str:
    """Returns `text` with the missing functions and parameters of `fixed`; unchanged if either cannot be parsed."""
    here, there = _tree(text), _tree(fixed)
    if here is None or there is None:
        return text
    lines, fixed_lines = split_lines(text), split_lines(fixed)
    insertions = reversed([*_insertions(here, there, lines, fixed_lines)])
    for one in sorted(insertions, key=lambda one: (one.first, one.last, -one.indent), reverse=True):
        lines[one.first - 1 : one.last - 1] = one.lines
    made = "".join(lines)
    return made if _tree(made) is not None else text


def _insertions(
    here: ast.Module | ast.ClassDef, there: ast.Module | ast.ClassDef, lines: list[str], fixed: list[str]
) -> Iterator[_Insertion]:
    """Yields the insertions that give the body of one module or class the names of the other."""
    known = {node.name: node for node in here.body if isinstance(node, Function | ast.ClassDef)}
    for node in there.body:
        mine = known.get(getattr(node, "name", ""))
        if isinstance(node, ast.ClassDef) and isinstance(mine, ast.ClassDef):
            yield from _insertions(mine, node, lines, fixed)
        elif isinstance(node, Function) and mine is None and not node.name.startswith("__"):
            yield _stub(here, node, lines, fixed)
        elif isinstance(node, Function) and isinstance(mine, Function) and _has_own_lines(node, fixed):
            yield from _new_header(mine, node, lines, fixed)


def _new_header(mine: Function, node: Function, lines: list[str], fixed: list[str]) -> Iterator[_Insertion]:
    """Yields the header of `node` as replacement for that of `mine`, if their parameters differ."""
    if _has_own_lines(mine, lines) and not alike(node.args, mine.args):
        yield _Insertion(first=_start(mine), last=_start(mine.body[0]), lines=tuple(_header(node, fixed)))


def _has_own_lines(node: Function, lines: list[str]) -> bool:
    """Whether the body of a function starts on its own line."""
    first = node.body[0]
    return not lines[first.lineno - 1][: first.col_offset].strip()


def _stub(here: ast.Module | ast.ClassDef, node: Function, lines: list[str], fixed: list[str]) -> _Insertion:
    end = (here.body[-1].end_lineno or 0) + 1 if isinstance(here, ast.ClassDef) else len(lines) + 1
    if not _has_own_lines(node, fixed):
        return _Insertion(first=end, last=end, lines=())
    body = fixed[node.body[0].lineno - 1]
    indent = body[: len(body) - len(body.lstrip())]
    start = "\n" if lines and lines[min(end, len(lines) + 1) - 2].endswith("\n") else "\n\n"
    made = (start, *_header(node, fixed), f"{indent}raise NotImplementedError\n")
    return _Insertion(first=end, last=end, lines=made, indent=node.col_offset)


def _start(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)])


def _header(node: Function, lines: list[str]) -> list[str]:
    return lines[_start(node) - 1 : _start(node.body[0]) - 1]


def _tree(text: str) -> ast.Module | None:
    try:
        return syntax_tree(to_bytes(text))
    except (SyntaxError, ValueError, MemoryError):
        return None
