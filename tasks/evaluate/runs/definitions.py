"""Parses a test module into scopes, cases and fixtures, and finds the fixtures that a definition requests."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, TypeVar

from tasks.integrity.python_source import Function, PythonSource, last_name

_FIXTURES = ("fixture", "yield_fixture")
CLASS_SETUP = (
    *("setUp", "tearDown", "setUpClass", "tearDownClass", "setUpTestData", "asyncSetUp", "asyncTearDown", "__init__"),
    *("setup_method", "teardown_method", "setup_class", "teardown_class", "setup", "teardown"),
)

N = TypeVar("N", bound=ast.stmt)


@dataclass(frozen=True, eq=False)
class Piece(Generic[N]):
    """A statement of a module. Two are equal if their trees are equal; equal texts avoid comparing large trees."""

    node: N
    text: str
    """Its lines, decorators included."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Piece):
            return NotImplemented
        return self.text == other.text or self.tree == other.tree

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def tree(self) -> str:
        """The syntax tree without positions."""
        return ast.dump(self.node)


def is_case(name: str) -> bool:
    """Whether a function or method of this name is a test case by the conventions of pytest and unittest."""
    return name.startswith("test") or name == "runTest"


@dataclass
class Scope:
    """The definitions of a module or class; a later definition replaces an earlier one of the same name, as in
    Python."""

    functions: dict[str, Piece[Function]] = field(default_factory=dict)
    classes: dict[str, Class] = field(default_factory=dict)
    rest: list[Piece[ast.stmt]] = field(default_factory=list)
    """Statements that define neither a function nor a class, without the docstring."""

    @cached_property
    def fixtures(self) -> dict[str, Piece[Function]]:
        """Fixtures by the name that tests request."""
        return {_fixture_name(f.node): f for f in self.functions.values() if _is_fixture(f.node)}

    @cached_property
    def marks(self) -> list[Piece[ast.stmt]]:
        """The assignments to `pytestmark`."""
        return [piece for piece in self.rest if assigns(piece, "pytestmark")]


@dataclass(kw_only=True)
class Class(Scope):
    node: ast.ClassDef

    @cached_property
    def setup(self) -> tuple[list[str], list[Piece[ast.stmt]], list[Piece[Function]]]:
        """The decorators, bases and keywords of the class, its attributes, and its set-up methods."""
        said = [ast.dump(node) for node in (*self.node.decorator_list, *self.node.bases, *self.node.keywords)]
        return said, self.rest, [piece for name, piece in sorted(self.functions.items()) if name in CLASS_SETUP]


class Module(Scope):
    pass


@dataclass(frozen=True, slots=True)
class Case:
    """One test definition with everything that can affect it."""

    function: Piece[Function]
    owner: tuple[Class, ...]
    """Its class, then the base classes in the same file; empty for a function."""


def parse(text: str) -> Module | SyntaxError:
    source = PythonSource(text)
    if source.error:
        return source.error
    module = Module()
    _fill(module, source.tree.body, text.split("\n"))
    return module


def _fill(scope: Scope, body: Iterable[ast.stmt], lines: list[str]) -> None:
    """Sorts statements into a scope; definitions under `if`, `try` or `with` belong to the scope itself."""
    for at, statement in enumerate(body):
        if isinstance(statement, Function):
            scope.functions[statement.name] = _piece(statement, lines)
        elif isinstance(statement, ast.ClassDef):
            inner = scope.classes[statement.name] = Class(node=statement)
            _fill(inner, statement.body, lines)
        elif isinstance(statement, ast.If | ast.Try | ast.With):
            _fill(scope, _nested(statement), lines)
        elif at or not _is_docstring(statement):
            scope.rest.append(_piece(statement, lines))


def _piece(statement: N, lines: list[str]) -> Piece[N]:
    decorators = statement.decorator_list if isinstance(statement, Function) else []
    first = min([statement.lineno, *(node.lineno for node in decorators)])
    return Piece(statement, "\n".join(lines[first - 1 : statement.end_lineno]))


def _nested(statement: ast.stmt) -> Iterator[ast.stmt]:
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, ast.ExceptHandler):
            yield from child.body


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def cases_of(
    scope: Scope, outer: tuple[str, ...] = (), among: Collection[str] | None = None
) -> Iterator[tuple[str, Case]]:
    """Yields every test definition by qualified name; inherited methods appear under each class that inherits them.

    `among` restricts the result to these names; it contains the enclosing classes as well. Without it, a thousand new
    tests and a thousand new classes that inherit them would give a million definitions.
    """
    if not isinstance(scope, Class):
        for name, function in scope.functions.items():
            if is_case(name) and not _is_fixture(function.node) and (among is None or name in among):
                yield name, Case(function, ())
    for name, inner in scope.classes.items():
        own = ".".join((*outer, name))
        if among is not None and own not in among:
            continue
        line = tuple(_lineage(inner, scope.classes))
        methods = {name: f for owner in reversed(line) for name, f in owner.functions.items() if is_case(name)}
        for method, function in methods.items():
            if among is None or f"{own}.{method}" in among:
                yield f"{own}.{method}", Case(function, line)
        yield from cases_of(inner, (*outer, name), among)


def _lineage(start: Class, known: dict[str, Class]) -> Iterator[Class]:
    """Yields a class and its base classes from the same scope, nearest first."""
    waiting, seen = [start], set()
    while waiting:
        here = waiting.pop(0)
        if id(here) not in seen:
            seen.add(id(here))
            yield here
            waiting += [known[base.id] for base in here.node.bases if isinstance(base, ast.Name) and base.id in known]


def asked_for(function: Function) -> list[str]:
    """Returns the fixture names in a signature and in `request.getfixturevalue("…")`."""
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    return names + [name for call in calls if last_name(call.func) == "getfixturevalue" for name in _texts(call)]


def use_fixtures(node: ast.AST) -> list[str]:
    calls = [call for call in ast.walk(node) if isinstance(call, ast.Call)]
    return [name for call in calls if last_name(call.func) == "usefixtures" for name in _texts(call)]


def _texts(call: ast.Call) -> list[str]:
    """Returns the literal strings among the arguments of a call."""
    return [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]


def _is_fixture(function: Function) -> bool:
    return any(last_name(node) in _FIXTURES for node in function.decorator_list)


def _fixture_option(function: Function, option: str) -> object:
    """Returns a literal keyword of the fixture decorator; None if it is not given."""
    for node in function.decorator_list:
        for keyword in node.keywords if isinstance(node, ast.Call) and last_name(node) in _FIXTURES else ():
            if keyword.arg == option and isinstance(keyword.value, ast.Constant):
                return keyword.value.value
    return None


def _fixture_name(function: Function) -> str:
    return str(_fixture_option(function, "name") or function.name)


def is_autouse(function: Function) -> bool:
    return _fixture_option(function, "autouse") is True


def assigns(piece: Piece[ast.stmt], name: str) -> bool:
    statement = piece.node
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)
