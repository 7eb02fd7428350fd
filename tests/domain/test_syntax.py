"""The parser on several threads."""

from __future__ import annotations

import ast
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tasks.domain.syntax import syntax_tree


def test_many_threads_parse_at_once() -> None:
    """Without the lock CPython 3.11 ends one in some hundred of these with a SystemError."""
    source = Path(ast.__file__).read_text()
    with ThreadPoolExecutor(4) as pool:
        trees = list(pool.map(syntax_tree, [source] * 60))
    assert len({ast.dump(tree) for tree in trees[:2]}) == 1


def test_warnings_of_the_parsed_code_are_not_ours() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert syntax_tree(r"'\d'").body


def test_what_is_no_python_is_told() -> None:
    with pytest.raises(SyntaxError):
        syntax_tree("def f(:")
