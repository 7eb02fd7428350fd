"""Which files of a test patch a runner is given."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tasks.adapters.patch.render import Change
from tasks.adapters.patch.split import Kind, kind_of
from tasks.domain.names import RepoPath

DEFINES_TESTS = re.compile(r"^\s*(async\s+)?def test\w|^\s*class Test", re.MULTILINE)
"""A function that is called just `test` is an example of a decorator more often than a test: attrs has such a file for
type checkers, which cannot be imported."""


def files_that_run(changes: Iterable[Change], *, helpers: bool) -> tuple[RepoPath, ...]:
    """Sorted. With `helpers`, files beside tests run where there is no test module at all; data never."""
    left = {change.path: change.after for change in changes if change.after is not None}
    modules = [path for path, text in left.items() if _is_module(path, text)]
    beside = [path for path in left if kind_of(path) is Kind.HELPER and not path.endswith("/__init__.py")]
    return tuple(RepoPath(path) for path in sorted(modules or (beside if helpers else [])))


def _is_module(path: str, text: str) -> bool:
    """A test module by its name, or a Python file in a test folder that defines tests."""
    kind = kind_of(path)
    return kind is Kind.MODULE or (kind is Kind.HELPER and DEFINES_TESTS.search(text) is not None)
