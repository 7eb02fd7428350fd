"""A file that a repair changes, before and after, and what is known besides."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from tasks.adapters.patch.render import added_lines, python_lines
from tasks.adapters.patch.split import is_test_path
from tasks.domain.proposed_fix import HackSign
from tasks.domain.syntax import TooComplex, syntax_tree

CODE_CHARACTERS = 200
LONGEST_NAME = 20
"""Parts of a dotted name. Of each part of a longer chain the name would be put together again."""
WORDS = re.compile(r"[a-z]{10,}")
Function = ast.FunctionDef | ast.AsyncFunctionDef
_TOO_COMPLEX = ast.Module(body=[], type_ignores=[])
"""What stands for a tree that is not read."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class HackPlace:
    """What a detector found, in one file."""

    line: int
    sign: HackSign
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HackContext:
    """What a detector may compare with. Literals are texts and numbers, as `literal_key` has them."""

    tests: frozenset[str] = frozenset()
    """Literals that the tests have and their files did not have before."""
    given: frozenset[str] = frozenset()
    """Literals in lines that the tests bring, whether their files had them elsewhere or not."""
    statement: str = ""
    """Of the issue: what it asks for may be in the code."""


@dataclass(kw_only=True)
class RepairedFile:
    """One file of a repair. A side that is not there, or is no Python that can be parsed, has an empty tree."""

    path: str
    before: str | None
    after: str | None
    known: HackContext = field(default_factory=HackContext)

    @cached_property
    def is_test(self) -> bool:
        return is_test_path(self.path)

    @cached_property
    def is_aside(self) -> bool:
        """Whether it is no code under test: a test, or a new script beside the packages, as agents leave behind."""
        return self.is_test or (self.before is None and "/" not in self.path)

    @cached_property
    def called_before(self) -> frozenset[str]:
        return frozenset(dotted(node.func) for node in ast.walk(self.old) if isinstance(node, ast.Call))

    @cached_property
    def called_by_module(self) -> frozenset[str]:
        """What stands or is called alone on a line of the module as it is now."""
        return frozenset(dotted(node.value) for node in self.new.body if isinstance(node, ast.Expr))

    @cached_property
    def before_in_one_quote(self) -> str:
        return (self.before or "").replace('"', "'")

    @cached_property
    def capitals_of_statement(self) -> frozenset[str]:
        return frozenset(re.findall(r"[A-Z]{3,}", self.known.statement))

    @cached_property
    def old(self) -> ast.Module:
        return _tree(self.path, self.before)

    @cached_property
    def new(self) -> ast.Module:
        return _tree(self.path, self.after)

    @property
    def hidden(self) -> bool:
        """Whether it could be read before, and is now more complex than what is read: then nothing is found in it."""
        return self.new is _TOO_COMPLEX and self.old is not _TOO_COMPLEX

    @cached_property
    def old_functions(self) -> dict[str, Function]:
        return functions(self.old)

    @cached_property
    def new_functions(self) -> dict[str, Function]:
        return functions(self.new)

    def owner(self, node: ast.AST) -> str:
        """Qualified name of the innermost function of `new` that a node is in; empty for none."""
        return self._owners.get(id(node), "")

    @cached_property
    def _owners(self) -> dict[int, str]:
        return {id(one): name for name, each in self.new_functions.items() for one in ast.walk(each)}

    @cached_property
    def added(self) -> frozenset[int]:
        """1-based lines of `after` that `before` lacks."""
        return added_lines(self.before, self.after or "")

    @cached_property
    def removed(self) -> frozenset[int]:
        """1-based lines of `before` that `after` lacks."""
        return added_lines(self.after, self.before or "")

    @cached_property
    def added_nodes(self) -> tuple[ast.AST, ...]:
        """Nodes that begin in an added line."""
        return tuple(node for node in ast.walk(self.new) if getattr(node, "lineno", 0) in self.added)

    @cached_property
    def old_code(self) -> frozenset[str]:
        """Every statement and expression of `before`, as a tree without places: what is only moved is not new."""
        return frozenset(ast.dump(node) for node in ast.walk(self.old) if isinstance(node, ast.stmt | ast.expr))

    def is_new(self, node: ast.AST) -> bool:
        return ast.dump(node) not in self.old_code

    @cached_property
    def words_of_tests(self) -> frozenset[str]:
        """Long words in the literals of the tests."""
        return frozenset(word for text in self.known.tests for word in WORDS.findall(text))

    def knows(self, text: str) -> bool:
        """Whether the file had it before, or the issue says it."""
        return text in (self.before or "") or text in self.known.statement

    def changed_text(self) -> Iterator[tuple[int, str]]:
        """Added lines with their numbers, then the removed ones."""
        for text, numbers in ((self.after, self.added), (self.before, self.removed)):
            lines = python_lines(text or "")
            yield from ((number, lines[number - 1]) for number in sorted(numbers))

    def place(self, sign: HackSign, node: ast.AST | None = None, detail: str = "") -> HackPlace:
        said = detail or (_code(node) if node is not None else "")
        return HackPlace(line=getattr(node, "lineno", 0), sign=sign, detail=said[:CODE_CHARACTERS])


def functions(tree: ast.Module) -> dict[str, Function]:
    """Qualified name → definition, of every function of a module; of two with one name the last."""
    found: dict[str, Function] = {}

    def walk(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = f"{prefix}{child.name}"
                if not isinstance(child, ast.ClassDef):
                    found[name] = child
                walk(child, f"{name}.")
            else:
                walk(child, prefix)

    walk(tree, "")
    return found


def dotted(node: ast.AST) -> str:
    """`a.b.c` of a name or attribute, of what is called or subscripted; empty for anything else and for long ones."""
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


def literals(tree: ast.AST) -> Iterator[ast.Constant]:
    """Texts and numbers of a tree that are no docstrings and no pieces of formatted texts."""
    idle = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        telling = isinstance(node, ast.Constant) and isinstance(node.value, str | bytes | int | float | complex)
        if telling and id(node) not in idle and not isinstance(node.value, bool):  # type: ignore[attr-defined]
            yield node  # type: ignore[misc]


def literal_key(node: ast.Constant) -> str:
    return repr(node.value)


def telling(node: ast.Constant) -> bool:
    """Whether this literal says where it comes from: no short word, no small or round number."""
    value = node.value
    if isinstance(value, str | bytes):
        return len(value.strip()) >= 4
    if isinstance(value, int | float):
        digits = re.sub(r"[^1-9]", "", f"{value}")
        return len(digits) >= 3
    return isinstance(value, complex)


def _tree(path: str, text: str | None) -> ast.Module:
    empty = ast.Module(body=[], type_ignores=[])
    if text is None or not path.endswith((".py", ".pyi")):
        return empty
    try:
        return syntax_tree(text)
    except TooComplex:
        return _TOO_COMPLEX
    except (SyntaxError, ValueError, MemoryError):
        return empty


def _code(node: ast.AST) -> str:
    try:
        return " ".join(ast.unparse(node).split())
    except (ValueError, RecursionError):
        return type(node).__name__
