from __future__ import annotations

import pytest
from compiled_project import FIXED, GOLDEN_TESTS, SOURCE, TESTS, diff

from tasks.adapters.extensions.sources import build_patches


def renamed(old: str, new: str) -> str:
    return f"diff --git a/{old} b/{new}\nsimilarity index 100%\nrename from {old}\nrename to {new}\n"


@pytest.mark.parametrize(
    ("path", "built"),
    [
        ("src/fast.c", True),
        ("fast/_loops.pyx", True),
        ("fast/_loops.pxd", True),
        ("setup.py", True),
        ("fast/wcs/setup_package.py", True),
        ("pyproject.toml", True),
        ("fast/__init__.py", False),
        ("docs/c.rst", False),
        ("fast/setup_tools.py", False),
        ("tests/data/header.h", False),
        ("tests/setup.py", False),
    ],
)
def test_a_patch_counts_where_a_build_reads_what_it_changes(path: str, built: bool) -> None:
    patch = diff(path, "a\n", "b\n")
    assert build_patches([patch]) == ((patch,) if built else ())


def test_a_source_that_is_renamed_counts_whatever_it_becomes() -> None:
    assert build_patches([renamed("fast/_loops.pyx", "fast/loops.txt")])


def test_patches_keep_their_order_and_others_are_left_out() -> None:
    first, other, last = (diff("a.c", "a\n", "b\n"), diff("t.py", TESTS, GOLDEN_TESTS), diff("b.c", SOURCE, FIXED))
    assert build_patches([first, other, last]) == (first, last)


def test_text_that_is_no_patch_changes_nothing() -> None:
    assert build_patches(["", "hello.c\n"]) == ()
