"""The same in other words: text, tree and bytecode change, what it does does not."""

from __future__ import annotations

import ast
import difflib
import doctest
import fractions
import heapq
import random
import statistics
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Literal

import pytest

from tasks.evaluate.dead_code import with_drawn_conditions
from tasks.evaluate.rewriting import rewritten

SECRETS = ("1", "2", "3")
EVERYTHING = """\
def every(a, b=2):
    total = a
    for number in range(b):
        total += number
        if total > 3:
            # big
            kept = [
                total,
                b,
            ]
        else:
            kept = []  # small
    print(total)
    return total, kept


def second(x):
    try:
        return x.name, "é"
    except AttributeError as error:
        raise KeyError from error


class Box:
    def get(self):
        value = self
        return value
"""


@pytest.mark.parametrize("module", [difflib, fractions, heapq, statistics], ids=lambda module: module.__name__)
@pytest.mark.parametrize("secret", SECRETS)
def test_modules_of_the_standard_library_pass_their_own_doctests(
    module: ModuleType, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Path(str(module.__file__)).read_text("utf-8")
    text = rewritten(source, secret)
    assert text is not None
    assert len(set(text.splitlines()) - set(source.splitlines())) > 80
    examples = doctest.testmod(module).attempted
    made = ModuleType(module.__name__)
    monkeypatch.setitem(sys.modules, module.__name__, made)
    exec(compile(text, str(module.__file__), "exec"), made.__dict__)
    done = doctest.testmod(made)
    assert (done.failed, done.attempted) == (0, examples)


def test_everything_is_drawn_now_and_then() -> None:
    texts = [rewritten(EVERYTHING, str(number)) or "" for number in range(20)]
    assert len(set(texts)) == 20
    for sign in ("if not (total > 3):", "del ", "\nimport ", "\ndef _", "\n# ", "return "):
        assert any(sign in text for text in texts), sign
    assert any("total" not in text for text in texts)
    for text in texts:
        space: dict[str, object] = {}
        exec(text, space)
        assert space["every"](2, 3) == (5, [5, 3])  # type: ignore[operator]
        assert "    def get(self" in text


OLD = 'def f(a):\n    word = "\\d"\n    return word is "x" or a is not 3\n'
"""Python warns of its escape, and of what it compares by identity."""


@pytest.mark.parametrize("action", ["error", "always"])
def test_warnings_of_the_edited_code_are_not_ours_and_change_no_edit(action: Literal["error", "always"]) -> None:
    """`PYTHONWARNINGS=error` left every such module as it was, so its guards had no other words."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = [rewritten(OLD, str(number)) for number in range(10)]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter(action)
        assert [rewritten(OLD, str(number)) for number in range(10)] == expected
    assert None not in expected
    assert [str(one.message) for one in told] == []


def test_the_same_secret_draws_the_same() -> None:
    assert rewritten(EVERYTHING, "1") == rewritten(EVERYTHING, "1") != rewritten(EVERYTHING, "2")


LEFT_ALONE = {
    "looks at its locals": "def f(a):\n    b = a\n    return locals()\n",
    "runs text": "def f(a):\n    b = a + 1\n    return eval('b')\n",
    "no function": "x = 1\ny = x\n",
}


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_what_is_in_doubt_stays_and_something_is_added(name: str) -> None:
    for number in range(10):
        text = rewritten(LEFT_ALONE[name], str(number))
        assert text is not None
        assert text.startswith(LEFT_ALONE[name])
        assert ast.dump(ast.parse(text)) != ast.dump(ast.parse(LEFT_ALONE[name]))


@pytest.mark.parametrize("text", ["def f():\n    print 1\n", "def f(a):\n    return '\udce9' + a\n", "x" + "(" * 500])
def test_what_cannot_be_parsed_is_not_touched(text: str) -> None:
    assert rewritten(text, "1") is None


TRAPS = {
    "a name that a comprehension knows": "def f(a):\n    b = 2\n    return [b + c for c in a]\n",
    "a name of an inner function": "def f(a):\n    def g(x):\n        return x\n    g = g\n    return g(a)\n",
    "a name that an import binds": "def f(a):\n    import os\n    os = os.sep\n    return os\n",
    "an error's name": (
        "def f(a):\n    e = a\n    try:\n        e.x\n    except AttributeError as e:\n        return str(e)\n"
    ),
    "an f-string": "def f(a):\n    b = 3\n    return f'{b}{b!r}'\n",
    "an elif": (
        "def f(a):\n    if not a:\n        return 0\n"
        "    elif len(a) > 1:\n        return 1\n    else:\n        return 2\n"
    ),
    "two on a line": "def f(a):\n    b = 1; c = 2\n    return b, c\n",
    "a long string": "def f(a):\n    b = '''\n  x\n'''\n    return b\n",
    "a starred return": "def f(a):\n    return *a, 1\n",
    "an assignment in an expression": (
        "def f(a):\n    if (n := len(a)) > 1:\n        return n\n    else:\n        return 0\n"
    ),
    "tabs": "def f(a):\n\tif a:\n\t\tb = 1\n\telse:\n\t\tb = 2\n\treturn b\n",
    "a generator": "def f(a):\n    def g():\n        x = yield 1\n        return x\n    return list(g())\n",
    "deleted": (
        "def f(a):\n    b = a\n    del b\n"
        "    try:\n        return b\n    except UnboundLocalError:\n        return 'gone'\n"
    ),
    "wide letters before a name": "def f(a):\n    b = 'éé漢'; c = b\n    return 'é', b, c\n",
    "carriage returns": "def f(a):\r\n    b = a\r\n    return b\r\n",
    "no last newline": "def f(a):\n    b = a\n    return b",
}


@pytest.mark.parametrize("name", TRAPS)
def test_traps(name: str) -> None:
    for number in range(20):
        text = rewritten(TRAPS[name], str(number)) or TRAPS[name]
        assert _answer(text) == _answer(TRAPS[name]), text


def _answer(text: str) -> object:
    space: dict[str, object] = {}
    exec(compile(text, "m", "exec"), space)
    return space["f"]([1, 2])  # type: ignore[operator]


def test_names_of_parameters_classes_and_methods_stay() -> None:
    for number in range(10):
        tree = ast.parse(rewritten(EVERYTHING, str(number)) or "")
        every = [node for node in tree.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]
        assert [node.name for node in every] == ["every", "second"]
        assert [arg.arg for arg in every[0].args.args] == ["a", "b"]


ODD = (1, 0, "", "as is", (), [], {}, None, float("nan"), type, sys)


def test_conditions_that_never_hold_hold_for_nothing_and_warn_of_nothing() -> None:
    """Whatever the argument is, and whatever the module is called; a simple statement stands on the line of its own."""
    text = "def f(a, *b, **c):\n    if not __name__:\n        a = 'ran'\n    return a\n\n\n"
    text += "class A:\n    if 0:\n        x = 1\n"
    lines = set()
    for number in range(200):
        made = with_drawn_conditions(text, random.Random(number))
        lines.update(line.strip() for line in made.splitlines() if " if " in f" {line}")
        for name in ("m", "a.b", "__main__"):
            space: dict[str, object] = {"__name__": name}
            exec(compile(made, "m", "exec"), space)
            assert all(space["f"](odd, odd, odd=odd) is odd for odd in ODD)  # type: ignore[operator]
            assert not hasattr(space["A"], "x")
    assert len(lines) > 25
    assert all(line.endswith(("a = 'ran'", "x = 1")) for line in lines)


def test_arguments_that_may_be_gone_are_in_no_condition() -> None:
    text = (
        "def f(a, e):\n    del a\n    try:\n        e()\n    except TypeError as e:\n        pass\n"
        "    if not __name__:\n        return 1\n    return 2\n"
    )
    for number in range(50):
        space: dict[str, object] = {"__name__": "m"}
        exec(with_drawn_conditions(text, random.Random(number)), space)
        assert space["f"](1, 2) == 2  # type: ignore[operator]


@pytest.mark.parametrize("secret", range(12))
def test_what_stands_around_a_function_has_the_names_of_outside(secret: int) -> None:
    """A local called like the module that its annotations name: renamed there too, the file could not be imported."""
    source = (
        "import enum as nodes\nimport typing as t\n\n\n"
        "@t.no_type_check\n"
        "def f(a: nodes.Enum, *, b: t.Any = nodes.Enum, **c: nodes.Flag) -> nodes.Enum:\n"
        "    nodes = [a, b]\n"
        "    for t in nodes:\n        nodes = [t, c]\n"
        "    return nodes\n"
    )
    text = rewritten(source, str(secret))
    assert text is not None
    made: dict[str, object] = {"__name__": "m"}
    exec(text, made)
    assert made["f"](1, b=2) == [2, {}]  # type: ignore[operator]
