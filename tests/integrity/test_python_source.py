"""What the checks look up in a Python file."""

from __future__ import annotations

import ast

import pytest

from tasks.integrity.python_source import PythonSource, dotted, imported_names, last_name

TEXT = """
import os.path as p
from pathlib import Path

class Box:
    def side(self):
        def inner():
            return p.exists(
                "a")
        return inner

async def late():
    Path("x") / "y"
"""


def test_names_are_resolved_through_imports() -> None:
    source = PythonSource(TEXT)
    calls = [node for node in source.nodes if isinstance(node, ast.Call)]
    assert {source.resolved(call.func) for call in calls} == {"os.path.exists", "pathlib.Path"}


def test_functions_have_qualified_names_and_own_their_nodes() -> None:
    source = PythonSource(TEXT)
    assert list(source.functions) == ["Box.side", "Box.side.inner", "late"]
    (text,) = (node for node in source.nodes if isinstance(node, ast.Constant) and node.value == "a")
    assert source.owner(text) == "Box.side.inner"
    assert source.owner(source.tree.body[0]) == ""
    assert [type(node).__name__ for node in source.ancestors(text)][-2:] == ["ClassDef", "Module"]


def test_added_nodes_begin_in_an_added_line_and_touched_ones_have_one() -> None:
    source = PythonSource(TEXT, TEXT.replace('"a"', '"b"'))
    assert source.added == {9}
    assert [type(node).__name__ for node in source.added_nodes] == ["Constant"]
    assert {"Call", "Return", "ClassDef"} <= {type(node).__name__ for node in source.touched_nodes}
    assert [source.first_added_line(node) for node in source.tree.body] == [None, None, 9, None]


@pytest.mark.parametrize("text", ["x = (", "x = 1\x00", "x = " + "-" * 900 + "1", None, ""])
def test_what_cannot_be_parsed_has_an_empty_tree(text: str | None) -> None:
    source = PythonSource(text)
    assert source.tree.body == []
    assert bool(source.error) is bool(text)
    assert source.too_complex is ("-" * 900 in (text or ""))


def test_an_encoding_declaration_is_obeyed() -> None:
    assert PythonSource("# coding: utf-7\n# +AAo-hidden()\n").tree.body != []


@pytest.mark.parametrize(
    ("code", "whole", "last"),
    [("a.b(1).c[2]", "a.b.c", "c"), ("fixture", "fixture", "fixture"), ("(1).x", "x", "x"), ("1", "", "")],
)
def test_dotted_names(code: str, whole: str, last: str) -> None:
    node = ast.parse(code, mode="eval").body
    assert (dotted(node), last_name(node)) == (whole, last)


def test_a_long_chain_has_no_name() -> None:
    assert dotted(ast.parse("a" + ".b" * 30, mode="eval").body) == ""


def test_absolute_imports_name_modules_and_what_they_take() -> None:
    nodes = ast.parse("import a.b as c\nfrom d import e\nfrom . import f\nx").body
    assert [imported_names(node) for node in nodes] == [["a.b"], ["d", "d.e"], [], []]
