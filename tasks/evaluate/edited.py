"""Which test definitions of an existing file a suite edits: with the cases that it adds they are T (metrics.md).

Told from the syntax trees before and after, so comments and layout count for nothing. A definition is edited if, in
this order, its own `source` differs (decorators, and so parameters, included), its `class` does (bases, decorators,
attributes, set-up methods, also those of a base class in the same file), a `fixture` of the same file that it uses,
directly or through others, or the set-up of the `module`. Definitions that are new are added cases, and not listed.

A file that today's Python cannot parse but an old one can (`async` as a name) is compared by indentation instead:
blocks of text by their `def`, everything outside of them as the module's.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from tasks.adapters.patch.apply import Applied, ReadBase, apply_to_files
from tasks.adapters.patch.model import Patch
from tasks.adapters.patch.read import read_patch, to_text
from tasks.domain.candidate import EditedDefinition, Suite

CLASS_SETUP = frozenset(
    ("setUp", "tearDown", "setUpClass", "tearDownClass", "setUpTestData", "asyncSetUp", "asyncTearDown", "__init__")
    + ("setup_method", "teardown_method", "setup_class", "teardown_class", "setup", "teardown")
)
MODULE_SETUP = frozenset(
    ("setUpModule", "tearDownModule", "setup_module", "teardown_module", "setup_function", "teardown_function")
    + ("load_tests", "pytest_generate_tests")
)
_FIXTURES = ("fixture", "yield_fixture")
_TEXT_BLOCK = re.compile(r"(?P<indent>[ \t]*)(?:async\s+)?(?P<kind>def|class)\s+(?P<name>\w+)")
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Edit:
    """One edited definition."""

    qualname: str
    why: str
    """`source`, `class`, `fixture` or `module`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edits:
    """The edited definitions of one file, sorted by name."""

    definitions: tuple[Edit, ...] = ()
    note: str = ""
    """What could not be told exactly, and why; empty otherwise."""


def edited_definitions(path: str, before: str | None, after: str) -> Edits:
    """The definitions of `path` that exist before and after, and differ. None for a new file."""
    if before is None or not path.endswith(".py"):
        return Edits()
    old, new = _parse(before), _parse(after)
    if isinstance(old, _Module) and isinstance(new, _Module):
        return Edits(definitions=_edits(old, new))
    error = new if isinstance(new, SyntaxError) else old
    note = f"{path} was compared as text: {error}"
    return Edits(definitions=_edits_of_text(before, after), note=note)


def edited_rows(suite: Suite, read_base: ReadBase) -> tuple[EditedDefinition, ...]:
    """The edited definitions of every base file that `suite` runs."""
    read = read_patch(suite.patch)
    applied = apply_to_files(read, read_base) if isinstance(read, Patch) else read
    changes = applied.changes if isinstance(applied, Applied) else ()
    return tuple(
        EditedDefinition(
            suite_id=suite.suite_id,
            instance_key=suite.instance_key,
            path=path,
            qualname=edit.qualname,
            why=edit.why,
        )
        for path in suite.base_files
        for change in changes
        if change.path == path and change.after is not None
        for edit in edited_definitions(path, change.before, change.after).definitions
    )


def is_case(name: str) -> bool:
    """Whether a function or method of this name is a test case by the usual conventions."""
    return name.startswith("test") or name == "runTest"


@dataclass(slots=True)
class _Scope:
    """The definitions of a module or class; later ones replace earlier ones of the same name, as in Python."""

    functions: dict[str, Function] = field(default_factory=dict)
    classes: dict[str, _Class] = field(default_factory=dict)
    rest: list[ast.stmt] = field(default_factory=list)
    """Statements that define neither, without the docstring."""

    @property
    def fixtures(self) -> dict[str, Function]:
        """By the name under which tests ask for them."""
        return {_fixture_name(function): function for function in self.functions.values() if _is_fixture(function)}


@dataclass(slots=True)
class _Class(_Scope):
    node: ast.ClassDef = field(default_factory=lambda: ast.ClassDef(name="", bases=[], keywords=[], body=[]))


class _Module(_Scope):
    pass


@dataclass(frozen=True, slots=True)
class _Case:
    """One test definition with all that may bear on it."""

    function: Function
    owner: tuple[_Class, ...]
    """Its class and the base classes of it in the same file; empty for a function."""


def _parse(text: str) -> _Module | SyntaxError:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.encode("utf-8", "surrogateescape"))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return error if isinstance(error, SyntaxError) else SyntaxError(str(error))
    module = _Module()
    _fill(module, tree.body)
    return module


def _fill(scope: _Scope, body: Iterable[ast.stmt]) -> None:
    """Sorts statements into a scope; definitions under `if`, `try` or `with` are the scope's own."""
    for at, statement in enumerate(body):
        if isinstance(statement, Function):
            scope.functions[statement.name] = statement
        elif isinstance(statement, ast.ClassDef):
            inner = scope.classes[statement.name] = _Class(node=statement)
            _fill(inner, statement.body)
        elif isinstance(statement, ast.If | ast.Try | ast.With):
            _fill(scope, _nested(statement))
        elif at or not _is_docstring(statement):
            scope.rest.append(statement)


def _nested(statement: ast.stmt) -> Iterator[ast.stmt]:
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, ast.ExceptHandler):
            yield from child.body


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _edits(old: _Module, new: _Module) -> tuple[Edit, ...]:
    before, after = dict(_cases(old, ())), dict(_cases(new, ()))
    module_differs = _module_setup(old) != _module_setup(new)
    reasons: tuple[tuple[str, Callable[[_Case, _Case], bool]], ...] = (
        ("source", lambda a, b: _dump(a.function) != _dump(b.function)),
        ("class", lambda a, b: _class_setup(a) != _class_setup(b)),
        ("fixture", lambda a, b: _fixtures_used(a, old) != _fixtures_used(b, new)),
        ("module", lambda _a, _b: module_differs),
    )
    found = []
    for qualname in sorted(before.keys() & after.keys()):
        why = next((why for why, differs in reasons if differs(before[qualname], after[qualname])), None)
        if why is not None:
            found.append(Edit(qualname, why))
    return tuple(found)


def _cases(scope: _Scope, outer: tuple[str, ...]) -> Iterator[tuple[str, _Case]]:
    """Every test definition by its qualified name, inherited methods under the name of each class that has them."""
    if not isinstance(scope, _Class):
        for name, function in scope.functions.items():
            if is_case(name) and not _is_fixture(function):
                yield name, _Case(function, ())
    for name, inner in scope.classes.items():
        line = tuple(_lineage(inner, scope.classes))
        methods = {name: f for owner in reversed(line) for name, f in owner.functions.items() if is_case(name)}
        for method, function in methods.items():
            yield ".".join((*outer, name, method)), _Case(function, line)
        yield from _cases(inner, (*outer, name))


def _lineage(start: _Class, known: dict[str, _Class]) -> Iterator[_Class]:
    """A class and its base classes that are defined beside it, nearest first."""
    waiting, seen = [start], set()
    while waiting:
        here = waiting.pop(0)
        if id(here) not in seen:
            seen.add(id(here))
            yield here
            waiting += [known[base.id] for base in here.node.bases if isinstance(base, ast.Name) and base.id in known]


def _module_setup(module: _Module) -> list[str]:
    """What runs for every case of a module."""
    marks = [_dump(statement) for statement in module.rest if _assigns(statement, "pytestmark")]
    return marks + [_dump(function) for name, function in sorted(module.functions.items()) if name in MODULE_SETUP]


def _class_setup(case: _Case) -> list[list[str]]:
    """What a class and its bases say beyond their methods, and their set-up methods."""
    return [
        [_dump(node) for node in (*cls.node.decorator_list, *cls.node.bases, *cls.node.keywords, *cls.rest)]
        + [_dump(function) for name, function in sorted(cls.functions.items()) if name in CLASS_SETUP]
        for cls in case.owner
    ]


def _fixtures_used(case: _Case, module: _Module) -> dict[str, str]:
    """The fixtures of this file that a case depends on, by name, as source."""
    scopes = (*case.owner, module)
    known = {name: function for scope in reversed(scopes) for name, function in scope.fixtures.items()}
    marked = [*case.function.decorator_list, *(node for cls in case.owner for node in cls.node.decorator_list)]
    marked += [s for scope in scopes for s in scope.rest if _assigns(s, "pytestmark")]
    waiting = _asked_for(case.function) + [name for node in marked for name in _use_fixtures(node)]
    waiting += [name for name, function in known.items() if _is_autouse(function)]
    used: dict[str, str] = {}
    while waiting:
        name = waiting.pop()
        if name in known and name not in used:
            used[name] = _dump(known[name])
            waiting += _asked_for(known[name])
    return used


def _asked_for(function: Function) -> list[str]:
    """Fixture names in a signature and in `request.getfixturevalue("…")`."""
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    return names + [name for call in calls if _last_name(call.func) == "getfixturevalue" for name in _texts(call)]


def _use_fixtures(node: ast.AST) -> list[str]:
    calls = [call for call in ast.walk(node) if isinstance(call, ast.Call)]
    return [name for call in calls if _last_name(call.func) == "usefixtures" for name in _texts(call)]


def _texts(call: ast.Call) -> list[str]:
    """The arguments of a call that are literal strings."""
    return [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]


def _is_fixture(function: Function) -> bool:
    return any(_last_name(node) in _FIXTURES for node in function.decorator_list)


def _fixture_option(function: Function, option: str) -> object:
    """A literal keyword of the fixture decorator; null where it is not given."""
    for node in function.decorator_list:
        for keyword in node.keywords if isinstance(node, ast.Call) and _last_name(node) in _FIXTURES else ():
            if keyword.arg == option and isinstance(keyword.value, ast.Constant):
                return keyword.value.value
    return None


def _fixture_name(function: Function) -> str:
    return str(_fixture_option(function, "name") or function.name)


def _is_autouse(function: Function) -> bool:
    return _fixture_option(function, "autouse") is True


def _last_name(node: ast.expr) -> str:
    """`pytest.fixture(…)` → `fixture`."""
    if isinstance(node, ast.Call):
        return _last_name(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _assigns(statement: ast.stmt, name: str) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)


def _dump(node: ast.AST) -> str:
    """The tree without positions: equal for equal code."""
    return ast.dump(node)


def _edits_of_text(before: str, after: str) -> tuple[Edit, ...]:
    """By indentation: changed blocks as `source`; if the text outside of all blocks differs, the others as `module`."""
    old, new = _text_blocks(before), _text_blocks(after)
    shared = [name for name in sorted(old.keys() & new.keys()) if name and is_case(name.rpartition(".")[2])]
    module_differs = old.get("") != new.get("")
    return tuple(
        Edit(name, "source" if old[name] != new[name] else "module")
        for name in shared
        if old[name] != new[name] or module_differs
    )


def _text_blocks(text: str) -> dict[str, list[str]]:
    """Qualified name → non-blank lines of that block; the rest under the empty name. Decorators are part of the rest."""
    blocks: dict[str, list[str]] = {}
    stack: list[tuple[int, str]] = []
    for line in filter(str.strip, text.splitlines()):
        width = len(line.expandtabs()) - len(line.expandtabs().lstrip())
        while stack and width <= stack[-1][0] and not line.lstrip().startswith((")", "#")):
            stack.pop()
        if match := _TEXT_BLOCK.match(line):
            stack.append((width, match["name"]))
        name = ".".join(name for _, name in stack)
        blocks.setdefault(name if is_case(name.rpartition(".")[2]) else "", []).append(line.rstrip())
    return blocks
