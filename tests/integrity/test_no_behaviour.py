"""The parts of a fix that are not behaviour: what stays of a file, as (before, after, expected)."""

from __future__ import annotations

import ast
import random

import pytest
from hypothesis import given, settings
from small_fix import modules

from tasks.adapters.patch.render import Change
from tasks.domain.syntax import alike
from tasks.integrity.no_behaviour import only_harmless, without_behaviour

STUB = "    raise NotImplementedError\n"


def made(before: str, after: str, path: str = "m.py") -> str:
    (change,) = without_behaviour([Change(path=path, before=before, after=after)], random.Random(1))
    assert change.before == before
    assert change.after is not None
    return change.after


def without_drawn(text: str) -> str:
    """The text without the private function at its end."""
    start, _, name = text.rpartition("\n\ndef _")
    assert name.endswith("(value):\n    return value\n")
    return start


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param("x = 1\n", "x = 2\n", "x = 1\n", id="code"),
        pytest.param("x = 1\n", "# why\nx = 2\n", "x = 1\n", id="a comment beside code is one change with it"),
        pytest.param("x = 1\ny = 1\n", "# why\nx = 1\ny = 2\n", "# why\nx = 1\ny = 1\n", id="comment"),
        pytest.param(
            'def f():\n    """Old."""\n    return 1\n',
            'def f():\n    """New."""\n    return 2\n',
            'def f():\n    """Old."""\n    return 1\n',
            id="a docstring beside code",
        ),
        pytest.param(
            'def f():\n    """Old."""\n\n    return 1\n',
            'def f():\n    """New."""\n\n    return 2\n',
            'def f():\n    """New."""\n\n    return 1\n',
            id="docstring",
        ),
        pytest.param("x = 1\n", "x = 1\n\n\ndef f(a):\n    return a\n", f"x = 1\n\ndef f(a):\n{STUB}", id="function"),
        pytest.param("x = 1", "x = 1\n\ndef f(a):\n    return a\n", f"x = 1\n\ndef f(a):\n{STUB}", id="no newline"),
        pytest.param("", "def f(a):\n    return a\n", f"\n\ndef f(a):\n{STUB}", id="empty file"),
        pytest.param("def f():\n    pass\n", "def f(b):\n    return b\n", "def f(b):\n    pass\n", id="parameter"),
        pytest.param(
            "x = 1\n",
            "x = 1\ndef f(g):\n    @str\n    def h():\n        return g\n    return h\n",
            f"x = 1\n\ndef f(g):\n{STUB}",
            id="a decorated function in a new function",
        ),
        pytest.param(
            "@str\ndef f(a):\n    @int\n    def g():\n        return a\n    return g\n",
            "@str\n@int\ndef f(a, b):\n    @int\n    def g():\n        return b\n    return g\n",
            "@str\n@int\ndef f(a, b):\n    @int\n    def g():\n        return a\n    return g\n",
            id="decorated",
        ),
        pytest.param(
            "class C:\n    def f(self):\n        return 1\n",
            "class C:\n    def f(self):\n        return 1\n\n    @property\n    async def g(self):\n        return 2\n"
            "\n\ndef h():\n    return 3\n",
            "class C:\n    def f(self):\n        return 1\n"
            "\n    @property\n    async def g(self):\n        raise NotImplementedError\n"
            f"\ndef h():\n{STUB}",
            id="a method and a function at the end of a file",
        ),
        pytest.param(
            "class C:\n\tdef f(self):\n\t\treturn 1\n",
            "class C:\n\tdef f(self):\n\t\treturn 1\n\n\tdef g(self):\n\t\treturn 2\n",
            "class C:\n\tdef f(self):\n\t\treturn 1\n\n\tdef g(self):\n\t\traise NotImplementedError\n",
            id="tabs",
        ),
        pytest.param(
            "class C:\n    class D:\n        x = 1\n    y = 2\nz = 3\n",
            "class C:\n    class D:\n        x = 1\n        def g(self):\n            return 1\n    y = 2\nz = 4\n",
            "class C:\n    class D:\n        x = 1\n"
            "\n        def g(self):\n            raise NotImplementedError\n    y = 2\nz = 3\n",
            id="class in a class",
        ),
        pytest.param("x = 1\n", "x = 1\ndef f(): return 1\n", "x = 1\n", id="one line"),
        pytest.param("def f(a): return 1\n", "def f(a, b): return 1\n", "def f(a): return 1\n", id="one line changed"),
        pytest.param(
            "def f(a):\n    return 1\n", "def f(a,\n      b): return 1\n", "def f(a):\n    return 1\n", id="last line"
        ),
        pytest.param("x = 1\r\n", "# why\r\nx = 1\r\ny = 2\r\n", "# why\r\nx = 1\r\n", id="CRLF"),
        pytest.param(
            "# coding: latin-1\nx = '\udce4'\ny = 1\n",
            "# coding: latin-1\nx = '\udce4'\n# why\ny = 1\nz = 1\n",
            "# coding: latin-1\nx = '\udce4'\n# why\ny = 1\n",
            id="encoding",
        ),
        pytest.param("print 'a'\n", "print 'a'\n# why\n", "print 'a'\n", id="Python 2 before"),
        pytest.param("x = 1\n", "print 'a'\n# why\n", "x = 1\n", id="Python 2 after"),
    ],
)  # fmt: skip
def test_what_stays_of_a_python_file(before: str, after: str, expected: str) -> None:
    start = without_drawn(made(before, after))
    assert start.removesuffix("\n") == expected.removesuffix("\n")


def test_other_files_are_taken_as_they_are() -> None:
    changes = (
        Change(path="a.txt", before="a\n", after="b\n"),
        Change(path="new.py", before=None, after="x = 1\n"),
        Change(path="old.py", before="x = 1\n", after=None),
    )
    assert tuple(without_behaviour(changes, random.Random(1))) == changes


def test_a_harmless_function_in_each_python_file_of_the_base_commit() -> None:
    changes = (
        Change(path="a.txt", before="a\n", after="b\n"),
        Change(path="new.py", before=None, after="x = 1\n"),
        Change(path="old.py", before="x = 1\n", after=None),
        Change(path="m.py", before="x = 1\n", after="x = 2\n"),
    )
    found = list(only_harmless(changes, random.Random(1)))
    assert [change.path for change in found] == ["old.py", "m.py"]
    assert [without_drawn(change.after or "") for change in found] == ["x = 1\n", "x = 1\n"]
    assert found[0].after != found[1].after


@given(modules())
@settings(max_examples=150, deadline=None)
def test_no_statement_of_the_base_commit_changes(module: tuple[str, str]) -> None:
    """Other than headers and docstrings: what is added are definitions."""
    before, after = module
    old, new = ast.parse(before), ast.parse(made(before, after))
    kept = [node for node in old.body if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
    found = iter(new.body)
    assert all(any(alike(node, other) for other in found) for node in kept)
    assert _names(old) <= _names(new)
    added = {name for name in _names(new) - _names(old) if not name.startswith("_")}
    assert added <= _names(ast.parse(after))


def _names(tree: ast.AST) -> set[str]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {node.name for node in ast.walk(tree) if isinstance(node, kinds)}
