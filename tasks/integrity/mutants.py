"""Mutates Python source: one small change of behaviour each, in the grammar of the project's own Python.

The operators come from cosmic-ray. It mutates parso trees, and parso supports the grammar of every Python from 3.6 on,
independent of the running Python. mutmut, the other maintained library, generates all mutants of a whole project and
offers no separate operators. This module adds seven operators: code that only calls and returns has no other mutants.
"""

from __future__ import annotations

import random
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import parso.python.tree
from cosmic_ray.ast import ast_nodes
from cosmic_ray.mutating import MutationVisitor
from cosmic_ray.operators.operator import Operator
from cosmic_ray.operators.provider import OperatorProvider
from parso.grammar import load_grammar

MOST = 4
"""Maximum number of mutants of the changed functions, and of other functions."""
_LARGEST = 1_000_000
"""Maximum number of characters of source: parso is written in Python and parses about 300,000 per second."""
_COMPARISONS = ("Eq_NotEq", "NotEq_Eq", "Lt_LtE", "LtE_Lt", "Gt_GtE", "GtE_Gt", "Is_IsNot", "IsNot_Is")
_ARITHMETIC = ("Add_Sub", "Sub_Add", "Mul_Add", "Div_Mul", "FloorDiv_Mul", "Mod_Add", "Pow_Mul", "BitAnd_BitOr")
_OTHERS = (
    "AddNot",
    "NumberReplacer",
    "ReplaceAndWithOr",
    "ReplaceBreakWithContinue",
    "ReplaceFalseWithTrue",
    "ReplaceOrWithAnd",
    "ReplaceTrueWithFalse",
    "ZeroIterationForLoop",
)
"""Those of cosmic-ray's 213 operators that seldom raise a `TypeError`: a decoy should preserve most behaviour."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One mutation of a file."""

    text: str
    line: int
    """1-based line of the mutation."""
    operator: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Position:
    operator: str
    occurrence: int
    """0-based, among the positions of the operator in the file."""
    line: int


class Rewrite(Operator):  # type: ignore[misc]
    """An operator that replaces a whole node with other code."""

    @abstractmethod
    def code(self, node: Any) -> str:
        """Returns the code that replaces the node."""

    def mutate(self, node: Any, index: int) -> Any:  # noqa: ARG002
        return parso.python.tree.Keyword(self.code(node), node.start_pos, node.get_first_leaf().prefix)

    @classmethod
    def examples(cls) -> tuple[()]:
        return ()


class ReturnNothing(Rewrite):
    """Replaces the value that a function returns with `None`."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        if node.type == "return_stmt" and node.children[1].get_code().strip() != "None":
            yield node.start_pos, node.end_pos

    def code(self, node: Any) -> str:  # noqa: ARG002
        return "return None"


class DropStatement(Rewrite):
    """Replaces a call or an assignment that is a whole statement with `pass`."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        is_alone = node.parent is not None and node.parent.type == "simple_stmt"
        if is_alone and node.type in ("atom_expr", "power", "expr_stmt"):
            yield node.start_pos, node.end_pos

    def code(self, node: Any) -> str:  # noqa: ARG002
        return "pass"


class ChangeText(Rewrite):
    """Appends a letter to a string; docstrings are unchanged."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        is_alone = node.parent is not None and node.parent.type == "simple_stmt"
        if node.type == "string" and not is_alone and node.value[-3:] not in ('"""', "'''"):
            yield node.start_pos, node.end_pos

    def code(self, node: Any) -> str:
        return f"{node.value[:-1]}x{node.value[-1]}"


class DropKeyword(Rewrite):
    """Replaces the value of a keyword argument with `None`."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        if node.type == "argument" and len(node.children) == 3 and node.children[1].get_code() == "=":
            yield node.start_pos, node.end_pos

    def code(self, node: Any) -> str:
        return f"{node.children[0].value}=None"


class NeverTaken(Rewrite):
    """Replaces the condition of an `if`, an `elif` or a conditional expression with `False`."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        before = node.get_previous_sibling() if node.parent is not None else None
        if before is not None and before.type == "keyword" and before.value in ("if", "elif"):
            yield node.start_pos, node.end_pos

    def code(self, node: Any) -> str:  # noqa: ARG002
        return "False"


class DropOperand(Rewrite):
    """Replaces `a * b`, `a + b`, `a and b` or `a or b` with `a`."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        if node.type in ("term", "arith_expr", "and_test", "or_test"):
            yield node.start_pos, node.end_pos

    def code(self, node: Any) -> str:
        return str(node.children[0].get_code(include_prefix=False))


class SwapName(Rewrite):
    """Replaces an argument `a.b` with `a`, and an argument `a` with `None`."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        is_argument = node.parent is not None and node.parent.type in ("arglist", "argument", "trailer")
        is_value = node.type in ("name", "atom_expr", "power") and node.get_code().strip() not in ("self", "cls")
        if is_argument and is_value and not (node.parent.type == "trailer" and node.parent.children[0] == "."):
            yield node.start_pos, node.end_pos

    def code(self, node: Any) -> str:
        owner, dot, _ = node.get_code(include_prefix=False).rpartition(".")
        return str(owner) if dot else "None"


def _operators() -> dict[str, Operator]:
    provider = OperatorProvider()
    comparisons = [f"ReplaceComparisonOperator_{name}" for name in _COMPARISONS]
    arithmetic = [f"ReplaceBinaryOperator_{name}" for name in _ARITHMETIC]
    theirs = {name: provider[name]() for name in (*comparisons, *arithmetic, *_OTHERS)}
    ours = (ReturnNothing(), DropStatement(), ChangeText(), DropKeyword(), SwapName(), NeverTaken(), DropOperand())
    return {**theirs, **{type(one).__name__: one for one in ours}}


OPERATORS = _operators()
NEUTRAL = ("NeverTaken", "DropOperand")


def mutants(text: str, lines: Collection[int], python: str, draw: random.Random) -> tuple[list[Mutant], list[Mutant]]:
    """Returns mutants of the functions that contain one of `lines` (1-based), and mutants of the file's other
    functions.

    Both are in random order and have at most `MOST` entries. Code within a `while` loop is not mutated, because the
    loop might not end. `python` is the minor version of the file's grammar; for a version that parso does not know, the
    newest grammar is used. Both are empty for a file that is too large or too deeply nested.
    """

    def chosen(tree: Any, positions: Sequence[_Position]) -> tuple[list[_Position], ...]:
        functions = _ranges(tree, "funcdef")
        changed = [own for own in functions if any(own[0] <= line <= own[1] for line in lines)]
        inside = [at for at in positions if _within(at.line, functions)]
        near = [at for at in inside if _within(at.line, changed)]
        return near, [at for at in inside if not _within(at.line, changed)]

    near, far = _mutants(text, python, draw, chosen) or ([], [])
    return near, far


def mutants_of_lines(text: str, lines: Collection[int], python: str, draw: random.Random) -> list[Mutant]:
    """Returns mutants of these lines (1-based) like `mutants`, possibly several per line.

    Mutants of `NEUTRAL` operators come first: on an added line they often restore the behaviour of the base commit.
    """

    def chosen(_: Any, positions: Sequence[_Position]) -> tuple[list[_Position], ...]:
        return (sorted((at for at in positions if at.line in lines), key=lambda at: at.operator not in NEUTRAL),)

    (found,) = _mutants(text, python, draw, chosen, each_line_once=False) or ([],)
    return found


Ranges = list[tuple[int, int]]
"""First and last lines."""
Choose = Callable[[Any, Sequence[_Position]], tuple[list[_Position], ...]]
"""Returns groups of a tree's positions, each in order."""


def _mutants(
    text: str, python: str, draw: random.Random, choose: Choose, *, each_line_once: bool = True
) -> tuple[list[Mutant], ...]:
    """Returns the mutants of each group that `choose` forms from all shuffled positions; empty if none are possible."""
    if len(text) > _LARGEST:
        return ()
    grammar = _grammar(python)
    try:
        tree = grammar.parse(text)
        loops = _ranges(tree, "while_stmt")
        positions = [at for at in _positions(tree) if not _within(at.line, loops)]
        draw.shuffle(positions)
        groups = choose(tree, positions)
        return tuple(list(_made(grammar, tree, group, each_line_once=each_line_once)) for group in groups)
    except RecursionError:
        return ()


def _ranges(tree: Any, kind: str) -> Ranges:
    """Returns the first and last line of each node of a kind."""
    return [(node.start_pos[0], node.end_pos[0]) for node in ast_nodes(tree) if node.type == kind]


def _within(line: int, ranges: Iterable[tuple[int, int]]) -> bool:
    return any(first <= line <= last for first, last in ranges)


def _grammar(python: str) -> Any:
    try:
        return load_grammar(version=python)
    except (NotImplementedError, ValueError):
        return load_grammar()


def _positions(tree: Any) -> Iterator[_Position]:
    """Yields every position of the tree to which an operator applies."""
    seen = Counter[str]()
    for node in ast_nodes(tree):
        for name, operator in OPERATORS.items():
            for start, _ in operator.mutation_positions(node):
                yield _Position(operator=name, occurrence=seen[name], line=start[0])
                seen[name] += 1


def _made(grammar: Any, tree: Any, positions: Iterable[_Position], *, each_line_once: bool) -> Iterator[Mutant]:
    """Yields the first `MOST` distinct mutants.

    A mutant with another number of syntax errors is skipped: cosmic-ray mistakes the `*` before keyword-only parameters
    for an operator. The project's grammar counts the errors, since the running Python may be newer or older.
    """
    text, errors = tree.get_code(), _errors(grammar, tree)
    lines: set[int] = set()
    texts = {text}
    for at in positions:
        if each_line_once and at.line in lines:
            continue
        visitor = MutationVisitor(at.occurrence, OPERATORS[at.operator])
        made = visitor.walk(grammar.parse(text)).get_code()
        if made not in texts and _errors(grammar, grammar.parse(made)) == errors:
            texts.add(made)
            lines.add(at.line)
            yield Mutant(text=made, line=at.line, operator=at.operator)
        if len(texts) > MOST:
            return


def _errors(grammar: Any, tree: Any) -> int:
    return sum(1 for _ in grammar.iter_errors(tree))
