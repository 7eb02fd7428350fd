"""Placebo, paraphrase and right variant: comments and a private function, and the same behaviour."""

from __future__ import annotations

import ast
import random

import pytest
from hypothesis import example, given, settings
from small_fix import Files, fix_of, modules, patched, reader

from tasks.adapters.patch.render import Change
from tasks.domain.guard_edit import GuardEdit
from tasks.domain.outcome import CodeState, RunVariant
from tasks.domain.syntax import alike
from tasks.integrity.edits import Block, blocks_of, guard_edits, harmless

PLACEBO, PARAPHRASE, VARIANT = RunVariant.PLACEBO, RunVariant.PARAPHRASE, RunVariant.VARIANT


def edits_of(before: Files, after: Files, secret: str = "s") -> dict[RunVariant, GuardEdit]:
    return {edit.variant: edit for edit in guard_edits(fix_of(before, after), reader(before), secret)}


def edited(before: str, after: str, secret: str = "s") -> dict[RunVariant, str | None]:
    """What each edit makes of one file; edits that are not made are left out."""
    made: dict[RunVariant, str | None] = {}
    for variant, edit in edits_of({"m.py": before}, {"m.py": after}, secret).items():
        start = before if edit.code_state is CodeState.BEFORE else after
        if edit.patch:
            made[variant] = patched({"m.py": start}, edit.patch)["m.py"]
    return made


def tree(text: str | None) -> ast.Module:
    assert text is not None
    return ast.parse(text.encode("utf-8", "surrogateescape"))


BEFORE = "import os\n\n\n@str\ndef f(a):\n    if a:\n        return 1\n    return 2\n"
AFTER = "import os\n\n\n@str\ndef f(a, b):\n    if a:\n        return 1\n    elif b:\n        return 3\n    return 2\n"


def test_comments_hold_the_lines_of_the_fix_on_both_sides() -> None:
    made = edited(BEFORE, AFTER)
    assert made[PLACEBO] == (
        "import os\n\n\n"
        "# def f(a):\n# def f(a, b):\n"
        "@str\ndef f(a):\n    if a:\n        return 1\n"
        "    #     elif b:\n    #         return 3\n"
        "    return 2\n"
    )
    assert made[PARAPHRASE] == (
        "import os\n\n\n"
        "# def f(a):\n# def f(a, b):\n"
        "@str\ndef f(a, b):\n    if a:\n        return 1\n"
        "    #     elif b:\n    #         return 3\n"
        "    elif b:\n        return 3\n    return 2\n"
    )
    assert made[VARIANT] is not None
    assert made[VARIANT].startswith(f"{AFTER}\n\ndef _")


@given(modules())
@settings(max_examples=60, deadline=None)
@example(("", "f(encoding=none)\n"))
@example(("# remark\n", "# remark\nf(encoding=none)\n"))
@example(("x = 'a\x0cb'\n\x0c\ny = 1\n", "x = 'a\x0cb'\n\x0c\ny = 2\n"))
@example(("x = 1\ry = 2\nz = 3\n", "x = 1\ry = 2\nz = 4\n"))
def test_placebo_and_paraphrase_have_the_syntax_tree_of_their_start(module: tuple[str, str]) -> None:
    before, after = module
    if before == after:
        return
    made = edited(before, after)
    for variant, start in ((PLACEBO, before), (PARAPHRASE, after)):
        if variant in made:
            assert alike(tree(made[variant]), tree(start))
    assert made[VARIANT] is not None
    *kept, new = tree(made[VARIANT]).body
    assert alike(ast.Module(body=kept, type_ignores=[]), tree(after))
    assert isinstance(new, ast.FunctionDef)
    assert new.name.startswith("_")


@given(modules())
@settings(max_examples=20, deadline=None)
def test_the_same_secret_gives_the_same_edits(module: tuple[str, str]) -> None:
    before, after = module
    if before != after:
        assert edited(before, after, "a") == edited(before, after, "a")
        assert edited(before, after, "a")[VARIANT] != edited(before, after, "b")[VARIANT]


@pytest.mark.parametrize(
    ("before", "after", "skipped"),
    [
        ({}, {"m.py": "x = 1\n"}, ("m.py: the fix adds or deletes it",) * 2),
        ({"m.py": "x = 1\n"}, {}, ("m.py: the fix adds or deletes it",) * 2),
        ({"a.txt": "a\n"}, {"a.txt": "b\n"}, ("a.txt: it is not Python",) * 2),
    ],
)
def test_files_that_cannot_be_edited(before: Files, after: Files, skipped: tuple[str, str]) -> None:
    made = edits_of(before, after)
    assert [made[variant].skipped for variant in (PLACEBO, PARAPHRASE)] == [(why,) for why in skipped]
    assert [made[variant].patch for variant in (PLACEBO, PARAPHRASE)] == ["", ""]


def test_the_variant_edits_files_that_the_fix_adds_and_none_that_it_deletes() -> None:
    made = edits_of({"old.py": "x = 1\n"}, {"new.py": "y = 1\n"})[VARIANT]
    assert (made.edited, made.skipped) == (("new.py",), ("old.py: the fix deletes it",))


@pytest.mark.parametrize(
    "broken", ["print 'a'\nx = 1\n", "def f(:\n    x = 1\n", "if x:\n\ty = 1\n        z = 2\n", "x = 1\x00\n"]
)
def test_a_file_that_python_cannot_parse_gets_no_comments(broken: str) -> None:
    made = edits_of({"m.py": broken}, {"m.py": broken.replace("1", "2") + "w = 1\n"})
    for variant in (PLACEBO, PARAPHRASE):
        assert made[variant].patch == ""
        assert made[variant].skipped[0].startswith("m.py: it cannot be parsed")


def test_only_the_side_that_can_be_parsed_is_edited() -> None:
    made = edits_of({"m.py": "print 'a'\n"}, {"m.py": "print('a')\n"})
    assert [made[variant].edited for variant in RunVariant if variant in made] == [(), ("m.py",), ("m.py",)]


def test_a_golden_patch_that_does_not_apply_has_no_edit() -> None:
    instance = fix_of({"m.py": "x = 1\n"}, {"m.py": "x = 2\n"})
    for edit in guard_edits(instance, reader({"m.py": "other\n"}), "s"):
        assert (edit.patch, edit.edited) == ("", ())
        assert edit.skipped[0].startswith("golden patch: ")


@pytest.mark.parametrize("cookie", ["# coding: latin-1\n", "#!/usr/bin/python\n# -*- coding: latin-1 -*-\n"])
def test_bytes_of_another_encoding_stay(cookie: str) -> None:
    before = f"{cookie}x = '\udce4'\ny = 1\n"
    made = edited(before, before.replace("y = 1", "y = 2"))
    assert made[PLACEBO] == f"{cookie}x = '\udce4'\n# y = 1\n# y = 2\ny = 1\n"
    assert made[PARAPHRASE] == f"{cookie}x = '\udce4'\n# y = 1\n# y = 2\ny = 2\n"


@pytest.mark.parametrize(
    ("before", "after", "placebo"),
    [
        # Nothing comes before the encoding declaration, and nothing becomes one.
        ("# coding: utf-8\nx = 1\n", "# coding: utf-8\nx = 2\n", "# coding: utf-8\nx = 1\n# x = 1\n# x = 2\n"),
        ("x = 1", "x = 2", "x = 1\n# x = 1\n# x = 2\n"),
        ("", "x = 2\n", "# x = 2\n"),
        ("a = 0\nb = 0\nx = 1\r\n", "a = 0\nb = 0\nx = 2\r\n", "a = 0\nb = 0\n# x = 1\n# x = 2\nx = 1\r\n"),
    ],
)
def test_where_comments_go(before: str, after: str, placebo: str) -> None:
    assert edited(before, after)[PLACEBO] == placebo


def test_a_comment_never_becomes_an_encoding_declaration() -> None:
    assert PLACEBO not in edited("", "f(encoding=none)\n")
    assert PLACEBO not in edited("# remark\n", "# remark\nf(encoding=none)\n")


def test_blocks() -> None:
    change = Change(path="m.py", before="a\nb\nc\n", after="b\nx\ny\n")
    assert list(blocks_of(change)) == [
        Block(line=1, new_line=1, removed=("a\n",), added=()),
        Block(line=3, new_line=2, removed=("c\n",), added=("x\n", "y\n")),
    ]


@pytest.mark.parametrize(("text", "start"), [("", ""), ("x = 1\n", "x = 1\n"), ("x = 1", "x = 1\n")])
def test_a_harmless_function_comes_last(text: str, start: str) -> None:
    made = harmless(text, random.Random(1))
    assert made.startswith(f"{start}\n\ndef _")
    assert made.endswith("(value):\n    return value\n")
