"""A test file as the rules use it."""

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
    """A finding of a rule."""

    line: int
    rule: str
    detail: str


class LintedModule(PythonSource):
    """One Python file of a suite. Only findings in lines that the suite adds count."""

    def find(self, rule: str, node: ast.AST) -> Iterator[Finding]:
        """Yields a finding at `node`, if the suite adds any line of it."""
        line = self.first_added_line(node)
        if line is not None:
            yield Finding(line=line, rule=rule, detail=one_line(node))

    @cached_property
    def calls(self) -> tuple[ast.Call, ...]:
        """Calls with an added line."""
        return tuple(node for node in self.touched_nodes if isinstance(node, ast.Call))

    @cached_property
    def assigned(self) -> dict[str, ast.expr]:
        """{variable: the value of its last assignment anywhere in the file}"""
        return {
            target.id: node.value
            for node in self.nodes
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }

    @cached_property
    def _deciding(self) -> frozenset[str]:
        """Names that some condition uses."""
        uses = (use for use in self.nodes if isinstance(use, ast.Name) and isinstance(use.ctx, ast.Load))
        return frozenset(use.id for use in uses if self.in_condition(use))

    def calls_of(self, matches: Callable[[str], bool]) -> Iterator[ast.Call]:
        """Yields the calls with an added line whose resolved name `matches`."""
        return (call for call in self.calls if matches(self.resolved(call.func)))

    def in_condition(self, node: ast.AST) -> bool:
        """Whether `node` is part of a comparison, an assertion, or the test of an `if`, and so decides a test's
        outcome."""
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
        """Whether `node` is in a condition, directly or through a variable to which it is assigned."""
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
    """Whether the name is that of a check: `self.assertEqual`, `assert_allclose`, `pytest.fail`, `skipif` …"""
    return name.rpartition(".")[2].lower().startswith(_CHECKS)
