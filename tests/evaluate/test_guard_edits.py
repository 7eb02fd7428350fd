"""Placebo and paraphrase: the text changes, the meaning does not."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from unittest.mock import patch

import pytest
from domain_rows import task_instance
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tasks.adapters.patch.apply import Applied, apply_to_files
from tasks.adapters.patch.model import Patch
from tasks.adapters.patch.read import read_patch
from tasks.adapters.patch.render import Change, render
from tasks.domain.guard_edit import GuardEdit
from tasks.domain.outcome import RunVariant
from tasks.evaluate.dead_code import never_runs
from tasks.evaluate.guard_edits import guard_edits
from tasks.evaluate.quoting import same_meaning

BEFORE = '''\
"""Docs."""

from __future__ import annotations

import os  # kept


class Box:
    """A box."""

    size = 3

    @property
    def half(self):
        """
        >>> Box().half
        1
        """
        if self.size > 2:
            return self.size // 2
        elif self.size:
            return 1
        return None
'''
AFTER = BEFORE.replace(
    "        return None\n", '        return 0\n\n    def double(self):\n        return r"\\d" * 2\n'
)


def edits_of(
    before: Mapping[str, str | None], after: Mapping[str, str | None], secret: str | None = None
) -> dict[RunVariant, GuardEdit]:
    """The edits of a fix from some files to others; without a secret nothing is reworded."""
    changes = [Change(path=path, before=before.get(path), after=after.get(path)) for path in {**before, **after}]
    instance = task_instance(patch=render(changes))
    with nullcontext() if secret else nothing_drawn():
        edits = guard_edits(instance, lambda path: _bytes(before.get(path)), tuple(before), secret or "")
    return {edit.variant: edit for edit in edits}


@contextmanager
def nothing_drawn() -> Iterator[None]:
    reworded = patch("tasks.evaluate.rewriting.rewritten", return_value=None)
    with reworded, patch("tasks.evaluate.guard_edits.with_look_alikes", side_effect=lambda text, *_: text):
        yield


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8", "surrogateescape")


def edited(before: str, after: str, secret: str | None = None) -> dict[RunVariant, str]:
    """What the two edits make of one file."""
    made = {}
    for variant, edit in edits_of({"m.py": before}, {"m.py": after}, secret).items():
        start = before if variant is RunVariant.PLACEBO else after
        read = read_patch(edit.patch)
        if not isinstance(read, Patch):
            assert edit.skipped
            continue
        applied = apply_to_files(read, lambda _, start=start: _bytes(start))
        assert isinstance(applied, Applied)
        (change,) = applied.changes
        assert change.after is not None
        made[variant] = change.after
    return made


def test_a_placebo_holds_the_text_of_the_fix_and_means_what_was_before() -> None:
    text = edited(BEFORE, AFTER)[RunVariant.PLACEBO]
    assert "        return 0\n\n    def double(self):\n" in text
    assert same_meaning(text, ast.parse(BEFORE))
    space: dict[str, object] = {"__name__": "m"}
    exec(text, space)
    box = space["Box"]
    assert box.__doc__ == "A box."
    assert not hasattr(box, "double")
    was: dict[str, object] = {"__name__": "m"}
    exec(BEFORE, was)
    assert box.half.__doc__ == was["Box"].half.__doc__


def test_a_paraphrase_holds_the_text_before_and_means_the_fix() -> None:
    text = edited(BEFORE, AFTER)[RunVariant.PARAPHRASE]
    assert "        return None\n" in text
    assert "# kept" not in text
    assert same_meaning(text, ast.parse(AFTER))
    space: dict[str, object] = {"__name__": "m"}
    exec(text, space)
    assert space["Box"]().double() == "\\d\\d"


def test_nothing_of_the_form_tells_a_placebo_from_a_paraphrase() -> None:
    """What is quoted, what never runs, what is private and that the layout is gone: the same on both sides."""
    before = "# a remark\ndef f(x):\n    y = (x)\n    return g(x, old='y')\n\n\ndef g(x):\n    return x\n"
    after = before.replace("old='y'", "new='y'")
    plain = edited(before, after)
    dead = {
        tuple(
            ast.unparse(node.body)
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.If) and never_runs(node)
        )
        for text in plain.values()
    }
    assert dead == {("return g(x, old='y')", "return g(x, new='y')")}
    for text in plain.values():
        assert "    return g(x, old='y')\n    return g(x, new='y')\n" in text
        assert "# a remark" not in text
    for text in edited(before, after, "a secret").values():
        assert {"old", "new"} <= keywords(_live(text))


def test_other_bytecode_comes_from_a_placebo() -> None:
    before, after = "def f(x):\n    return x\n", "def f(x):\n    return x + 0\n"
    codes = []
    for text in (before, edited(before, after)[RunVariant.PLACEBO]):
        space: dict[str, object] = {}
        exec(text, space)
        codes.append(space["f"].__code__.co_code)
    assert codes[0] != codes[1]


OLD = "def f(x):\n    y = x + 1\n    return g(x, old=y)\n"
NEW = "def f(x):\n    y = x + 1\n    return g(x, new=y, more='word')\n"


def keywords(text: str) -> set[str | None]:
    return {node.arg for node in ast.walk(ast.parse(text)) if isinstance(node, ast.keyword)}


def constants(text: str) -> tuple[object, ...]:
    space: dict[str, object] = {}
    exec(text, space)
    return space["f"].__code__.co_consts


def test_both_edits_have_the_syntax_trees_of_both_versions() -> None:
    made = edited(OLD, NEW)
    for text in made.values():
        assert keywords(text) == {"old", "new", "more"}
    assert ("new", "more") in constants(made[RunVariant.PLACEBO])
    assert ("old",) in constants(made[RunVariant.PARAPHRASE])


def test_a_new_method_is_in_the_syntax_tree_of_a_placebo_and_not_in_the_class() -> None:
    text = edited(BEFORE, AFTER)[RunVariant.PLACEBO]
    assert "double" in [node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]


LEFT_OUT = {
    "makes a name local": ("def f():\n    return len('a')\n", "def f():\n    len = max\n    return len('a')\n"),
    "makes a generator": ("def f():\n    return []\n", "def f():\n    yield 1\n    return []\n"),
    "declares a global": ("x = 1\ndef f():\n    x = 2\n", "x = 1\ndef f():\n    global x\n    x = 2\n"),
    "leaves no loop": ("def f():\n    if 1:\n        pass\n", "def f():\n    if 1:\n        break\n"),
    "annotates": ("class A:\n    a = 1\n", "class A:\n    b: int = 2\n    a = 1\n"),
    "asks the class for a cell": (
        "class A:\n    def f(self):\n        return 1\n",
        "class A:\n    def f(self):\n        return super()\n",
    ),
    "hides a name from an inner function": (
        "def f():\n    def g():\n        return len\n    return g\n",
        "def f():\n    def g():\n        return len\n    len = 1\n    return g\n",
    ),
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_a_statement_that_has_an_effect_unrun_is_left_out(name: str) -> None:
    before, after = LEFT_OUT[name]
    text = edited(before, after).get(RunVariant.PLACEBO, before)
    dead = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.If) and never_runs(node)]
    own = {ast.unparse(node) for node in ast.walk(ast.parse(before)) if isinstance(node, ast.stmt)}
    assert {ast.unparse(node.body) for node in dead} <= own


PLACES = {
    "before the first statement": ("x = 1\n", "import os\nx = 1\n"),
    "after the last": ("x = 1\n", "x = 1\ny = 2\n"),
    "in an elif": ("if 0:\n    a = 1\nelif 1:\n    a = 2\n", "if 0:\n    a = 1\nelif 2:\n    a = 2\n"),
    "in an except": ("try:\n    a = 1\nexcept OSError:\n    a = 2\n", "try:\n    a = 1\nexcept KeyError:\n    a = 2\n"),
    "in a header": ("def f(a):\n    '''Doc.'''\n    return 1\n", "def f(a, b=2):\n    '''Doc.'''\n    return 1\n"),
    "in a docstring": ("def f(a):\n    '''Doc.\n    More.\n    '''\n", "def f(a):\n    '''Doc.\n    Less.\n    '''\n"),
    "in a long string": ("x = '''\na\nb\n'''\n", "x = '''\na\nc\n'''\n"),
    "in a call of several lines": ("x = dict(\n    a=1,\n    b=2,\n)\n", "x = dict(\n    a=1,\n    b=3,\n)\n"),
    "on a line with two statements": ("x = 1; y = 2\n", "x = 1; y = 3\n"),
    "under a decorator": ("@str\n@repr\ndef f(): pass\n", "@str\n@id\ndef f(): pass\n"),
    "after a backslash": ("x = 1 + \\\n    2\n", "x = 1 + \\\n    3\n"),
    "with both quotes": ("x = 1\n", "x = \"\"\"a\"\"\" + '''b'''\n"),
    "in a class body": ("class A:\n    a = 1\n", "class A:\n    a = 2\n"),
    "with carriage returns": ("x = 1\r\ny = 2\r\n", "x = 1\r\ny = 3\r\n"),
    "without a newline at its end": ("x = 1", "x = 2"),
    "with a declared encoding": ("# coding: utf-8\nx = 'é'\n", "# coding: utf-8\nx = 'è'\n"),
}


@pytest.mark.parametrize("name", PLACES)
def test_wherever_the_fix_is_the_meaning_stays(name: str) -> None:
    before, after = PLACES[name]
    made = edited(before, after)
    assert made[RunVariant.PLACEBO] != before
    assert same_meaning(made[RunVariant.PLACEBO], ast.parse(before))
    assert same_meaning(made[RunVariant.PARAPHRASE], ast.parse(after))


def test_a_declared_encoding_stays() -> None:
    before, after = PLACES["with a declared encoding"]
    assert edited(before, after)[RunVariant.PARAPHRASE].startswith("# coding: utf-8\n")


NOT_EDITED = {
    "no Python": ({"a.txt": "x\n"}, {"a.txt": "y\n"}, "a.txt: it is not Python"),
    "old grammar": ({"a.py": "print 1\n"}, {"a.py": "print 2\n"}, "a.py: it cannot be parsed"),
    "no UTF-8": ({"a.py": "x = '\udce9'\n"}, {"a.py": "x = '\udce8'\n"}, "a.py: it is not UTF-8"),
}


@pytest.mark.parametrize("name", NOT_EDITED)
def test_what_cannot_be_edited_is_named(name: str) -> None:
    before, after, reason = NOT_EDITED[name]
    for edit in edits_of(before, after).values():
        assert (edit.patch, edit.edited) == ("", ())
        assert edit.skipped[0].startswith(reason)


def test_added_files_have_a_paraphrase_and_no_placebo() -> None:
    made = edits_of({"a.py": "x = 1\n"}, {"a.py": "x = 2\n", "b.py": "y = (1)\n"})
    assert made[RunVariant.PLACEBO].edited == ("a.py",)
    assert made[RunVariant.PLACEBO].skipped == ("b.py: the fix adds or deletes it",)
    assert made[RunVariant.PARAPHRASE].edited == ("a.py", "b.py")


LINES = [
    *(
        "x = 1",
        "def f():",
        "    return x",
        "    x = 2",
        "class A:",
        "    '''Doc.'''",
        "    b = 3",
        "# note",
        "",
        "if x:",
    ),
    *("    return super()", "    yield x", "    global x", "x: int = 1", "    x: int = 1", "class B(A):", "    del x"),
    *("    y = 4", "else:", "    y = 5", "@f", "'''text'''", "from __future__ import division", "import os; z = 6"),
]
programs = st.lists(st.sampled_from(LINES), max_size=14).map(lambda lines: "".join(f"{line}\n" for line in lines))


@settings(max_examples=300, deadline=None)
@given(programs, programs)
@example("", "def f():\n    return x\n    x: int = 1\n")
def test_any_two_files(before: str, after: str) -> None:
    for variant, text in edited(before, after).items():
        start = before if variant is RunVariant.PLACEBO else after
        assert same_meaning(text, ast.parse(start))
        assert behaviour(text) == behaviour(start)
    known = re.findall(r"\w+", before + after)
    for variant, text in edited(before, after, "a secret").items():
        start = before if variant is RunVariant.PLACEBO else after
        assert behaviour(text, known) == behaviour(start, known), "but for names that nobody knows"


PACKAGE = {
    "m/fixed.py": BEFORE,
    **{f"m/{name}.py": OLD for name in ("a", "b", "c", "d")},
    "m/test_e.py": OLD,
    "other/f.py": OLD,
}


def test_neighbours_in_the_package_are_reworded_on_both_sides_as_the_secret_says() -> None:
    drawn = set()
    for secret in ("1", "2", "3", "4"):
        first = edits_of(PACKAGE, {**PACKAGE, "m/fixed.py": AFTER}, secret)
        assert first == edits_of(PACKAGE, {**PACKAGE, "m/fixed.py": AFTER}, secret)
        for edit in first.values():
            assert "m/fixed.py" in edit.edited
            assert len(edit.edited) == 4
            assert {path.partition("/")[0] for path in edit.edited} == {"m"}
            assert "m/test_e.py" not in edit.edited
            drawn.add((edit.variant, edit.edited))
    assert len(drawn) > 2


@pytest.mark.parametrize("path", ["docs/a.rst", "CHANGES.md", "doc/en/changelog.txt", "changelog/12.bugfix.rst"])
def test_documents_change_sides(path: str) -> None:
    edits = edits_of({"m.py": OLD, path: "old\n"}, {"m.py": NEW, path: "new\n"})
    assert "-old\n+new\n" in edits[RunVariant.PLACEBO].patch
    assert "-new\n+old\n" in edits[RunVariant.PARAPHRASE].patch
    added = edits_of({"m.py": OLD}, {"m.py": NEW, path: "new\n"})
    assert "+new\n" in added[RunVariant.PLACEBO].patch
    assert "-new\n" in added[RunVariant.PARAPHRASE].patch


def test_documents_alone_are_no_edit() -> None:
    edits = edits_of({"docs/a.rst": "old\n"}, {"docs/a.rst": "new\n"})
    assert {edit.patch for edit in edits.values()} == {""}


def test_syntax_trees_without_dead_code_differ_on_both_sides() -> None:
    """Whoever takes out what never runs and hashes the rest does not find the fix."""
    plain = {_live(BEFORE), _live(AFTER)}
    for secret in ("1", "2", "3"):
        assert not {_live(text) for text in edited(BEFORE, AFTER, secret).values()} & plain


def test_what_the_other_side_has_stands_in_code_that_could_run() -> None:
    """Under a private name that nobody calls: a look for the fix outside of dead code finds it on both sides."""
    for secret in ("1", "2", "3"):
        for text in edited(OLD, NEW, secret).values():
            assert keywords(_live(text)) >= {"old", "new", "more"}
        made = edited("def f():\n    return [1]\n", "def f():\n    yield 'fix'\n", secret)
        assert "yield 'fix'" in _live(made[RunVariant.PLACEBO])


def test_what_the_changed_function_loads_is_another_on_both_sides() -> None:
    """Not only in code that never runs: whoever takes that out finds words of both sides, and nothing as it was."""

    def words(text: str) -> set[str]:
        function = next(n for n in ast.walk(ast.parse(_live(text))) if isinstance(n, ast.FunctionDef) and n.name == "f")
        return {word for node in ast.walk(function) for word in (getattr(node, "arg", ""), getattr(node, "value", ""),
                getattr(node, "attr", "")) if isinstance(word, str)}  # fmt: skip

    for secret in ("1", "2", "3"):
        for text in edited(OLD, NEW, secret).values():
            assert words(text) >= {"old", "new", "more"}


def test_the_line_that_a_traceback_shows_has_words_of_both_sides() -> None:
    for secret in ("1", "2", "3"):
        for text in edited(OLD, NEW, secret).values():
            space: dict[str, Callable[[int], object]] = {}
            exec(text, space)
            with pytest.raises(NameError) as caught:  # nobody has defined `g`
                space["f"](1)
            shown = text.splitlines()[caught.traceback[-1].lineno]
            assert all(word in shown for word in ("old", "new", "more"))


def test_both_sides_have_the_docstrings_of_the_fix() -> None:
    before = "def f(x):\n    '''As it was.'''\n    return x\n"
    after = before.replace("As it was", "Of the fix").replace("return x", "return x + 1")
    for secret in (None, "1", "2"):
        for text in edited(before, after, secret).values():
            (function,) = (n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef) and n.name == "f")
            assert ast.get_docstring(function) == "Of the fix."


def _live(text: str) -> str:
    """What is left of a file without the kind of code that never runs."""

    class Live(ast.NodeTransformer):
        def visit_If(self, node: ast.If) -> ast.AST | None:
            return None if never_runs(node) else self.generic_visit(node)

        def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
            return None if isinstance(node.value, ast.Constant | ast.Name) else node

    return ast.unparse(Live().visit(ast.parse(text)))


def behaviour(text: str, known: Collection[str] | None = None) -> tuple[object, ...]:
    """How a module ends, what it offers then (of what is known), and what its function and its class come to."""
    space: dict[str, object] = {"__name__": "m"}
    ends = [_ends(lambda: exec(compile(text, "m", "exec", dont_inherit=True), space))]
    ends += [_ends(space[name]) for name in ("f", "A", "B") if callable(space.get(name))]
    public = sorted(name for name in space if not name.startswith("_") and (known is None or name in known))
    return (*ends, public, *(sorted(vars(space[name])) for name in ("A", "B") if name in space))


def _ends(call: object) -> str:
    try:
        return type(call()).__name__
    except UnboundLocalError:
        return "UnboundLocalError"  # its message has the local's name, which may have been drawn
    except Exception as error:
        return f"{type(error).__name__}: {error.args[:1]}"
