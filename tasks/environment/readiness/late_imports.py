"""Which modules Python sources import, in the bodies of their tests too, where collecting does not get. Pure."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from tasks.domain.syntax import syntax_tree
from tasks.environment.project_files.requirements import normal
from tasks.environment.readiness.plugins import distribution_of

IMPORTERS = frozenset({"importorskip", "import_module", "__import__"})
"""Functions that take a module's name."""


def imported_modules(text: str) -> tuple[str, ...]:
    """Dotted names, each once; nothing where the text is no Python of the interpreter that this runs on. What only a
    type checker imports is left out."""
    try:
        tree = syntax_tree(text)
    except (SyntaxError, ValueError, MemoryError):
        return ()
    return tuple(dict.fromkeys(name for node in _executed(tree) for name in _names(node)))


def wanted_by_imports(texts: Iterable[str], declared: frozenset[str], installed: frozenset[str]) -> tuple[str, ...]:
    """Distributions that the texts import, that the project asks for somewhere (`declared`) and that are not there
    (`installed`); normal names, each once.

    What the project does not name may be anything: a module that the test makes, or one that is meant to be missing.
    """
    modules = (name for text in texts for name in imported_modules(text))
    names = dict.fromkeys(normal(distribution_of(name)) for name in modules)
    return tuple(name for name in names if name in declared and name not in installed)


def _executed(tree: ast.Module) -> Iterator[ast.AST]:
    """All nodes but those below `if TYPE_CHECKING`."""
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        yield node
        if isinstance(node, ast.If) and _is_type_checking(node.test):
            left += node.orelse
        else:
            left += ast.iter_child_nodes(node)


def _is_type_checking(test: ast.expr) -> bool:
    name = test.attr if isinstance(test, ast.Attribute) else test.id if isinstance(test, ast.Name) else ""
    return name == "TYPE_CHECKING"


def _names(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import():
            yield from (alias.name for alias in node.names)
        case ast.ImportFrom(level=0, module=str(name)):
            yield name
        case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called), args=[ast.Constant(value=str(name)), *_]):
            if called in IMPORTERS:
                yield name
