"""Finds the modules that Python sources import, including imports in test bodies, which collection misses. No I/O."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from tasks.domain.syntax import syntax_tree
from tasks.environment.project_files.requirements import normal
from tasks.environment.readiness.plugins import distribution_of

IMPORTERS = frozenset({"importorskip", "import_module", "__import__"})
"""Functions with a module's name as argument."""


def imported_modules(text: str) -> tuple[str, ...]:
    """Returns the dotted names of imported modules, without duplicates and without imports under `TYPE_CHECKING`.

    Returns none if the running interpreter cannot parse the text.
    """
    try:
        tree = syntax_tree(text)
    except (SyntaxError, ValueError, MemoryError):
        return ()
    return tuple(dict.fromkeys(name for node in _executed(tree) for name in _names(node)))


def wanted_by_imports(texts: Iterable[str], declared: frozenset[str], installed: frozenset[str]) -> tuple[str, ...]:
    """Returns the imported distributions that are `declared` but not `installed`, as normalised names without
    duplicates.

    Modules that the project does not declare are ignored: the test may create them, or they are missing on purpose.
    """
    modules = (name for text in texts for name in imported_modules(text))
    names = dict.fromkeys(normal(distribution_of(name)) for name in modules)
    return tuple(name for name in names if name in declared and name not in installed)


def _executed(tree: ast.Module) -> Iterator[ast.AST]:
    """Yields all nodes except those below `if TYPE_CHECKING`."""
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
