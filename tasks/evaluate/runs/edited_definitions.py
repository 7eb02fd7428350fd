"""Finds the test definitions in existing files that a suite edits. With the added cases they are T (metrics.md).

The comparison uses the syntax trees before and after, so it ignores comments and layout. A definition is edited for the
first of these reasons that applies:

- `source`: its own code differs, including decorators and so parameters.
- `class`: bases, decorators, attributes or set-up methods differ, also those of a base class in the same file.
- `fixture`: a fixture of the same file that it uses, directly or through others, differs.
- `module`: the set-up of the module differs.

New definitions are added cases and not listed. A file that only an old Python can parse (`async` as a name) is compared
by indentation instead: as text blocks by their `def`, and the text outside of them as the module's.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tasks.adapters.patch.apply import Applied, ReadBase, apply_stored
from tasks.domain.candidate import EditedDefinition, Suite
from tasks.evaluate.runs.definitions import (
    Case,
    Module,
    Piece,
    asked_for,
    cases_of,
    is_autouse,
    is_case,
    parse,
    use_fixtures,
)
from tasks.integrity.python_source import Function

MODULE_SETUP = (
    *("setUpModule", "tearDownModule", "setup_module", "teardown_module", "setup_function", "teardown_function"),
    *("load_tests", "pytest_generate_tests"),
)
_TEXT_BLOCK = re.compile(r"(?P<indent>[ \t]*)(?:async\s+)?(?P<kind>def|class)\s+(?P<name>\w+)")


@dataclass(frozen=True, slots=True)
class DefinitionChange:
    """One edited definition."""

    qualname: str
    why: str
    """`source`, `class`, `fixture` or `module`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edits:
    """The edited definitions of one file, sorted by name."""

    definitions: tuple[DefinitionChange, ...] = ()
    note: str = ""
    """Why the comparison is not exact; empty if it is."""


def edited_definitions(path: str, before: str | None, after: str) -> Edits:
    """Returns the definitions of `path` that exist before and after, and differ. Returns none for a new file."""
    if before is None or not path.endswith(".py"):
        return Edits()
    old, new = parse(before), parse(after)
    if isinstance(old, Module) and isinstance(new, Module):
        return Edits(definitions=_edits(old, new))
    error = new if isinstance(new, SyntaxError) else old
    note = f"{path} was compared as text: {error}"
    return Edits(definitions=_edits_of_text(before, after), note=note)


def edited_rows(suite: Suite, read_base: ReadBase) -> tuple[EditedDefinition, ...]:
    """Returns the edited definitions of every base file that `suite` runs."""
    applied = apply_stored(suite.patch, read_base)
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


def _edits(old: Module, new: Module) -> tuple[DefinitionChange, ...]:
    before = dict(cases_of(old))
    after = dict(cases_of(new, among=_with_classes(before)))
    module_differs = _module_setup(old) != _module_setup(new)
    reasons: tuple[tuple[str, Callable[[Case, Case], bool]], ...] = (
        ("source", lambda a, b: a.function != b.function),
        ("class", lambda a, b: [cls.setup for cls in a.owner] != [cls.setup for cls in b.owner]),
        ("fixture", lambda a, b: _fixtures_used(a, old) != _fixtures_used(b, new)),
        ("module", lambda _a, _b: module_differs),
    )
    found = []
    for qualname in sorted(before.keys() & after.keys()):
        why = next((why for why, differs in reasons if differs(before[qualname], after[qualname])), None)
        if why is not None:
            found.append(DefinitionChange(qualname, why))
    return tuple(found)


def _with_classes(names: Iterable[str]) -> frozenset[str]:
    """Returns these qualified names and those of all enclosing classes."""
    parts = [name.split(".") for name in names]
    return frozenset(".".join(each[:number]) for each in parts for number in range(1, len(each) + 1))


def _module_setup(module: Module) -> tuple[list[Piece[ast.stmt]], list[Piece[Function]]]:
    """Returns the code that runs for every case of a module."""
    return module.marks, [piece for name, piece in sorted(module.functions.items()) if name in MODULE_SETUP]


def _fixtures_used(case: Case, module: Module) -> dict[str, Piece[Function]]:
    """Returns the fixtures of this file that a case depends on, by name."""
    scopes = (*case.owner, module)
    known = {name: piece for scope in reversed(scopes) for name, piece in scope.fixtures.items()}
    if not known:
        return {}
    owners = (case.function.node, *(cls.node for cls in case.owner))
    marked = [node for owner in owners for node in owner.decorator_list]
    marks = [piece.node for scope in scopes for piece in scope.marks]
    waiting = asked_for(case.function.node) + [name for node in (*marked, *marks) for name in use_fixtures(node)]
    waiting += [name for name, piece in known.items() if is_autouse(piece.node)]
    used: dict[str, Piece[Function]] = {}
    while waiting:
        name = waiting.pop()
        if name in known and name not in used:
            used[name] = known[name]
            waiting += asked_for(known[name].node)
    return used


def _edits_of_text(before: str, after: str) -> tuple[DefinitionChange, ...]:
    """Compares by indentation: changed blocks are `source`; if text outside of all blocks differs, others are
    `module`."""
    old, new = _text_blocks(before), _text_blocks(after)
    shared = [name for name in sorted(old.keys() & new.keys()) if name and is_case(name.rpartition(".")[2])]
    module_differs = old.get("") != new.get("")
    return tuple(
        DefinitionChange(name, "source" if old[name] != new[name] else "module")
        for name in shared
        if old[name] != new[name] or module_differs
    )


def _text_blocks(text: str) -> dict[str, list[str]]:
    """Returns {qualified name: non-blank lines of the block}; other lines, decorators included, have the empty name."""
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
