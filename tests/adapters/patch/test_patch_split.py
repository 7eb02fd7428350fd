"""Paths by whole components and base names, never by a part of a word."""

import pytest

from tasks.adapters.patch.model import Patch
from tasks.adapters.patch.read import read_patch
from tasks.adapters.patch.split import Kind, kind_of, split


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("tests/lookup/test_x.py", Kind.MODULE),
        ("tests/lookup/tests.py", Kind.MODULE),
        ("pkg/thing_test.py", Kind.MODULE),
        ("test_x.py", Kind.MODULE),
        ("tests/lint/unittest_lint.py", Kind.MODULE),
        ("tests/lookup/models.py", Kind.HELPER),
        ("tests/__init__.py", Kind.HELPER),
        ("e2e/run.py", Kind.HELPER),
        ("testing/data/x.json", Kind.DATA),
        ("conftest.py", Kind.CONFTEST),
        ("tests/a/conftest.py", Kind.CONFTEST),
        ("src/contest/latest.py", Kind.SOURCE),
        ("src/attestation.py", Kind.SOURCE),
        ("src/testimony/x.py", Kind.SOURCE),
        ("src/pytest_plugin.py", Kind.SOURCE),
        ("tests", Kind.SOURCE),
        ("docs/testing.rst", Kind.SOURCE),
    ],
)
def test_kind(path: str, kind: Kind) -> None:
    assert kind_of(path) is kind


def test_a_rename_out_of_the_tests_is_source() -> None:
    read = read_patch("diff --git a/tests/x.py b/src/x.py\nrename from tests/x.py\nrename to src/x.py\n")
    assert isinstance(read, Patch)
    assert split(read).tests == ()
    assert [file.path for file in split(read).source] == ["src/x.py"]
