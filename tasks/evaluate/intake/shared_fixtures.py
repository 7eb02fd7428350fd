"""Decides whether a change to a `conftest.py` only adds fixtures and helpers for the candidate's tests.

pytest also reads hooks, plugins and collection rules from that file, all by the names that it binds. So this module
reads the names from the syntax tree and refuses statements of any other form than those below. Autouse fixtures are
allowed, because the tests themselves can define them as well.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from tasks.integrity.python_source import PythonSource

_TAKEN_BY_PYTEST = ("pytest_", "collect_ignore")
_FIXTURE = ("pytest.fixture", "fixture")


def only_shares_fixtures(base: str, changed: str) -> bool:
    """Whether `changed` is `base` (empty for a new file) with fixtures, helpers, constants and imports added.

    Every top-level statement of `base` must still exist. Allowed additions are docstrings, imports of named objects,
    constants, and functions or classes without decorators. A function may have one decorator, `pytest.fixture` with
    constant arguments. No addition may bind a name that has a meaning for pytest.
    """
    old, new = PythonSource(base), PythonSource(changed)
    before, after = (Counter(map(ast.dump, source.tree.body)) for source in (old, new))
    if old.error or new.error or before - after:
        return False
    added = after - before
    return all(_harmless(statement) for statement in new.tree.body if ast.dump(statement) in added)


def _harmless(statement: ast.stmt) -> bool:
    if any(name.startswith(_TAKEN_BY_PYTEST) for name in _bound(statement)):
        return False
    match statement:
        case ast.Expr(value=ast.Constant(value=str())) | ast.Import() | ast.ImportFrom():
            return True
        case ast.Assign(targets=targets, value=value):
            return _is_literal(value) and all(isinstance(target, ast.Name) for target in targets)
        case ast.AnnAssign(target=ast.Name(), value=value):
            return value is None or _is_literal(value)
        case ast.FunctionDef(decorator_list=decorators) | ast.AsyncFunctionDef(decorator_list=decorators):
            return not decorators or (len(decorators) == 1 and _is_fixture(decorators[0]))
        case ast.ClassDef(decorator_list=[], keywords=[]):
            return True
        case _:
            return False


def _bound(statement: ast.stmt) -> Iterator[str]:
    """Yields the module-level names that a statement binds; a star import counts as binding a pytest name."""
    for node in ast.walk(statement):
        match node:
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                for alias in names:
                    yield _TAKEN_BY_PYTEST[0] if alias.name == "*" else alias.asname or alias.name.split(".")[0]
            case ast.Global(names=names):
                yield from names
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case _:
                pass


def _is_fixture(decorator: ast.expr) -> bool:
    """Whether the decorator is `pytest.fixture` or `fixture`, called or not."""
    match decorator:
        case ast.Call(func=function, args=[], keywords=keywords):
            return ast.unparse(function) in _FIXTURE and all(_is_literal(keyword.value) for keyword in keywords)
        case ast.Name() | ast.Attribute():
            return ast.unparse(decorator) in _FIXTURE
        case _:
            return False


def _is_literal(value: ast.expr) -> bool:
    try:
        ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True
