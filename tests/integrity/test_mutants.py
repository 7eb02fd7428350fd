"""Mutants: one change of behaviour each, at one place, in a function."""

from __future__ import annotations

import ast
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_fix import modules

from tasks.domain.syntax import alike
from tasks.integrity import decoys
from tasks.integrity.mutants import MOST, OPERATORS, Mutant, mutants

AREA = "def area(w, h):\n    if w < 0:\n        return None\n    return w * h\n"
OTHER = "\n\ndef other(a):\n    return a\n"
REAL = sorted(Path(decoys.__file__).parent.glob("*.py"))


def made(text: str, lines: set[int], seed: int = 1, python: str = "3.11") -> tuple[list[Mutant], list[Mutant]]:
    return mutants(text, lines, python, random.Random(seed))


def all_of(text: str) -> set[tuple[str, int, str]]:
    """Every mutant that any of some seeds gives: operator, line, and the new line."""
    found = (one for seed in range(60) for one in made(text, {1}, seed)[0])
    return {(one.operator, one.line, one.text.split("\n")[one.line - 1].strip()) for one in found}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return a", {("ReturnNothing", "return None")}),
        ("return None", set()),
        ("return", set()),
        ("a.b(1)", {("DropStatement", "pass"), ("NumberReplacer", "a.b( 2)"), ("NumberReplacer", "a.b( 0)")}),
        ("a = b", {("DropStatement", "pass")}),
        ("assert a == b", {("ReplaceComparisonOperator_Eq_NotEq", "assert a != b"), ("AddNot", "assert not a == b")}),
        ("'''Docs.'''", set()),
        ("raise a", set()),
        ("for one in a: pass", {("ZeroIterationForLoop", "for one in []: pass")}),
        (
            "return a and b",
            {("ReturnNothing", "return None"), ("ReplaceAndWithOr", "return a or b"), ("DropOperand", "return a")},
        ),
        ("raise a if b else a", {("NeverTaken", "raise a if False else a"), ("AddNot", "raise a if not b else a")}),
        ("raise f('a')", {("ChangeText", "raise f('ax')")}),
        ("raise f(b=a.c)", {("DropKeyword", "raise f(b=None)"), ("SwapName", "raise f(b=a)")}),
    ],
)  # fmt: skip
def test_mutants_of_one_line(body: str, expected: set[tuple[str, str]]) -> None:
    assert {(operator, text) for operator, _, text in all_of(f"def f(a, b):\n    {body}\n")} == expected


def test_an_asterisk_of_a_signature_is_no_operator() -> None:
    """cosmic-ray takes it for one."""
    assert {line for _, line, _ in all_of("def f(*, a):\n    return a\n")} == {2}
    assert {line for _, line, _ in all_of("def f(a, *b, **c):\n    return a\n")} == {2}


def test_mutants_of_the_changed_functions_and_of_others() -> None:
    near, far = made(AREA + OTHER, {3})
    assert {one.line for one in near} == {2, 4}
    assert [(one.line, one.operator) for one in far] == [(8, "ReturnNothing")]
    assert made(AREA + OTHER, {8})[0] == far
    assert made(AREA + OTHER, set())[0] == []


def test_a_function_in_a_changed_class_or_function_is_near_only_if_it_is_changed() -> None:
    text = "class A:\n    x = 1\n    def f(self):\n        return 1\n    def g(self):\n        return 2\n"
    near, far = made(text, {4})
    assert ({one.line for one in near}, {one.line for one in far}) == ({4}, {6})
    nested = "def f():\n    def g():\n        return 1\n    return g\n"
    assert {one.line for one in made(nested, {4})[0]} == {3, 4}


@pytest.mark.parametrize(
    "text",
    [
        "x = 1\ny = x + 1\n",
        "class A:\n    x = 1\n",
        "def f(n):\n    while n > 1:\n        n = n - 1\n",
        "def f(n):\n    while n > 1:\n        for one in n:\n            break\n    else:\n        n = 3\n",
        "",
        "\x00",
        "def f(:\n",
        f"def f():\n    return {'(' * 3000}1{')' * 3000}\n",
        f"def f():\n    return 1\n{'# long' * 200_000}\n",
    ],
    ids=["module", "class", "while", "for in while", "empty", "null", "broken", "deep", "large"],
)
def test_nothing_to_mutate(text: str) -> None:
    assert made(text, {1, 2, 3}) == ([], [])


def test_python_2_is_mutated_where_it_can_be_read() -> None:
    near, _ = made("def f(a):\n    print 'a'\n    return a\n", {3})
    assert [one.text for one in near] == ["def f(a):\n    print 'a'\n    return None\n"]


@pytest.mark.parametrize("python", ["2.7", "3.5", "3.6", "3.9", "3.13", "3.99"])
def test_every_version_of_python_has_a_grammar(python: str) -> None:
    assert made(AREA, {3}, python=python)[0]


def check(text: str, one: Mutant) -> None:
    """The mutant differs at its line and nowhere else, compiles if `text` does, and has another syntax tree."""
    assert one.operator in OPERATORS
    old, new = text.split("\n"), one.text.split("\n")
    assert new[: one.line - 1] == old[: one.line - 1]
    assert new[one.line :] == old[len(old) - len(new) + one.line :]
    compile(one.text, "", "exec", dont_inherit=True)
    assert not alike(ast.parse(one.text), ast.parse(text))
    assert one.text.endswith("\r\n") == text.endswith("\r\n")


@pytest.mark.slow
@given(modules(), st.integers(0, 1000))
@settings(max_examples=150, deadline=None)
def test_each_mutant_differs_at_one_place_and_compiles(module: tuple[str, str], seed: int) -> None:
    text = module[0]
    near, far = made(text, set(range(1, 10)), seed)
    assert max(len(near), len(far)) <= MOST
    for found in (near, far):
        assert len({one.line for one in found}) == len(found)
        for one in found:
            check(text, one)
    assert (near, far) == made(text, set(range(1, 10)), seed)


@pytest.mark.slow
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_mutants_of_real_code(path: Path) -> None:
    text = path.read_text()
    for seed in range(3):
        for found in made(text, set(range(60, 90)), seed):
            for one in found:
                check(text, one)
