"""The parts of a fix that are not behaviour: documents, data, docstrings, comments and names, without the code."""

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
    """The changes of a fix as they would be if it fixed nothing.

    Files that are not Python are taken as they are. A Python file gets the docstrings and comments of the fix, a stub
    for each function that the fix adds, the new parameters of the functions it changes, and one function of a drawn
    name. Special methods get no stub, since Python calls them by itself. Golden tests decide whether it is a decoy.
    """
    for change in changes:
        if not change.path.endswith(".py") or change.before is None or change.after is None:
            yield change
        else:
            yield replace(change, after=harmless(_with_names(_with_remarks(change), change.after), draw))


def only_harmless(changes: Iterable[Change], draw: random.Random) -> Iterator[Change]:
    """Each Python file of the fix as the base commit has it, with one function of a drawn name."""
    for change in changes:
        if change.path.endswith(".py") and change.before is not None:
            yield replace(change, after=harmless(change.before, draw))


def _with_remarks(change: Change) -> str:
    """The base text with those changes of lines after which the syntax tree is the same but for docstrings."""
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
    """Bodies that consist of a docstring alone stay, or every stub would look like every other."""
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
    """`text` with the functions and the parameters of `fixed` that it lacks; as it is where one cannot be parsed."""
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
    """What the body of one module or class needs to have the names of the other."""
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
    """The header of `node` in the place of that of `mine`, if the two have different parameters."""
    if _has_own_lines(mine, lines) and not alike(node.args, mine.args):
        yield _Insertion(first=_start(mine), last=_start(mine.body[0]), lines=tuple(_header(node, fixed)))


def _has_own_lines(node: Function, lines: list[str]) -> bool:
    """Whether the body of a function begins on a line of its own."""
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
