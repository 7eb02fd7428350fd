"""The parser on several threads."""

from __future__ import annotations

import ast
import gc
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from tasks.domain.syntax import DEEPEST, MOST_FIELDS, TooComplex, alike, syntax_tree


@pytest.mark.slow
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


def test_a_tree_has_so_many_levels() -> None:
    """Module, statement and the context of a name, and two for each call of a method."""
    most = (DEEPEST - 4) // 2
    assert syntax_tree(f"x(){'.a()' * (most - 1)}").body
    with pytest.raises(TooComplex, match="more than 200 levels"):
        syntax_tree(f"x(){'.a()' * (most + 1)}")


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="this Python reads any f-string in one go")
@pytest.mark.parametrize("start", ["f'", "rF'", 'f"""\n', "Fr'"])
def test_an_f_string_that_takes_minutes_is_not_begun(start: str) -> None:
    end = '"""' if "\n" in start else start[-1]
    with pytest.raises(TooComplex, match="10,000 fields"):
        syntax_tree(f"x = '{'{' * 20_000}'\ny = {start}{'{x}' * (MOST_FIELDS + 1)}{end}\n".encode())


@pytest.mark.parametrize("number", ["0x" + "f" * 3_600, "0b" + "1" * 14_300, "0O" + "7_7" * 2_400])
def test_a_number_that_python_cannot_write_is_not_read(number: str) -> None:
    assert ast.parse(number).body
    with pytest.raises(TooComplex, match="thousands of digits"):
        syntax_tree(f"x = {number}")
    assert syntax_tree(f"x = 0x{'f' * 2_048}, '{'f' * 9_000}'").body, "8,192 bits are a key"


@pytest.mark.slow
@pytest.mark.parametrize(
    "source", ["{}\n" * 20_000, f"x = '{'{x}' * 20_000}'", "f'{x}'\n" * 20_000, "x = (" + "f'{x}' " * 20_000 + ")"]
)
def test_many_braces_elsewhere_are_nothing(source: str) -> None:
    assert syntax_tree(source).body


@pytest.mark.parametrize(
    "source", ["'''" + "{" * 20_000, "f'" + "{" * 20_000, "{" * 20_000, "\t1\n 2\n" + "{}\n" * 20_000]
)
def test_what_cannot_be_read_is_the_parsers_to_tell(source: str) -> None:
    with pytest.raises(SyntaxError):
        syntax_tree(source)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = 1", "x = True"),
        ("x = 1", "x = 1.0"),
        ("x = 0.0", "x = -0.0"),
        ("x = 'a'", "x = b'a'"),
        ("x = 'a'", "x = u'a'"),
        ("f(a)", "f(a, b)"),
        ("def f(): pass", "async def f(): pass"),
        ("if a: b", "if a: b\nelse: c"),
        ("x: int", "x: int = 1"),
        ("a.b", "a.c"),
    ],
)
def test_trees_are_alike_as_their_dumps_are(one: str, other: str) -> None:
    assert not alike(ast.parse(one), ast.parse(other))
    assert alike(ast.parse(one), ast.parse(f"\n\n{one}  # said elsewhere"))
    assert alike(ast.parse(f"{one}\n{other}"), ast.parse(one), lambda _, block: block[:1])
