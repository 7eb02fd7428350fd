"""Test files from source files: by whole path components and base names, never by a part of a word."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

from tasks.adapters.patch.model import FilePatch, Patch

TEST_FOLDERS = frozenset({"test", "tests", "testing", "e2e"})
TEST_MODULE = re.compile(r"(test|unittest)_.*\.py|.*_test\.py|tests?\.py")


class Kind(StrEnum):
    """What a path is to a test run."""

    MODULE = "module"
    """A Python file that a runner collects tests from."""
    CONFTEST = "conftest"
    HELPER = "helper"
    """A Python file in a test folder that holds no tests by its name: models.py, `__init__.py` …"""
    DATA = "data"
    """Anything else in a test folder."""
    SOURCE = "source"


@dataclass(frozen=True, slots=True, kw_only=True)
class Halves:
    """A patch split in two, each half in the order of the whole."""

    tests: tuple[FilePatch, ...]
    source: tuple[FilePatch, ...]


def kind_of(path: str) -> Kind:
    """`tests/a/test_x.py` → module, `tests/a/models.py` → helper, `contest/latest.py` → source."""
    pure = PurePosixPath(path)
    if pure.name == "conftest.py":
        return Kind.CONFTEST
    if TEST_MODULE.fullmatch(pure.name):
        return Kind.MODULE
    if not in_test_folder(path):
        return Kind.SOURCE
    return Kind.HELPER if pure.suffix == ".py" else Kind.DATA


def in_test_folder(path: str) -> bool:
    """Whether a folder on the way to the file is named for tests."""
    return not TEST_FOLDERS.isdisjoint(PurePosixPath(path).parts[:-1])


def is_test_path(path: str) -> bool:
    """Whether a change of this file belongs to the test half of a pull request."""
    return kind_of(path) is not Kind.SOURCE


def split(patch: Patch) -> Halves:
    """The test half and the source half; a rename from one to the other is source."""
    tests = tuple(file for file in patch.files if all(map(is_test_path, file.paths)))
    return Halves(tests=tests, source=tuple(file for file in patch.files if file not in tests))
