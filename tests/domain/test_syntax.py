"""The parser on several threads."""

from __future__ import annotations

import ast
import gc
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from tasks.domain.syntax import syntax_tree


def test_many_threads_parse_at_once() -> None:
    """Without the lock CPython 3.11 ends one in some hundred of these with a SystemError."""
    source = Path(ast.__file__).read_text()
    with ThreadPoolExecutor(4) as pool:
        trees = list(pool.map(syntax_tree, [source] * 60))
    assert len({ast.dump(tree) for tree in trees[:2]}) == 1


def test_who_parses_during_a_garbage_collection_harms_no_tree() -> None:
    """As another thread may, which a collection lets run; CPython before 3.11.5 ended the outer one's tree."""
    met: list[str] = []

    def parse_once(phase: str, info: dict[str, int]) -> None:
        if not met:
            met.append(phase)
            with suppress(SystemError):
                ast.parse("a + b")

    source = Path(ast.__file__).read_text()
    gc.callbacks.append(parse_once)
    try:
        assert syntax_tree(source).body
    finally:
        gc.callbacks.remove(parse_once)
    assert met, "no garbage was collected, so nothing was shown"


def test_warnings_of_the_parsed_code_are_not_ours() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert syntax_tree(r"'\d'").body


def test_what_is_no_python_is_told() -> None:
    with pytest.raises(SyntaxError):
        syntax_tree("def f(:")
