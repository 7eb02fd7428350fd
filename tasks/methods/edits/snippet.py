"""The code of one edit: repaired if it does not parse, split into statements, and re-indented for its new place."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from enum import StrEnum

from tasks.domain.syntax import syntax_tree
from tasks.methods.edits.model import EditReason, EditRefused

_NUMBERED = re.compile(r"\s*\d+[ \t:|](?P<rest>.*)|\s*\d+(?P<empty>)$")
MAX_CUT = 200
"""Maximum number of cuts that are tried at the end of a cut-off reply to find whole statements."""


class CodeKind(StrEnum):
    FUNCTION = "function"
    CLASS = "class"
    IMPORT = "import"
    FUTURE = "future"
    """`from __future__ import …`, which must come first in a file."""
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One statement with the comments above it."""

    kind: CodeKind
    name: str
    """Name of a function or class; empty otherwise."""
    lines: tuple[str, ...]
    """Lines without newlines, indented by `indent`."""
    indent: str
    loose: frozenset[int]
    """Indexes of lines inside a multi-line string; they keep their indentation."""
    method: bool
    """Whether the first parameter is `self` or `cls`."""
    body: tuple[Statement, ...] = ()
    """Statements of a class body."""
    gap: int = 0
    """Blank lines above it."""

    def at(self, indent: str) -> list[str]:
        """Returns the lines, indented by `indent`."""
        if indent == self.indent:
            return list(self.lines)
        return [
            line if index in self.loose or not line.strip() else indent + line.removeprefix(self.indent)
            for index, line in enumerate(self.lines)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """The statements of one edit."""

    statements: tuple[Statement, ...]
    indented: bool
    """Whether the model indented the code like a method."""
    notes: tuple[str, ...]
    """Repairs of the code."""

    @property
    def definitions(self) -> tuple[Statement, ...]:
        return tuple(one for one in self.statements if one.kind in (CodeKind.FUNCTION, CodeKind.CLASS))


def parse(source: str) -> ast.Module | None:
    """Returns the syntax tree; None if the source does not parse."""
    try:
        return syntax_tree(source.encode("utf-8", "replace").decode("utf-8"))
    except (SyntaxError, ValueError, MemoryError):
        return None


def read_snippet(code: str, *, closed: bool) -> Snippet | EditRefused:
    """Returns the statements of `code`. If it does not parse, tries repairs, the smallest first."""
    lines = [line.rstrip("\r") for line in code.split("\n")]
    for note, tidied in _tidied(lines, closed):
        if found := _statements(tidied):
            statements, indented = found
            return Snippet(statements=statements, indented=indented, notes=(note,) if note else ())
    first = next((line.strip() for line in lines if line.strip()), "")
    return EditRefused(reason=EditReason.CODE_DOES_NOT_PARSE, detail=f"the code that begins with {first[:80]!r}")


def _tidied(lines: list[str], closed: bool) -> list[tuple[str, list[str]]]:
    """Returns the code as it is, then each repaired version."""
    plain = [line for line in lines if line.strip() not in ("...", "…")]
    ways = [("", lines), ("line numbers removed", _unnumbered(lines)), ("ellipses removed", plain)]
    if not closed:
        ways += [("the cut end left out", lines[:end]) for end in _ends(lines)]
    return [(note, way) for note, way in ways if way and (not note or way != lines)]


def _unnumbered(lines: list[str]) -> list[str]:
    """Remove the line numbers of the prompt. Returns nothing unless every line has one."""
    matches = [_NUMBERED.fullmatch(line) for line in lines if line.strip()]
    if not matches or not all(matches):
        return []
    return [match["rest"] or "" for match in matches if match]


def _ends(lines: list[str]) -> list[int]:
    """Returns the starts of later statements at the outermost indentation, last first. The code before such a line may
    be whole."""
    indents = [len(line) - len(line.lstrip()) for line in lines if line.strip()]
    outer = min(indents, default=0)
    starts = [at for at, line in enumerate(lines) if line.strip() and len(line) - len(line.lstrip()) == outer]
    return [at for at in reversed(starts) if at > 0][:MAX_CUT]


def _statements(lines: list[str]) -> tuple[tuple[Statement, ...], bool] | None:
    """Returns the statements, and whether they are indented; None if the lines do not parse."""
    first = next((line for line in lines if line.strip() and not line.lstrip().startswith("#")), "")
    indent = first[: len(first) - len(first.lstrip())]
    offset, source = (1, ["if 1:", *lines]) if indent else (0, lines)
    tree = parse("\n".join(source) + "\n")
    if tree is None or not tree.body:
        return None
    body = tree.body[0].body if indent and isinstance(tree.body[0], ast.If) else tree.body
    if indent and len(tree.body) > 1:
        return None
    found = _cut(body, source, offset, len(source), indent)
    return (found, bool(indent)) if found else None


def _cut(body: list[ast.stmt], source: list[str], begin: int, end: int, indent: str) -> tuple[Statement, ...]:
    """Split a body in lines `begin` to `end` (0-based, half open) into statements."""
    statements = []
    for number, node in enumerate(body):
        last = number == len(body) - 1
        stop = max(end if last else (node.end_lineno or node.lineno), begin)
        lines = source[begin:stop]
        lead = next((at for at, line in enumerate(lines) if line.strip()), len(lines))
        trimmed = lines[lead:]
        while trimmed and not trimmed[-1].strip():
            trimmed.pop()
        if trimmed:
            statements.append(_statement(node, trimmed, begin + lead, source, indent, lead))
        begin = stop
    return tuple(statements)


def _statement(node: ast.stmt, lines: list[str], start: int, source: list[str], indent: str, gap: int) -> Statement:
    kind, name, method = _facts(node)
    body: tuple[Statement, ...] = ()
    if isinstance(node, ast.ClassDef) and node.body[0].lineno > node.lineno:
        first = node.body[0]
        text = source[first.lineno - 1]
        inner = text[: len(text) - len(text.lstrip())]
        body = _cut(node.body, source, _header_end(node, source), start + len(lines), inner)
    return Statement(
        kind=kind,
        name=name,
        lines=tuple(lines),
        indent=indent,
        loose=frozenset(line - start for line in _inside_strings(node)),
        method=method,
        body=body,
        gap=gap,
    )


def _header_end(node: ast.ClassDef, source: list[str]) -> int:
    """Returns the 0-based line after the head. Comments right above the first statement of the body belong to that
    statement."""
    first = node.body[0]
    decorators: list[ast.expr] = getattr(first, "decorator_list", [])
    at = min([first.lineno, *(one.lineno for one in decorators)]) - 1
    while at > node.lineno and (not source[at - 1].strip() or source[at - 1].lstrip().startswith("#")):
        at -= 1
    return at


def _facts(node: ast.stmt) -> tuple[CodeKind, str, bool]:
    """Returns kind, name, and whether the statement looks like a method."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        parameters = [*node.args.posonlyargs, *node.args.args]
        return CodeKind.FUNCTION, node.name, bool(parameters) and parameters[0].arg in ("self", "cls")
    if isinstance(node, ast.ClassDef):
        return CodeKind.CLASS, node.name, False
    if isinstance(node, ast.ImportFrom) and node.module == "__future__":
        return CodeKind.FUTURE, "", False
    return (CodeKind.IMPORT if isinstance(node, ast.Import | ast.ImportFrom) else CodeKind.OTHER), "", False


def _inside_strings(node: ast.stmt) -> set[int]:
    """Returns the 0-based lines that begin inside a string, except docstrings. Indenting such lines changes the
    string."""
    inside: set[int] = set()
    docstrings = {id(body[0].value) for body in _bodies(node) if body and isinstance(body[0], ast.Expr)}
    for part in ast.walk(node):
        text = isinstance(part, ast.JoinedStr) or (
            isinstance(part, ast.Constant) and isinstance(part.value, str | bytes)
        )
        if text and isinstance(part, ast.expr) and id(part) not in docstrings:
            inside.update(range(part.lineno, part.end_lineno or part.lineno))
    return inside


def _bodies(node: ast.stmt) -> list[list[ast.stmt]]:
    return [
        part.body for part in ast.walk(node) if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ]
