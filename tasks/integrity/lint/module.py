"""A test file as the rules see it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from tasks.integrity.python_source import Function, PythonSource, one_line

_CONDITIONS = (ast.If, ast.While, ast.IfExp, ast.Assert)
_CHECKS = ("assert", "fail", "skip", "xfail")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a rule found."""

    line: int
    rule: str
    detail: str


class LintedModule(PythonSource):
    """One Python file of a suite. Only findings in lines that the suite adds count."""

    def find(self, rule: str, node: ast.AST) -> Iterator[Finding]:
        """A finding at `node`, if the suite adds any line of it."""
        line = self.first_added_line(node)
        if line is not None:
            yield Finding(line=line, rule=rule, detail=one_line(node))

    @cached_property
    def calls(self) -> tuple[ast.Call, ...]:
        """Calls with an added line."""
        return tuple(node for node in self.touched_nodes if isinstance(node, ast.Call))

    @cached_property
    def assigned(self) -> dict[str, ast.expr]:
        """Variable → the value it was last given in the file, wherever that was."""
        return {
            target.id: node.value
            for node in self.nodes
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }

    @cached_property
    def _deciding(self) -> frozenset[str]:
        """Names whose value an outcome hangs on somewhere."""
        uses = (use for use in self.nodes if isinstance(use, ast.Name) and isinstance(use.ctx, ast.Load))
        return frozenset(use.id for use in uses if self.in_condition(use))

    def calls_of(self, matches: Callable[[str], bool]) -> Iterator[ast.Call]:
        """Calls with an added line of what `matches`."""
        return (call for call in self.calls if matches(self.resolved(call.func)))

    def in_condition(self, node: ast.AST) -> bool:
        """Whether a test's outcome hangs on `node`: it stands in a comparison, an assertion, or the test of an `if`."""
        child = node
        for parent in self.ancestors(node):
            if isinstance(parent, ast.Compare) or (isinstance(parent, ast.IfExp) and child is parent.test):
                return True
            if isinstance(parent, ast.Call) and child is not parent.func and _is_check(self.resolved(parent.func)):
                return True
            if isinstance(parent, ast.stmt):
                return isinstance(parent, _CONDITIONS) and child is getattr(parent, "test", None)
            child = parent
        return False

    def compared(self, node: ast.AST) -> bool:
        """Whether `node` itself is one side of a comparison, or the whole test of an `if` or an assert."""
        parent = self.parents.get(node)
        return isinstance(parent, ast.Compare) or (isinstance(parent, _CONDITIONS) and node is parent.test)

    def decides(self, node: ast.AST) -> bool:
        """The same for a value that is first given to a variable."""
        if self.in_condition(node):
            return True
        statement = next((one for one in (node, *self.ancestors(node)) if isinstance(one, ast.stmt)), None)
        if not isinstance(statement, ast.Assign):
            return False
        return any(isinstance(target, ast.Name) and target.id in self._deciding for target in statement.targets)

    def at_import(self, node: ast.AST) -> bool:
        """Whether `node` runs when the file is imported."""
        return not any(isinstance(parent, Function | ast.Lambda) for parent in self.ancestors(node))


def _is_check(name: str) -> bool:
    """`self.assertEqual`, `assert_allclose`, `pytest.fail`, `skipif` …"""
    return name.rpartition(".")[2].lower().startswith(_CHECKS)
