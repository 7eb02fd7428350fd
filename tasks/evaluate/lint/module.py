"""A test file as the rules see it."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from tasks.domain.syntax import syntax_tree

CODE_CHARACTERS = 200

_CONDITIONS = (ast.If, ast.While, ast.IfExp, ast.Assert)
_CHECKS = ("assert", "fail", "skip", "xfail")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a rule found."""

    line: int
    rule: str
    detail: str


class LintedModule:
    """One Python file and its syntax tree. Only findings in `added`, the lines that the suite adds, count."""

    def __init__(self, text: str, tree: ast.Module, added: frozenset[int]) -> None:
        self.text = text
        self.tree = tree
        self._lines = sorted(added)

    def find(self, rule: str, node: ast.AST) -> Iterator[Finding]:
        """A finding at `node`, if the suite adds any line of it."""
        line = _first_from(self._lines, *_span(node))
        if line is not None:
            yield Finding(line=line, rule=rule, detail=self.code(node))

    def code(self, node: ast.AST) -> str:
        try:
            return " ".join(ast.unparse(node).split())[:CODE_CHARACTERS]
        except (ValueError, RecursionError):
            return type(node).__name__

    @cached_property
    def everything(self) -> tuple[ast.AST, ...]:
        return tuple(ast.walk(self.tree))

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Those with an added line, which alone can be findings: one test is added to a file of thousands of lines."""
        return tuple(node for node in self.everything if _first_from(self._lines, *_span(node)) is not None)

    @cached_property
    def calls(self) -> tuple[ast.Call, ...]:
        """Calls with an added line."""
        return tuple(node for node in self.nodes if isinstance(node, ast.Call))

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        return {child: node for node in self.everything for child in ast.iter_child_nodes(node)}

    @cached_property
    def imports(self) -> dict[str, str]:
        """Name in this file → the dotted name that it stands for: `from os import path as p` gives `p` → `os.path`."""
        found: dict[str, str] = {}
        for node in self.everything:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    found[alias.asname or alias.name.split(".")[0]] = alias.name if alias.asname else _top(alias.name)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        return found

    @cached_property
    def assigned(self) -> dict[str, ast.expr]:
        """Variable → the value it was last given in the file, wherever that was."""
        return {
            target.id: node.value
            for node in self.everything
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }

    @cached_property
    def _deciding(self) -> frozenset[str]:
        """Names whose value an outcome hangs on somewhere."""
        uses = (use for use in self.everything if isinstance(use, ast.Name) and isinstance(use.ctx, ast.Load))
        return frozenset(use.id for use in uses if self.in_condition(use))

    def dotted(self, node: ast.AST) -> str:
        """`os.path.exists` for a name or attribute, through the imports; `Path()` for `Path(x) / y`; else empty."""
        if isinstance(node, ast.Name):
            return self.imports.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            owner = self.dotted(node.value)
            return f"{owner}.{node.attr}" if owner else f"?.{node.attr}"
        if isinstance(node, ast.BinOp):
            return self.dotted(node.left)
        if isinstance(node, ast.Call):
            made = self.dotted(node.func)
            return f"{made}()" if made else ""
        return ""

    def calls_of(self, matches: Callable[[str], bool]) -> Iterator[ast.Call]:
        """Calls with an added line of what `matches`."""
        return (call for call in self.calls if matches(self.dotted(call.func)))

    def in_condition(self, node: ast.AST) -> bool:
        """Whether a test's outcome hangs on `node`: it stands in a comparison, an assertion, or the test of an `if`."""
        child, parent = node, self.parents.get(node)
        while parent is not None and not isinstance(parent, ast.stmt):
            if isinstance(parent, ast.Compare) or (isinstance(parent, ast.IfExp) and child is parent.test):
                return True
            if isinstance(parent, ast.Call) and child is not parent.func and _is_check(self.dotted(parent.func)):
                return True
            child, parent = parent, self.parents.get(parent)
        return isinstance(parent, _CONDITIONS) and child is getattr(parent, "test", None)

    def compared(self, node: ast.AST) -> bool:
        """Whether `node` itself is one side of a comparison, or the whole test of an `if` or an assert."""
        parent = self.parents.get(node)
        return isinstance(parent, ast.Compare) or (isinstance(parent, _CONDITIONS) and node is parent.test)

    def decides(self, node: ast.AST) -> bool:
        """The same for a value that is first given to a variable."""
        if self.in_condition(node):
            return True
        statement = self._statement(node)
        if not isinstance(statement, ast.Assign):
            return False
        return any(isinstance(target, ast.Name) and target.id in self._deciding for target in statement.targets)

    def at_import(self, node: ast.AST) -> bool:
        """Whether `node` runs when the file is imported."""
        parent = self.parents.get(node)
        while parent is not None:
            if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                return False
            parent = self.parents.get(parent)
        return True

    def _statement(self, node: ast.AST) -> ast.AST | None:
        while node is not None and not isinstance(node, ast.stmt):
            node = self.parents.get(node)  # type: ignore[assignment]
        return node


def parse(text: str, added: frozenset[int]) -> LintedModule | SyntaxError:
    """The file, or why it is none; never raises."""
    try:
        return LintedModule(text, syntax_tree(text.encode("utf-8", "surrogateescape")), added)
    except (SyntaxError, ValueError, MemoryError) as error:
        return error if isinstance(error, SyntaxError) else SyntaxError(str(error))


def texts_in(node: ast.AST) -> list[str]:
    """Literal strings anywhere below a node."""
    return [part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)]


def _span(node: ast.AST) -> tuple[int, int]:
    """First and last line; twice 0, which is no line, where a node has none."""
    first = getattr(node, "lineno", 0)
    return first, getattr(node, "end_lineno", None) or first


def _first_from(lines: list[int], first: int, last: int) -> int | None:
    """The first of the sorted `lines` that lies in a span."""
    at = bisect_left(lines, first)
    return lines[at] if at < len(lines) and lines[at] <= last else None


def _top(name: str) -> str:
    return name.partition(".")[0]


def _is_check(name: str) -> bool:
    """`self.assertEqual`, `assert_allclose`, `pytest.fail`, `skipif` …"""
    return name.rpartition(".")[2].lower().startswith(_CHECKS)
