"""Both sides have a public name and a parameter more than the base commit, and nobody knows what they are called."""

from __future__ import annotations

import ast
import inspect
import random
from types import ModuleType

import pytest

from tasks.evaluate.look_alikes import with_look_alikes

BEFORE = """\
import re


def plain(a, b=2):
    return a, b


def starred(a, *rest, **more):
    return a, rest, more


def none():
    return 1


class Box:
    def get(self, key):
        return key

    def __len__(self):
        return 0
"""
AFTER = (
    BEFORE.replace("b=2)", "b=2, strict=False)")
    .replace("**more)", "loud=1, **more)")
    .replace("none()", "none(given=3)")
    .replace("key)", "key, default=None)", 1)
    .replace("__len__(self)", "__len__(self, x=1)")
    .replace("import re\n", "import re\nimport os.path\nLIMIT = 3\n")
    + "\n\ndef newly(a, b=3):\n    return a\n\n\nclass Crate(dict):\n    x = 1\n"
)


def module_of(text: str) -> ModuleType:
    made = ModuleType("m")
    exec(compile(text, "m", "exec"), made.__dict__)
    return made


def public(module: ModuleType) -> set[str]:
    return {name for name in dir(module) if not name.startswith("_")}


def drawn(here: str, there: str, seed: int = 1) -> str:
    return with_look_alikes(here, here, there, random.Random(seed))


def test_a_placebo_has_as_many_names_and_parameters_as_the_fix_adds() -> None:
    before, after, made = (module_of(text) for text in (BEFORE, AFTER, drawn(BEFORE, AFTER)))
    more = public(made) - public(before)
    assert len(more) == len(public(after) - public(before)) == 4
    assert not more & public(after)
    assert sorted(type(getattr(made, name)).__name__ for name in more) == ["NoneType", "function", "module", "type"]
    for name in ("plain", "starred", "none"):
        ours, theirs, base = (inspect.signature(getattr(one, name)) for one in (made, after, before))
        assert len(ours.parameters) == len(theirs.parameters) == len(base.parameters) + 1, name
        assert not ours.parameters.keys() - base.parameters.keys() & theirs.parameters.keys()
    assert (made.plain(1), made.plain(1, 3), made.none()) == ((1, 2), (1, 3), 1)
    assert made.starred(1, 2, x=3) == (1, (2,), {"x": 3})
    assert made.Box().get("k") == "k"
    assert list(inspect.signature(made.Box.__len__).parameters) == ["self"]
    with pytest.raises(TypeError):
        made.plain(1, 2, 3)
    with pytest.raises(TypeError):
        made.plain(1, strict=True)


def test_a_paraphrase_has_as_many_as_the_fix_takes_away() -> None:
    base, made = module_of(AFTER), module_of(drawn(AFTER, BEFORE))
    assert public(made) == public(base)
    fewer = module_of(drawn(BEFORE.replace("key)", "other)", 1).replace("return key", "return other"), AFTER))
    assert len(inspect.signature(fewer.Box.get).parameters) == 4


def test_secrets_draw_other_names() -> None:
    names = [frozenset(public(module_of(drawn(BEFORE, AFTER, seed)))) for seed in range(10)]
    assert len(set(names)) > 5


def test_names_are_made_of_the_words_of_the_real_ones() -> None:
    """And of words near by: a list of ours would tell the side to who has read it."""
    after = "def find_unit(x):\n    pass\n\n\nMAX_SIZE = 3\n\n\nclass UnitTable:\n    pass\n"
    names = public(module_of(drawn("x = 1\n", after)))
    assert names == {"x", "unit_find", "SIZE_MAX", "TableUnit"} or len(names) == 4
    spelt = {name.isupper(): name for name in names}
    assert sorted(spelt[True].split("_"))[-1] == "SIZE"
    assert any(name[0].isupper() and "Table" in name and "Unit" in name for name in names)


LEFT_ALONE = {
    "a decorated function": ("@staticmethod\ndef f(a):\n    pass\n", "@staticmethod\ndef f(a, b=1):\n    pass\n"),
    "positional parameters alone": ("def f(a, /):\n    pass\n", "def f(a, /, b=1):\n    pass\n"),
    "a constructor below a base": (
        "class A(dict):\n    def __init__(self):\n        pass\n",
        "class A(dict):\n    def __init__(self, b=1):\n        pass\n",
    ),
    "a hook": ("def pytest_configure():\n    pass\n", "def pytest_configure(config):\n    pass\n"),
    "a module that looks at its names": ("x = list(globals())\n", "x = list(globals())\ny = 1\n"),
    "a private name": ("x = 1\n", "x = 1\n_y = 2\n"),
    "an attribute of a class": ("class A:\n    x = 1\n", "class A:\n    x = 1\n    y = 2\n"),
    "what cannot be parsed": ("print 1\n", "print 1, 2\n"),
}


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_what_somebody_may_look_at_stays(name: str) -> None:
    here, there = LEFT_ALONE[name]
    assert drawn(here, there) == here


@pytest.mark.parametrize(
    "header",
    [
        "def f(a: int = (1, 2)[0], *, b: str = ')') -> 'x':",
        "def f(\n    a,\n    b=[1,\n       2],\n):",
        "async def f(*a: int):",
        "def f(é='ü', **kw):",
        "def f( ):",
    ],
)
def test_headers_of_all_kinds(header: str) -> None:
    here = f"{header}\n    return 1\n"
    there = "async " * header.startswith("async") + "def f(new=1):\n    return 1\n"
    made = drawn(here, there)
    arguments = [ast.parse(text).body[0].args for text in (here, made)]  # type: ignore[attr-defined]
    assert len(arguments[1].kwonlyargs) == len(arguments[0].kwonlyargs) + 1
    assert len(arguments[1].args) == len(arguments[0].args)
