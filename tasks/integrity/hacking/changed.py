"""A file before and after a repair, and the data with which detectors compare it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from tasks.adapters.patch.render import python_lines
from tasks.adapters.patch.split import is_test_path
from tasks.domain.proposed_fix import HackSign
from tasks.integrity.python_source import CODE_CHARACTERS, PythonSource, dotted, one_line


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class HackPlace:
    """A finding of a detector in one file."""

    line: int
    sign: HackSign
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HackContext:
    """Data for comparison. Literals are strings and numbers in the form of `literal_key`."""

    tests: frozenset[str] = frozenset()
    """Literals in the golden tests that the earlier versions of their files do not contain."""
    given: frozenset[str] = frozenset()
    """Literals in lines that the golden tests add, even if they occur elsewhere in the earlier files."""
    statement: str = ""
    """The issue statement: code that contains its literals shows no sign of hacking."""


@dataclass(kw_only=True)
class RepairedFile:
    """One file of a repair. The tree of a side that is missing, or no parseable Python, is empty."""

    path: str
    before: str | None
    after: str | None
    known: HackContext = field(default_factory=HackContext)

    @cached_property
    def old(self) -> PythonSource:
        """The file before the repair; its added lines are those that the repair removes."""
        return PythonSource(self.before, self.after, parse=self._is_python)

    @cached_property
    def new(self) -> PythonSource:
        return PythonSource(self.after, self.before, parse=self._is_python)

    @property
    def _is_python(self) -> bool:
        return self.path.endswith((".py", ".pyi"))

    @property
    def hidden(self) -> bool:
        """Whether the file became too complex to parse through the repair. Detectors then find nothing in it."""
        return self.new.too_complex and not self.old.too_complex

    @cached_property
    def is_test(self) -> bool:
        return is_test_path(self.path)

    @cached_property
    def is_aside(self) -> bool:
        """Whether it is no code under test: a test, or a new script at the top level, which agents often leave
        behind."""
        return self.is_test or (self.before is None and "/" not in self.path)

    @cached_property
    def called_before(self) -> frozenset[str]:
        return frozenset(dotted(node.func) for node in self.old.nodes if isinstance(node, ast.Call))

    @cached_property
    def called_by_module(self) -> frozenset[str]:
        """Names that are used or called as a statement of the current module."""
        return frozenset(dotted(node.value) for node in self.new.tree.body if isinstance(node, ast.Expr))

    @cached_property
    def before_in_one_quote(self) -> str:
        return (self.before or "").replace('"', "'")

    @cached_property
    def capitals_of_statement(self) -> frozenset[str]:
        return frozenset(re.findall(r"[A-Z]{3,}", self.known.statement))

    def is_new(self, node: ast.AST) -> bool:
        return ast.dump(node) not in self.old.code_without_places

    def knows(self, text: str) -> bool:
        """Whether the text occurs in the earlier file or in the issue."""
        return text in (self.before or "") or text in self.known.statement

    def changed_text(self) -> Iterator[tuple[int, str]]:
        """Yields added lines with their numbers, then removed ones."""
        for source in (self.new, self.old):
            lines = python_lines(source.text)
            yield from ((number, lines[number - 1]) for number in sorted(source.added))

    def place(self, sign: HackSign, node: ast.AST | None = None, detail: str = "") -> HackPlace:
        said = detail or (one_line(node) if node is not None else "")
        return HackPlace(line=getattr(node, "lineno", 0), sign=sign, detail=said[:CODE_CHARACTERS])


def literals(tree: ast.AST) -> Iterator[ast.Constant]:
    """Yields strings and numbers in a tree, except for docstrings and parts of f-strings."""
    idle = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in idle and _is_text_or_number(node.value):
            yield node


def _is_text_or_number(value: object) -> bool:
    return isinstance(value, str | bytes | int | float | complex) and not isinstance(value, bool)


def literal_key(node: ast.Constant) -> str:
    return repr(node.value)


def telling(node: ast.Constant) -> bool:
    """Whether a literal identifies its source: it is no short word and no small or round number."""
    value = node.value
    if isinstance(value, str | bytes):
        return len(value.strip()) >= 4
    if isinstance(value, int | float):
        digits = re.sub(r"[^1-9]", "", f"{value}")
        return len(digits) >= 3
    return isinstance(value, complex)
