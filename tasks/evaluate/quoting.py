"""Putting text into a Python file where it has no effect: before a statement, as a string that nothing reads.

Statements are put there as well, as code that never runs. Tests that look at source text, its size or its hash, or
at the syntax tree, notice; tests of behaviour cannot. The result is compared with the original by syntax tree, so a
file in which the text would have an effect is refused, never altered.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tasks.adapters.patch.read import split_lines
from tasks.domain.syntax import Block, alike, syntax_tree
from tasks.evaluate.dead_code import never_run, never_runs, same_scopes

NO_EFFECT = "__name__"
"""Read and dropped: no effect, but other bytecode."""

Owner = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_OWNERS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Unedited:
    """Why a file cannot be edited without a doubt."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedStatement:
    """A statement and where something can be put before it."""

    number: int
    """Its place in the syntax tree: the same in every rendering of one tree."""
    first: int
    """1-based line of its first decorator, or of itself."""
    last: int
    header: range
    """Lines of a definition's own header; empty for other statements."""
    indent: str
    in_class: bool
    """Directly in the body of a class."""
    open: bool
    """Whether a line before it is a place for a statement that is no docstring."""


@dataclass(frozen=True, slots=True)
class Quote:
    """Lines to put before the statement of this number."""

    number: int
    lines: tuple[str, ...]
    statements: tuple[ast.stmt, ...] = ()
    """Of another version of the file, to put there as well."""


def parse(text: str) -> ast.Module | Unedited:
    """The syntax tree in today's grammar."""
    try:
        text.encode("utf-8")
        return syntax_tree(text)
    except UnicodeEncodeError:
        return Unedited("it is not UTF-8")
    except (SyntaxError, ValueError, MemoryError) as error:
        return Unedited(f"it cannot be parsed: {error}")


def same_meaning(text: str, tree: ast.Module) -> bool:
    """Whether `text` is `tree` but for statements without effect and those that never run."""
    again = parse(text)
    return isinstance(again, ast.Module) and alike(again, tree, _with_an_effect)


def statements(text: str, tree: ast.Module) -> tuple[PlacedStatement, ...]:
    """Every statement of a file, in the order of their numbers."""
    lines = split_lines(text)
    return tuple(
        _statement(number, node, owner, lines, open_=not bound and _starts_its_line(node, lines))
        for number, (node, owner, bound) in enumerate(_walk(tree, tree))
    )


def place_for(line: int, found: Sequence[PlacedStatement]) -> int | None:
    """The number of the statement to put something before that belongs to `line`: in the same function if it can be.

    Null where no statement is open.
    """
    ways = [statement for statement in found if statement.open]
    inside = [each for each in found if line in each.header]
    if inside:
        below = [each for each in ways if each.first > line and each.last <= inside[-1].last]
        ways = [min(below, key=lambda each: each.first)] if below else ways
    above = [each for each in ways if each.first <= line]
    best = max(above, key=lambda each: each.first, default=None) or min(ways, key=lambda e: e.first, default=None)
    return best.number if best else None


def quoted(text: str, quotes: Iterable[Quote], found: Sequence[PlacedStatement]) -> str:
    """`text` with every quote before its statement; `found` are the statements of `text`."""
    lines = split_lines(text)
    by_number = {statement.number: statement for statement in found}
    for quote in sorted(quotes, key=lambda quote: by_number[quote.number].first, reverse=True):
        statement = by_number[quote.number]
        lines[statement.first - 1 : statement.first - 1] = [
            *_quotation(statement, quote.lines),
            *(never_run(node, statement.indent, in_class=statement.in_class) for node in quote.statements),
        ]
    return "".join(lines)


def quoted_with_shape(text: str, quotes: Sequence[Quote], found: Sequence[PlacedStatement]) -> str:
    """`quoted`, with as many of the statements as change nothing: all of them, or those that do not one by one."""
    if any(quote.statements for quote in quotes) and same_scopes(made := quoted(text, quotes, found), text):
        return made
    kept = [replace(quote, statements=()) for quote in quotes]
    for at, quote in enumerate(quotes):
        for node in quote.statements:
            one_more = replace(kept[at], statements=(*kept[at].statements, node))
            trial = [*kept[:at], one_more, *kept[at + 1 :]]
            if same_scopes(quoted(text, trial, found), text):
                kept = trial
    return quoted(text, kept, found)


def _quotation(statement: PlacedStatement, text: tuple[str, ...]) -> list[str]:
    """A statement without effect, so that no docstring is made, and the text as it is, as a string below it."""
    indent, lead = statement.indent, "pass" if statement.in_class else NO_EFFECT
    body = "".join(line.rstrip("\r\n") + "\n" for line in text)
    marks = [mark for mark in ('"""', "'''") if mark not in body and not body.endswith(mark[0] + "\n")]
    if not text:
        return [f"{indent}{lead}\n"]
    if not marks:
        return [f"{indent}{lead}\n", *(f"{indent}# {line}\n" for line in body.splitlines())]
    return [f"{indent}{lead}\n", f"{indent}r{marks[0]}\n", body, f"{indent}{marks[0]}\n"]


def _walk(owner: Owner, tree: ast.AST) -> Iterator[tuple[ast.stmt, Owner, bool]]:
    """Statements with the definition they are in, and whether they are bound to be where they are."""
    for block in _blocks(tree):
        bound = _bound(block) if block is getattr(owner, "body", None) and tree is owner else 0
        for at, node in enumerate(block):
            yield node, owner, at < bound
            yield from _walk(node if isinstance(node, _OWNERS) else owner, node)


def _blocks(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    for _, value in ast.iter_fields(tree):
        parts = value if isinstance(value, list) else []
        if parts and isinstance(parts[0], ast.stmt):
            yield parts
        for part in parts:
            if isinstance(part, ast.ExceptHandler | ast.match_case):
                yield from _blocks(part)


def _bound(body: list[ast.stmt]) -> int:
    """How many statements at the start of a body nothing may be put before: its docstring, and future imports."""
    future = [at for at, node in enumerate(body) if isinstance(node, ast.ImportFrom) and node.module == "__future__"]
    docstring = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    return max([int(docstring), *(at + 1 for at in future)])


def _statement(number: int, node: ast.stmt, owner: Owner, lines: list[str], *, open_: bool) -> PlacedStatement:
    first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
    header = range(first, node.body[0].lineno) if isinstance(node, _OWNERS) else range(0)
    line = lines[node.lineno - 1]
    return PlacedStatement(
        number=number,
        first=first,
        last=node.end_lineno or node.lineno,
        header=header,
        indent=line[: len(line) - len(line.lstrip())],
        in_class=isinstance(owner, ast.ClassDef),
        open=open_,
    )


def _starts_its_line(node: ast.stmt, lines: list[str]) -> bool:
    """Whether nothing stands before it on its line, not even the `el` of an `elif`."""
    line = lines[node.lineno - 1].encode()
    return not line[: node.col_offset].strip() and not line[node.col_offset :].startswith(b"elif")


def _with_an_effect(_: ast.AST, block: Block) -> Block:
    """Without what `quoted` adds; a docstring is first in its body and stays."""
    return [each for at, each in enumerate(block) if not _idle(each, first=at == 0)]


def _idle(node: ast.stmt, *, first: bool) -> bool:
    if isinstance(node, ast.Pass) or never_runs(node):
        return True
    if not isinstance(node, ast.Expr):
        return False
    value = node.value
    name = isinstance(value, ast.Name) and value.id == NO_EFFECT
    return name or (isinstance(value, ast.Constant) and isinstance(value.value, str) and not first)
