"""Mutants of Python source: one small change of behaviour each, in the grammar of the project's own Python.

The operators come from cosmic-ray. It mutates parso trees, and parso reads the grammar of every Python from 3.6 on,
whichever Python runs this. mutmut, the other maintained library, generates all mutants of a whole project and offers no
operators by themselves. Two operators are our own: functions that only call and return have no other mutants.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import parso.python.tree
from cosmic_ray.ast import ast_nodes
from cosmic_ray.mutating import MutationVisitor
from cosmic_ray.operators.operator import Operator
from cosmic_ray.operators.provider import OperatorProvider
from parso.grammar import load_grammar

MOST = 4
"""Mutants of the changed functions, and as many of others."""
_LARGEST = 1_000_000
"""Characters of source: parso is written in Python and reads about 300,000 a second."""
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
"""Of cosmic-ray's 213 operators those that seldom raise a `TypeError`: a decoy should keep most of the behaviour."""


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


class ReturnNothing(Operator):  # type: ignore[misc]
    """Replace the value that a function returns by `None`."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        if node.type == "return_stmt" and node.children[1].get_code().strip() != "None":
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:  # noqa: ARG002
        return _code(node, "return None")

    @classmethod
    def examples(cls) -> tuple[()]:
        return ()


class DropStatement(Operator):  # type: ignore[misc]
    """Replace a call or an assignment that stands alone by `pass`."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        is_alone = node.parent is not None and node.parent.type == "simple_stmt"
        if is_alone and node.type in ("atom_expr", "power", "expr_stmt"):
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:  # noqa: ARG002
        return _code(node, "pass")

    @classmethod
    def examples(cls) -> tuple[()]:
        return ()


def _code(node: Any, text: str) -> Any:
    """`text` as a node in the place of `node`, with what comes before it on its line."""
    return parso.python.tree.Keyword(text, node.start_pos, node.get_first_leaf().prefix)


def _operators() -> dict[str, Operator]:
    provider = OperatorProvider()
    comparisons = [f"ReplaceComparisonOperator_{name}" for name in _COMPARISONS]
    arithmetic = [f"ReplaceBinaryOperator_{name}" for name in _ARITHMETIC]
    theirs = {name: provider[name]() for name in (*comparisons, *arithmetic, *_OTHERS)}
    return {**theirs, "ReturnNothing": ReturnNothing(), "DropStatement": DropStatement()}


OPERATORS = _operators()


def mutants(text: str, lines: Collection[int], python: str, draw: random.Random) -> tuple[list[Mutant], list[Mutant]]:
    """Mutants of the functions that hold one of `lines` (1-based), and mutants of the file's other functions.

    Nothing within a `while` loop is mutated: the loop might not end.

    Returns both in a drawn order, at most `MOST` of each. `python` is the minor version whose grammar the file has; a
    version that parso does not know is read as the newest one. Both are empty for a file that is too large or nested
    too deeply.
    """
    if len(text) > _LARGEST:
        return [], []
    try:
        return _mutants(text, lines, _grammar(python), draw)
    except RecursionError:
        return [], []


def _mutants(text: str, lines: Collection[int], grammar: Any, draw: random.Random) -> tuple[list[Mutant], list[Mutant]]:
    tree = grammar.parse(text)
    functions = _ranges(tree, "funcdef")
    changed = [own for own in functions if any(own[0] <= line <= own[1] for line in lines)]
    loops = _ranges(tree, "while_stmt")
    positions = [at for at in _positions(tree) if _within(at.line, functions) and not _within(at.line, loops)]
    draw.shuffle(positions)
    near = [at for at in positions if _within(at.line, changed)]
    far = [at for at in positions if not _within(at.line, changed)]
    return list(_made(grammar, tree, near)), list(_made(grammar, tree, far))


def _ranges(tree: Any, kind: str) -> list[tuple[int, int]]:
    """First and last line of each node of a kind."""
    return [(node.start_pos[0], node.end_pos[0]) for node in ast_nodes(tree) if node.type == kind]


def _within(line: int, ranges: Iterable[tuple[int, int]]) -> bool:
    return any(first <= line <= last for first, last in ranges)


def _grammar(python: str) -> Any:
    try:
        return load_grammar(version=python)
    except (NotImplementedError, ValueError):
        return load_grammar()


def _positions(tree: Any) -> Iterator[_Position]:
    """Every place of the tree at which an operator applies."""
    seen = Counter[str]()
    for node in ast_nodes(tree):
        for name, operator in OPERATORS.items():
            for start, _ in operator.mutation_positions(node):
                yield _Position(operator=name, occurrence=seen[name], line=start[0])
                seen[name] += 1


def _made(grammar: Any, tree: Any, positions: Iterable[_Position]) -> Iterator[Mutant]:
    """The first `MOST` mutants at different lines.

    A mutant with another number of syntax errors is left out: cosmic-ray takes the `*` before keyword-only parameters
    for an operator. The grammar of the project decides, since this Python may be newer or older.
    """
    text, errors = tree.get_code(), _errors(grammar, tree)
    lines: set[int] = set()
    for at in positions:
        if at.line in lines:
            continue
        visitor = MutationVisitor(at.occurrence, OPERATORS[at.operator])
        made = visitor.walk(grammar.parse(text)).get_code()
        if visitor.mutation_applied and made != text and _errors(grammar, grammar.parse(made)) == errors:
            lines.add(at.line)
            yield Mutant(text=made, line=at.line, operator=at.operator)
        if len(lines) == MOST:
            return


def _errors(grammar: Any, tree: Any) -> int:
    return sum(1 for _ in grammar.iter_errors(tree))
