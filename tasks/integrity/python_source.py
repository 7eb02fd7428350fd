"""Parses a Python file for all checks: its syntax tree, and lookups in the tree."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property

from tasks.adapters.patch.render import added_lines
from tasks.domain.syntax import TooComplex, syntax_tree

CODE_CHARACTERS = 200
LONGEST_NAME = 20
"""Maximum number of parts of a dotted name. A longer chain has no name, since `dotted` is quadratic in its length."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


class PythonSource:
    """One Python file. The tree is empty if the file is missing or cannot be parsed; `error` has the reason."""

    def __init__(self, text: str | None, before: str | None = None, *, parse: bool = True) -> None:
        """Parses `text` if it is Python; `before` is the earlier version, None for a new file."""
        self.text = text or ""
        self._before = before
        self.error: SyntaxError | None = None
        self.too_complex = False
        self.tree = ast.Module(body=[], type_ignores=[])
        try:
            # Bytes, because Python ignores the encoding declaration of a string, and code could then look like a
            # comment.
            self.tree = syntax_tree(self.text.encode("utf-8", "surrogateescape") if parse else b"")
        except (SyntaxError, ValueError, MemoryError) as error:
            self.error = error if isinstance(error, SyntaxError) else SyntaxError(str(error))
            self.too_complex = isinstance(error, TooComplex)

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        return tuple(ast.walk(self.tree))

    @cached_property
    def added(self) -> frozenset[int]:
        """1-based lines that the earlier version lacks."""
        return added_lines(self._before, self.text)

    @cached_property
    def added_nodes(self) -> tuple[ast.AST, ...]:
        """Nodes that begin in an added line."""
        return tuple(node for node in self.nodes if getattr(node, "lineno", 0) in self.added)

    @cached_property
    def touched_nodes(self) -> tuple[ast.AST, ...]:
        """Nodes with any added line."""
        return tuple(node for node in self.nodes if self.first_added_line(node) is not None)

    def first_added_line(self, node: ast.AST) -> int | None:
        """Returns the first added line of a node, None if it has none."""
        first = getattr(node, "lineno", 0)
        at = bisect_left(self._sorted_added, first)
        last = getattr(node, "end_lineno", None) or first
        return self._sorted_added[at] if at < len(self._sorted_added) and self._sorted_added[at] <= last else None

    @cached_property
    def _sorted_added(self) -> list[int]:
        return sorted(self.added)

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        return {child: node for node in self.nodes for child in ast.iter_child_nodes(node)}

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yields the nodes around a node, innermost first."""
        parent = self.parents.get(node)
        while parent is not None:
            yield parent
            parent = self.parents.get(parent)

    @cached_property
    def imports(self) -> dict[str, str]:
        """Name in this file → dotted name of what it imports: `from os import path as p` gives `p` → `os.path`."""
        found: dict[str, str] = {}
        for node in self.nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    top = alias.name.partition(".")[0]
                    found[alias.asname or top] = alias.name if alias.asname else top
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        return found

    def resolved(self, node: ast.AST) -> str:
        """Returns `os.path.exists` for a name or attribute, through the imports; `Path()` for `Path(x) / y`; or ""."""
        if isinstance(node, ast.Name):
            return self.imports.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            owner = self.resolved(node.value)
            return f"{owner}.{node.attr}" if owner else f"?.{node.attr}"
        if isinstance(node, ast.BinOp):
            return self.resolved(node.left)
        if isinstance(node, ast.Call):
            made = self.resolved(node.func)
            return f"{made}()" if made else ""
        return ""

    @cached_property
    def functions(self) -> dict[str, Function]:
        """Qualified name → function or method; the last of several with one name."""
        found: dict[str, Function] = {}

        def walk(node: ast.AST, prefix: str) -> None:
            for child in ast.iter_child_nodes(node):
                name = f"{prefix}{getattr(child, 'name', '')}"
                if isinstance(child, Function):
                    found[name] = child
                walk(child, f"{name}." if isinstance(child, Function | ast.ClassDef) else prefix)

        walk(self.tree, "")
        return found

    def owner(self, node: ast.AST) -> str:
        """Returns the qualified name of the innermost function around a node, "" if there is none."""
        return self._owners.get(id(node), "")

    @cached_property
    def _owners(self) -> dict[int, str]:
        return {id(part): name for name, function in self.functions.items() for part in ast.walk(function)}

    @cached_property
    def code_without_places(self) -> frozenset[str]:
        """Every statement and expression, as `ast.dump` renders it: moved code is not new code."""
        return frozenset(ast.dump(node) for node in self.nodes if isinstance(node, ast.stmt | ast.expr))


def one_line(node: ast.AST) -> str:
    """Returns the code of a node in one line of at most `CODE_CHARACTERS`; its type if the code cannot be rendered."""
    try:
        return " ".join(ast.unparse(node).split())[:CODE_CHARACTERS]
    except (ValueError, RecursionError):
        return type(node).__name__


def dotted(node: ast.AST) -> str:
    """Returns `a.b.c` of a name or attribute, also if it is called or subscripted; "" for others and long chains."""
    parts: list[str] = []
    while len(parts) < LONGEST_NAME:
        if isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Call):
            node = node.func
        elif isinstance(node, ast.Subscript):
            node = node.value
        else:
            parts += [node.id] if isinstance(node, ast.Name) else []
            return ".".join(reversed(parts))
    return ""


def last_name(node: ast.AST) -> str:
    """Returns `fixture` of `pytest.fixture(…)`."""
    return dotted(node).rpartition(".")[2]


def texts_in(node: ast.AST) -> list[str]:
    """Returns the literal strings anywhere below a node."""
    return [part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)]


def imported_names(node: ast.AST) -> list[str]:
    """Returns the modules that an absolute import names, and for `from a import b` also `a.b`."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and not node.level and node.module:
        return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return []
