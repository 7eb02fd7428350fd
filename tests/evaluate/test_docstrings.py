"""Docstrings of the fix on code of before."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.evaluate.docstrings import with_docstrings

BEFORE = '''\
class Pot:

    def boil(self):
        """As it was."""
        return 1

    def cool(self):
        return 2

@command
def serve():
    """Printed by `--help`."""

def p_expression(p):
    """expression : NUMBER"""

def stir():
    """
    Two
        lines.
    """
'''
AFTER = '''\
class Pot:

    def boil(self):
        """Of the fix: \\\\d, "quoted".

        More of it.
        """
        return 1.5

    def cool(self):
        """New."""
        return 2

@command
def serve():
    """Printed by another `--help`."""

def p_expression(p):
    """expression : NUMBER | NAME"""

def stir():
    pass
'''


def documented(text: str) -> dict[str, str | None]:
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    return {node.name: ast.get_docstring(node, clean=False) for node in nodes}


def carried(before: str, after: str) -> str:
    return with_docstrings(before, ast.parse(before), ast.parse(after))


def test_functions_have_the_docstrings_of_the_fix() -> None:
    made = carried(BEFORE, AFTER)
    found, fixed, base = documented(made), documented(AFTER), documented(BEFORE)
    assert {name: found[name] for name in ("boil", "cool", "stir")} == {
        name: fixed[name] for name in ("boil", "cool", "stir")
    }
    assert {name: found[name] for name in ("serve", "p_expression")} == {
        name: base[name] for name in ("serve", "p_expression")
    }
    assert "return 1\n" in made


def test_it_looks_as_it_does_where_a_file_is_rendered() -> None:
    made = carried(BEFORE, AFTER)
    assert ast.unparse(ast.parse(made)).split() == made.replace("'''", '"""').split()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def f():\n    '''One.'''\n    return 1\n", "def f():\n    '''Two.'''\n    return 1\n"),
        ("def f(): '''One.'''; return 1\n", "def f():\n    '''Two.'''\n    return 2\n"),
        ("def f(): return 1\n", "def f():\n    '''Two.'''\n    return 2\n"),
        ("def f():\n\t'''One.'''\n\treturn 1\n", "def f():\n    '''Two.'''\n    return 2\n"),
        ("def f():\n    '''One.'''\ndef f():\n    '''One.'''\n", "def f():\n    '''Two.'''\n    return 2\n"),
    ],
    ids=["they are what the fix changes", "one line", "no lines of its own", "tabs", "two of a name"],
)
def test_where_in_doubt_nothing_changes(before: str, after: str) -> None:
    assert carried(before, after) == before


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="ab \n\\\"'\t{}"))
def test_any_docstring(text: str) -> None:
    after = ast.unparse(ast.parse(f"class A:\n  def f():\n    {text!r}\n    return 2\n"))
    made = carried("class A:\n    def f():\n        return 1\n", after)
    assert documented(made) == {"f": text}
